// The refusals of a request whose credential or target ends while it is in flight (contract 10.2, 13.4): they equal the
// refusals of the next request with that credential.
import { type Caller, isKeyCaller } from '../../authn/caller.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { TOKEN_ERRORS } from '../direct-errors.ts'
import { ERRORS } from '../errors.ts'
import type { EndReason } from './in-flight.ts'

/** The refusals by the reason of the end. */
export type EndRefusals = Readonly<Record<EndReason, BufferedAnswer>>

/**
 * Refusals before an answer has begun, the same for a request that may have changed something (contract 13.1), and as
 * the last event of a watch.
 */
interface CredentialRefusals {
  readonly beforeAnswer: EndRefusals
  readonly ofChanges: EndRefusals
  readonly inStream: EndRefusals
}

const endedUnderWay = (because: string): BufferedAnswer => refuse(ERRORS.endedUnderWay, { because })

/** Without Retry-After. A client does not repeat what gets a 401. */
const UNDER_WAY = {
  target: endedUnderWay('its target was removed or changed'),
  stale: endedUnderWay('its credential cannot be checked any more'),
}

const TARGET = { target: refuse(ERRORS.targetChanged) }

const END_OF_KEYS: EndRefusals = {
  ...TARGET,
  expired: refuse(ERRORS.keyExpired),
  revoked: refuse(ERRORS.keyNotFound),
  changed: refuse(ERRORS.keyChanged),
  stale: refuse(ERRORS.keyUnchecked),
}

const OF_KEYS: CredentialRefusals = {
  beforeAnswer: END_OF_KEYS,
  ofChanges: { ...END_OF_KEYS, ...UNDER_WAY, changed: refuse(ERRORS.keyChangedUnderWay) },
  inStream: {
    ...TARGET,
    expired: refuse(ERRORS.keyExpired),
    revoked: refuse(ERRORS.keyNotFound),
    changed: refuse(ERRORS.keyChangedInWatch),
    stale: refuse(ERRORS.keyUncheckedInWatch),
  },
}

/** A token never changes; when its signing key is withdrawn, it is refused like a forged one. */
const END_OF_TOKENS: EndRefusals = {
  ...TARGET,
  expired: refuse(TOKEN_ERRORS.tokenExpired),
  revoked: refuse(TOKEN_ERRORS.tokenNotAccepted),
  changed: refuse(TOKEN_ERRORS.tokenNotAccepted),
  stale: refuse(TOKEN_ERRORS.tokenUnchecked),
}

const OF_TOKENS: CredentialRefusals = {
  beforeAnswer: END_OF_TOKENS,
  ofChanges: { ...END_OF_TOKENS, ...UNDER_WAY },
  inStream: END_OF_TOKENS,
}

/** The refusals for the caller's kind of credential. */
export const credentialRefusals = (caller: Caller): CredentialRefusals =>
  isKeyCaller(caller) ? OF_KEYS : OF_TOKENS
