// What every answer to an access key says of its end (contract 13.5).
import type { OutgoingHttpHeaders } from 'node:http'
import type { Caller } from '../../authn/caller.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import { formatTimestamp } from '../../domain/time.ts'

/** When the key stops working, RFC 3339; absent = never. Whatever upstream says under it is not passed. */
export const EXPIRES_HEADER = 'x-platform-key-expires'

/** The part of the lifetime in force that is left when warnings begin. */
const LAST_PART = 1 / 10

/** Adds to the headers of an answer those of the caller's key; `isUse`: whether the request was a use of it. */
export type ExpiryHeaders = (
  headers: OutgoingHttpHeaders,
  caller: Caller,
  isUse: boolean,
) => OutgoingHttpHeaders

/** The caller that is answered; `isUse`: whether the request was a use of the key (contract 14.1). */
interface Answered {
  readonly caller: Caller
  readonly isUse: boolean
}

/**
 * The headers of an answer with those of the key's end. A use gives a sliding key its next end, so such an
 * answer warns only when the cap is near; a refused request moves no end.
 */
export function withExpiryHeaders(
  headers: OutgoingHttpHeaders,
  answered: Answered,
  caps: Caps,
  nowMs: number,
): OutgoingHttpHeaders {
  const { [EXPIRES_HEADER]: _foreign, ...others } = headers
  const endMs = endOf(answered, caps, nowMs)
  if (endMs === null) return others
  const end = formatTimestamp(endMs)
  const withEnd = { ...others, [EXPIRES_HEADER]: end }
  if (endMs - nowMs >= lifetimeMsOf(answered.caller, caps, endMs, nowMs) * LAST_PART) return withEnd
  return { ...withEnd, warning: [warningOf(end), ...given(headers['warning'])].join(', ') }
}

function endOf({ caller, isUse }: Answered, caps: Caps, nowMs: number): number | null {
  const { key, expiresMs } = caller
  // The end of a key that another owns may be that one's, which this use does not move.
  if (!isUse || !key.slides || key.ownerRef !== null) return expiresMs
  const lastActivityMs = Math.max(key.lastActivityMs ?? nowMs, nowMs)
  return lifetimeOf({ ...key, lastActivityMs }, caps, nowMs).expiresMs
}

/** Without a lifetime of its own a key has that of the one that owns it, from its own beginning. */
function lifetimeMsOf({ key }: Caller, caps: Caps, endMs: number, nowMs: number): number {
  const { effectiveSeconds, startMs } = lifetimeOf(key, caps, nowMs)
  return effectiveSeconds === null ? endMs - startMs : effectiveSeconds * 1000
}

/** Upstream's come after ours: a client that stumbles over one of them has read ours. */
const given = (warning: OutgoingHttpHeaders[string]): readonly string[] =>
  warning === undefined ? [] : [warning].flat().map(String)

/**
 * As kube-apiserver writes warnings: code 299, no agent, no date. The text is the same until the end,
 * because kubectl shows each text once.
 */
const warningOf = (end: string): string =>
  `299 - "this platform access key expires at ${end}: get a new one before then"`
