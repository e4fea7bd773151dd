// The state of a token, as the reason of its Ready condition (contract 4.2, 5.4).
import type { Owner } from '../indexes/tokens.ts'
import type { Scope } from '../../api/scope.gen.ts'
import { type Caps, isLive } from '../../domain/accesskey/lifetime.ts'
import { type ChainState, CHAIN_STATE_MESSAGES } from '../../domain/accesskey/owner-chain.ts'
import { findCondition } from '../../domain/conditions.ts'
import { firstUncoveredEntry } from '../../domain/scope/covers.ts'
import { formatTimestamp } from '../../domain/time.ts'
import {
  LONGEST_TOKEN_BYTES,
  type SigningAlgorithm,
  type TokenClaims,
  type TokenSubject,
  claimsOf,
  groupsClaimOf,
  scopeClaimOf,
  tokenLength,
} from '../../domain/token/token-claims.ts'
import {
  type IssuedToken,
  type TokenObject,
  canonicalGroups,
  issuedScopeOf,
  issuedTokenEndMs,
} from '../../domain/token/token.ts'
import { type TokenLifetime, capEndMs, tokenLifetimeOf } from './lifetime.ts'

/** The facts besides the token itself that decide on its state. */
export interface ReadyStateInput {
  /** null = there is no owner reference, or no known key has its name and uid. */
  readonly owner: Owner | null
  readonly caps: Caps
  readonly configName: string
  /** The issuer URL; null = unknown (contract 7.2). */
  readonly issuer: string | null
  /** The key that would sign now; null = no key can sign. */
  readonly signing: { readonly algorithm: SigningAlgorithm } | null
  /** Whether the signing key of the token was withdrawn because it leaked (contract 7.3). */
  readonly isKeyWithdrawn: boolean
  /** `--token-max-ttl` in milliseconds. */
  readonly maxTtlMs: number
  /** Whether the token is recorded as revoked, and the record is stored (contract 7.4). */
  readonly isRecorded: boolean
  readonly nowMs: number
}

/** The token has ended for good. */
interface EndedState {
  readonly reason: 'Expired' | 'Revoked'
  readonly message: string
}

/**
 * The state of a token. `message` is a sentence for the condition. `endMs` is when the state ends without any event;
 * null = never.
 */
export type TokenReadyState =
  | { readonly reason: 'Issued'; readonly issue: IssuableToken | null; readonly endMs: number }
  | EndedState
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

/**
 * The present state of a token. An issued token can only end, as its claims can't change; an ended one stays ended,
 * even if its owner becomes valid again (contract 2.5, 5.4).
 */
export function readyStateOf(token: TokenObject, input: ReadyStateInput): TokenReadyState {
  const { nowMs, isRecorded } = input
  const expiresMs = issuedTokenEndMs(token)
  const previousReady = findCondition(token.published.conditions, 'Ready')
  if (previousReady?.reason === 'Expired' || previousReady?.reason === 'Revoked')
    return { reason: previousReady.reason, message: withoutFault(previousReady.message) }
  if (expiresMs !== null && expiresMs <= nowMs) return expired(expiresMs)
  if (expiresMs === null) return isRecorded ? revoked(RECORDED) : issuableOrPending(token, input)
  const { issued } = token.published
  if (issued === null || issued === 'damaged')
    return revoked('status no longer holds the token that was issued')
  const because = revocationCauseOf(token, issued, input)
  if (because !== null) return revoked(because)
  return { reason: 'Issued', issue: null, endMs: endMsOf(token, issued, input) }
}

const expired = (endMs: number): TokenReadyState => ({
  reason: 'Expired',
  message: `The token expired ${formatTimestamp(endMs)}.`,
})

const revoked = (because: string): TokenReadyState => ({
  reason: 'Revoked',
  message: `The token was revoked for good, because ${because}; make a new object for another token.`,
})

const UNRECORDED = ' Clusters take it until its revocation is recorded, which failed: '

/** The message of an ended token while its record can't be stored (contract 7.4). */
export const unrecordedMessage = (message: string, fault: string): string =>
  `${message}${UNRECORDED}${fault}.`

const withoutFault = (message: string): string => message.split(UNRECORDED)[0] ?? message

const RECORDED = 'its id is recorded as revoked'

/** When the token ends if nothing changes: at its `exp`, by a cap that was lowered since, or with its owner. */
function endMsOf(
  { creationMs }: TokenObject,
  { expiresMs }: IssuedToken,
  { caps, owner }: ReadyStateInput,
): number {
  return Math.min(
    expiresMs,
    capEndMs(creationMs, caps) ?? Number.POSITIVE_INFINITY,
    owner?.expiresMs ?? Number.POSITIVE_INFINITY,
  )
}

/**
 * Why an issued token is revoked; null = it is not (contract 5.4, 7.3). Its record comes last among the causes, so
 * that status names the cause of the record while that still applies.
 */
function revocationCauseOf(
  token: TokenObject,
  issued: IssuedToken,
  input: ReadyStateInput,
): string | null {
  const { caps, configName, nowMs, isKeyWithdrawn, isRecorded } = input
  if (isKeyWithdrawn) return `signing key ${token.published.keyID} was withdrawn`
  const ownerCause = ownerRevocationCauseOf(token, issued, input)
  if (ownerCause !== null) return ownerCause
  if (!isLive(capEndMs(token.creationMs, caps), nowMs))
    return `accessKeyMaxTTLSeconds of Config ${configName} ended it ${caps.maxTtlSeconds} s after its creation`
  return isRecorded ? RECORDED : null
}

function ownerRevocationCauseOf(
  { published, ownerRef }: TokenObject,
  issued: IssuedToken,
  { owner }: ReadyStateInput,
): string | null {
  if (published.owner === null)
    return ownerRef === null ? null : 'it was issued without an owner and has one now'
  const { name, uid } = published.owner
  if (ownerRef?.uid !== uid) return `its owner reference no longer names access key ${name}`
  if (owner === null) return `access key ${name} is gone`
  if (owner.state !== 'Active') return ownerMessageOf(owner, owner.state)
  const { identity, groups, scope } = owner.key
  const isChanged =
    identity !== issued.identity ||
    canonicalGroups(groupsClaimOf(identity, groups)) !== issued.groups
  if (isChanged) return `the identity or the groups of access key ${name} changed`
  if (!isWithin(issued, scope)) return `its scope exceeds that of access key ${name} now`
  return scope === null || issued.isConfined
    ? null
    : `access key ${name} has a scope now, which servers in its audience need not enforce`
}

/** Whether the scope covers the issued one. An equal scope does, even if this version can't parse it. */
function isWithin(issued: IssuedToken, scope: Scope | null): boolean {
  if (issued.scope === scopeClaimOf(scope)) return true
  const granted = issuedScopeOf(issued)
  return scope === null || (granted !== null && firstUncoveredEntry(granted, scope) === null)
}

function ownerMessageOf({ key, above }: Owner, state: Exclude<ChainState, 'Active'>): string {
  const own = `access key ${key.name}`
  const whose = above === null ? own : `access key ${above}, which ${own} depends on,`
  return `${whose} ${CHAIN_STATE_MESSAGES[state]}`
}

/** How long the watch may take to deliver an owner before status reports it as missing. */
const OWNER_GRACE_MS = 5000

function issuableOrPending(token: TokenObject, input: ReadyStateInput): TokenReadyState {
  const { owner, issuer, signing, nowMs } = input
  const pending = (
    reason: PendingReason,
    message: string,
    endMs: number | null = null,
  ): TokenReadyState => ({
    reason,
    message,
    endMs,
  })
  const { ownerRef } = token
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
  if (owner && owner.state !== 'Active')
    return pending('OwnerNotReady', `A${ownerMessageOf(owner, owner.state).slice(1)}.`)
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
  const claims = claimsOf(subjectOf(token, owner), {
    issuer,
    jti: token.uid,
    creationMs: token.creationMs,
    expiresMs: lifetime.expiresMs,
  })
  const length = tokenLength(claims, signing.algorithm)
  if (length > LONGEST_TOKEN_BYTES)
    return pending(
      'ScopeTooLarge',
      `The token would have ${length} bytes, more than ${LONGEST_TOKEN_BYTES}: shorten spec.scope or the groups of its owner.`,
      lifetime.expiresMs,
    )
  return { reason: 'Issued', issue: { claims, lifetime }, endMs: lifetime.expiresMs }
}

const NO_CONTROLLER =
  'The owner references name access keys, and none of them as the controller: set controller: true on the owner, or leave the reference out.'

const ISSUER_UNKNOWN =
  "The issuer is not known: set platformHost in Config, or the operator's flag --issuer-url."

function subjectOf({ name, uid, scope }: TokenObject, owner: Owner | null): TokenSubject {
  if (!owner)
    return { identity: `token:${name}`, groups: [], name, uid, scope, isOwnerScoped: false }
  const { key } = owner
  return {
    identity: key.identity ?? '',
    groups: key.groups,
    name: key.name,
    uid: key.uid,
    scope: scope ?? key.scope,
    isOwnerScoped: key.scope !== null,
  }
}
