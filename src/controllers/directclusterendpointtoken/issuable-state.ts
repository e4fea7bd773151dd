// The state of a token that is not issued yet: it can be issued now, or waits for something.
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { firstUncoveredEntry } from '../../domain/scope/covers.ts'
import {
  LONGEST_TOKEN_BYTES,
  type SigningAlgorithm,
  type TokenClaims,
  type TokenSubject,
  claimsOf,
  tokenLength,
} from '../../domain/token/token-claims.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { Owner } from '../indexes/tokens.ts'
import { type EndedState, expired } from './ended-state.ts'
import { type TokenLifetime, tokenLifetimeOf } from './lifetime.ts'
import { ownerMessageOf } from './owner-message.ts'

/** What decides whether a token can be issued. */
export interface IssuableInput {
  /** null = there is no owner reference, or no known key has its name and uid. */
  readonly owner: Owner | null
  /** The teams of the owner's user, as People.teamsOf gives them. */
  readonly teams: readonly string[]
  readonly caps: Caps
  /** The issuer URL; null = unknown (contract 7.2). */
  readonly issuer: string | null
  /** The key that would sign now; null = no key can sign. */
  readonly signing: { readonly algorithm: SigningAlgorithm } | null
  /** `--token-max-ttl` in milliseconds. */
  readonly maxTtlMs: number
  readonly nowMs: number
}

/**
 * A token to issue, or one that waits: `message` is a sentence for the condition, and `endMs` when the state ends without
 * any event, in epoch milliseconds; null = never.
 */
export type IssuableState =
  | { readonly reason: 'Issued'; readonly issue: IssuableToken; readonly endMs: number }
  | { readonly reason: PendingReason; readonly message: string; readonly endMs: number | null }

/** Why a token is not issued yet: each reason may pass. */
type PendingReason =
  | 'Pending'
  | 'OwnerNotReady'
  | 'ScopeExceedsOwner'
  | 'ScopeTooLarge'
  | 'SigningKeyUnavailable'
  | 'IssuerUnknown'

/** A token to sign: its claims and its life. */
interface IssuableToken {
  readonly claims: TokenClaims
  readonly lifetime: TokenLifetime
}

/** How long the watch may take to deliver an owner before status reports it as missing. */
const OWNER_GRACE_MS = 5000

/** The state of a token that is not issued yet. */
export function issuableStateOf(
  token: TokenObject,
  input: IssuableInput,
): IssuableState | EndedState {
  const { owner, issuer, signing, nowMs } = input
  const { ownerRef } = token
  const subject = subjectOf(token, owner, input.teams)
  if (token.lacksController) return pending('OwnerNotReady', NO_CONTROLLER)
  if (ownerRef && owner === null) {
    const untilMs = token.creationMs + OWNER_GRACE_MS
    return nowMs < untilMs
      ? pending('Pending', 'The token is about to be issued.', untilMs)
      : pending(
          'OwnerNotReady',
          `The owner reference names access key ${ownerRef.name} with a uid that no access key has.`,
        )
  }
  if (owner && owner.state !== 'Active') {
    const { state, above } = owner
    return pending('OwnerNotReady', `A${ownerMessageOf(owner, { state, above }).slice(1)}.`)
  }
  const uncovered = firstUncoveredEntry(token.scope, owner?.key.scope ?? null)
  if (uncovered)
    return pending(
      'ScopeExceedsOwner',
      `The scope grants more than that of access key ${owner?.key.name}: ${uncovered.path}: ${uncovered.because}.`,
      owner?.expiresMs,
    )
  const lifetime = tokenLifetimeOf(token, {
    ...input,
    ownerExpiresMs: owner?.expiresMs ?? null,
  })
  if (lifetime.expiresMs <= nowMs) return expired(lifetime.expiresMs)
  if (issuer === null) return pending('IssuerUnknown', ISSUER_UNKNOWN, lifetime.expiresMs)
  if (signing === null)
    return pending(
      'SigningKeyUnavailable',
      'No signing key may be used now; see the events of ConfigMap platform-jwks.',
      lifetime.expiresMs,
    )
  const claims = claimsOf(subject, {
    issuer,
    jti: token.uid,
    creationMs: token.creationMs,
    expiresMs: lifetime.expiresMs,
  })
  const length = tokenLength(claims, signing.algorithm)
  if (length > LONGEST_TOKEN_BYTES)
    return pending(
      'ScopeTooLarge',
      `The token would have ${length} bytes (groups: ${claims.groups.length}), more than ${LONGEST_TOKEN_BYTES}: shorten spec.scope or the groups of its owner, or take its user out of Teams.`,
      lifetime.expiresMs,
    )
  return { reason: 'Issued', issue: { claims, lifetime }, endMs: lifetime.expiresMs }
}

/** @param endMs when the state ends without any event; null = never */
const pending = (
  reason: PendingReason,
  message: string,
  endMs: number | null = null,
): IssuableState => ({ reason, message, endMs })

const NO_CONTROLLER =
  'The owner references name access keys, and none of them as the controller: set controller: true on the owner, or leave the reference out.'

const ISSUER_UNKNOWN =
  "The issuer is not known: set platformHost in Config, or the operator's flag --issuer-url."

function subjectOf(
  { name, uid, scope }: TokenObject,
  owner: Owner | null,
  teams: readonly string[],
): TokenSubject {
  if (!owner) {
    const itself = { identity: `token:${name}`, name, uid, scope }
    return { ...itself, groups: [], teams: [], isOwnerScoped: false }
  }
  const { key } = owner
  return {
    identity: key.identity ?? '',
    groups: key.groups,
    teams,
    name: key.name,
    uid: key.uid,
    scope: scope ?? key.scope,
    isOwnerScoped: key.scope !== null,
  }
}
