// W3C Trace Context: the gateway forwards it to the API server (contract 13.1), does not change or log it, and records
// no spans of its own.
import type { UpstreamHeaders } from '../../kube/proxy/types.ts'

/** Version, trace, parent span and flags. A later version must have only these four, too. */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The standard asks a proxy to forward this many characters and members, and allows it to drop more. */
const LONGEST_STATE = 512
const MOST_MEMBERS = 32

const MEMBER = /^[a-z0-9][-a-z0-9_*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

const TRACE_STATE = /^[\t -~]*$/

/** A header value from Node, which joins repeated headers by commas; undefined = none. */
type HeaderValue = string | readonly string[] | undefined

/**
 * The trace headers to forward. A `traceparent` that is malformed or repeated is dropped, and `tracestate` with it; a
 * `tracestate` that is malformed or too long is dropped alone. Neither makes the gateway refuse the request.
 */
export function traceContext(parent: HeaderValue, state: HeaderValue): UpstreamHeaders {
  if (typeof parent !== 'string' || !TRACE_PARENT.test(parent)) return {}
  return { traceparent: parent, ...(isState(state) ? { tracestate: state } : {}) }
}

function isState(state: HeaderValue): state is string {
  if (typeof state !== 'string' || state.length > LONGEST_STATE || !TRACE_STATE.test(state))
    return false
  const members = state.split(',').flatMap((member) => member.trim() || [])
  return members.length > 0 && members.length <= MOST_MEMBERS && members.every(isMember)
}

const isMember = (member: string): boolean => MEMBER.test(member)
