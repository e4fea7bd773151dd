// The refusals of a request whose credential or target ends while it is in flight (contract 10.2, 13.4): they are those
// that the next request with the credential gets.
import { type Caller, isKeyCaller } from '../../authn/caller.ts'
import { type BufferedAnswer, refuse } from '../../serving/http/answer.ts'
import { TOKEN_ERRORS } from '../direct-errors.ts'
import { ERRORS } from '../errors.ts'
import type { EndReason } from './in-flight.ts'

/** The refusals by the reason of the end. */
export type EndRefusals = Readonly<Record<EndReason, BufferedAnswer>>

/** Refusals before an answer has begun, and as the last event of a watch. */
interface CredentialRefusals {
  readonly beforeAnswer: EndRefusals
  readonly inStream: EndRefusals
}

const TARGET = { target: refuse(ERRORS.targetChanged) }

const OF_KEYS: CredentialRefusals = {
  beforeAnswer: {
    ...TARGET,
    expired: refuse(ERRORS.keyExpired),
    revoked: refuse(ERRORS.keyNotFound),
    changed: refuse(ERRORS.keyChanged),
    stale: refuse(ERRORS.keyUnchecked),
  },
  inStream: {
    ...TARGET,
    expired: refuse(ERRORS.keyExpired),
    revoked: refuse(ERRORS.keyNotFound),
    changed: refuse(ERRORS.keyChangedInWatch),
    stale: refuse(ERRORS.keyUncheckedInWatch),
  },
}

/** A token never changes; when its signing key is withdrawn, it is as unknown as any forged one. */
const END_OF_TOKENS: EndRefusals = {
  ...TARGET,
  expired: refuse(TOKEN_ERRORS.tokenExpired),
  revoked: refuse(TOKEN_ERRORS.tokenNotAccepted),
  changed: refuse(TOKEN_ERRORS.tokenNotAccepted),
  stale: refuse(TOKEN_ERRORS.tokenUnchecked),
}

const OF_TOKENS: CredentialRefusals = { beforeAnswer: END_OF_TOKENS, inStream: END_OF_TOKENS }

/** The refusals for the caller's kind of credential. */
export const credentialRefusals = (caller: Caller): CredentialRefusals =>
  isKeyCaller(caller) ? OF_KEYS : OF_TOKENS
