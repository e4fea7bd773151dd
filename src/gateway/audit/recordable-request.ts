// A request whose answer is recorded: the API server is asked for a form that can be (contract 21.4).
import { type ForwardedCall, withHeaders } from '../proxy/forward.ts'

/** The request, asking for an answer without compression, and for JSON where the client takes that too. */
export function asRecordable(call: ForwardedCall): ForwardedCall {
  const accept = acceptedAsJson(call.headers.accept ?? '')
  return withHeaders(call, {
    'accept-encoding': 'identity',
    ...(accept === null ? {} : { accept }),
  })
}

/** The entries for JSON, as a Table too; null = there are none, and the client gets what it asked for. */
function acceptedAsJson(accept: string): string | null {
  const json = accept.split(',').filter((entry) => JSON_ENTRY.test(entry))
  return json.length === 0 ? null : json.join(',')
}

const JSON_ENTRY = /^\s*application\/json\s*(?:;|$)/i
