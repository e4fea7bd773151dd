// The trace that a request belongs to, as W3C Trace Context has it. It passes to the API server (contract 13.1)
// and is neither changed nor logged; the gateway records no spans of its own.
import type { UpstreamHeaders } from '../../kube/proxy/upstream.ts'

/** Version, trace, parent span and flags: of a later version, too, no more than these four. */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The standard asks a proxy to pass this many characters and members on, and allows it to drop more. */
const LONGEST_STATE = 512
const MOST_MEMBERS = 32

const MEMBER = /^[a-z0-9][-a-z0-9_*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/

const VISIBLE = /^[\t -~]*$/

/** Values as Node has them: a header that is repeated is one, joined by commas; undefined = none. */
type Value = string | readonly string[] | undefined

/**
 * The headers to send on. A `traceparent` that is malformed or repeated is dropped, and `tracestate` with
 * it; a `tracestate` that is malformed or too long is dropped alone. Neither refuses a request.
 */
export function traceContext(parent: Value, state: Value): UpstreamHeaders {
  if (typeof parent !== 'string' || !TRACE_PARENT.test(parent)) return {}
  return { traceparent: parent, ...(isState(state) ? { tracestate: state } : {}) }
}

function isState(state: Value): state is string {
  if (typeof state !== 'string' || state.length > LONGEST_STATE || !VISIBLE.test(state))
    return false
  const members = state.split(',').flatMap((member) => member.trim() || [])
  return members.length > 0 && members.length <= MOST_MEMBERS && members.every(isMember)
}

const isMember = (member: string): boolean => MEMBER.test(member)
