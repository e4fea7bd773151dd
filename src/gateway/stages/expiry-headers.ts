// The headers of an answer that tell the caller when its key ends (contract 13.5).
import type { OutgoingHttpHeaders } from 'node:http'
import { KEY_EXPIRES_HEADER } from '../../api/names.ts'
import type { Caller, KeyCaller } from '../../authn/caller.ts'
import { type Caps, lifetimeOf } from '../../domain/accesskey/lifetime.ts'
import { formatTimestamp } from '../../domain/time.ts'
import type { VerifiedToken } from '../../domain/token/verified-token.ts'

/** Warnings begin when this fraction of the key's lifetime is left. */
const WARNING_FRACTION = 1 / 10

/** Adds the expiry headers of the caller's key; `isUse`: whether the request was a use of the key (contract 14.1). */
export type ExpiryHeaders = (
  headers: OutgoingHttpHeaders,
  caller: Caller,
  isUse: boolean,
) => OutgoingHttpHeaders

/** The caller that gets the answer; `isUse`: whether the request was a use of the key (contract 14.1). */
interface Answered {
  readonly caller: KeyCaller
  readonly isUse: boolean
}

/**
 * Adds the end of the key to the headers, and a warning when that end is near. A use moves the end of a sliding key, so
 * its answer warns only when the cap is near; a refused request moves no end.
 */
export function withExpiryHeaders(
  headers: OutgoingHttpHeaders,
  answered: Answered,
  caps: Caps,
  nowMs: number,
): OutgoingHttpHeaders {
  const endMs = endOf(answered, caps, nowMs)
  const lifetimeMs = endMs === null ? 0 : lifetimeMsOf(answered.caller, caps, endMs, nowMs)
  return withEnd(headers, { credential: 'platform access key', endMs, lifetimeMs }, nowMs)
}

/** Adds the end of the token to the headers, and a warning when that end is near. */
export const withTokenExpiryHeaders = (
  headers: OutgoingHttpHeaders,
  { issuedMs, expiresMs: endMs }: VerifiedToken,
  nowMs: number,
): OutgoingHttpHeaders =>
  withEnd(headers, { credential: 'token', endMs, lifetimeMs: endMs - issuedMs }, nowMs)

/** The end of a credential. */
interface CredentialEnd {
  /** The kind of credential, in a sentence. */
  readonly credential: string
  /** null = never. */
  readonly endMs: number | null
  readonly lifetimeMs: number
}

/**
 * The warning is as a kube-apiserver writes it: code 299, no agent, no date. Its text stays the same until the end,
 * because kubectl shows each text once.
 */
function withEnd(
  headers: OutgoingHttpHeaders,
  { credential, endMs, lifetimeMs }: CredentialEnd,
  nowMs: number,
): OutgoingHttpHeaders {
  if (endMs === null) {
    const { [KEY_EXPIRES_HEADER]: _upstream, ...others } = headers
    return others
  }
  const end = formatTimestamp(endMs)
  const expiring = { ...headers, [KEY_EXPIRES_HEADER]: end }
  if (endMs - nowMs >= lifetimeMs * WARNING_FRACTION) return expiring
  const warning = `299 - "this ${credential} expires at ${end}: get a new one before then"`
  return { ...expiring, warning: [warning, ...upstreamWarnings(headers['warning'])].join(', ') }
}

function endOf({ caller, isUse }: Answered, caps: Caps, nowMs: number): number | null {
  const { key, expiresMs } = caller
  // The end of an owned key may be the end of its owner, which this use does not move.
  if (!isUse || !key.slides || key.ownerRef !== null) return expiresMs
  const { activityMs } = lifetimeOf(key, caps, nowMs)
  const lastActivityMs = Math.max(activityMs ?? nowMs, nowMs)
  return lifetimeOf({ ...key, lastActivityMs }, caps, nowMs).expiresMs
}

/** The key's lifetime in milliseconds. Without a lifetime of its own, a key lives from its start to its owner's end. */
function lifetimeMsOf({ key }: KeyCaller, caps: Caps, endMs: number, nowMs: number): number {
  const { effectiveSeconds, startMs } = lifetimeOf(key, caps, nowMs)
  return effectiveSeconds === null ? endMs - startMs : effectiveSeconds * 1000
}

/** The upstream's warnings. They follow ours: a client that can't parse one of them has read ours. */
const upstreamWarnings = (warning: OutgoingHttpHeaders[string]): readonly string[] =>
  warning === undefined ? [] : [warning].flat().map(String)
