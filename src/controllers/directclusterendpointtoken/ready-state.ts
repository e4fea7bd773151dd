// What a token is, of all that it may be: the reasons of its Ready condition (contract 4.2, 5.4).
import type { Scope } from '../../api/scope.gen.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type Caps, isLive } from '../../domain/accesskey/lifetime.ts'
import {
  type ChainState,
  type ChainStatus,
  CHAIN_STATE_MESSAGES,
} from '../../domain/accesskey/owner-chain.ts'
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

/** The access key that a token's reference names, by name and uid, and how that stands. */
export interface Owner extends Omit<ChainStatus, 'scope'> {
  /** With the scope that binds it: its own, or that of the nearest key that owns it and has one. */
  readonly key: AccessKey
}

/** What decides on a token besides itself. */
export interface TokenCircumstances {
  /** null = the reference names no object that is known, or there is no reference. */
  readonly owner: Owner | null
  readonly caps: Caps
  readonly configName: string
  /** null = unknown (contract 7.2). */
  readonly issuer: string | null
  /** The key that would sign now; null = none may. */
  readonly signing: { readonly algorithm: SigningAlgorithm } | null
  /** Whether the key that signed the token was taken out because it leaked (contract 7.3). */
  readonly isKeyWithdrawn: boolean
  /** `--token-max-ttl` in milliseconds. */
  readonly maxTtlMs: number
  /** Whether the token's jti is stored among the revoked (contract 7.4). */
  readonly isRecorded: boolean
  readonly nowMs: number
}

/** Ended, for good. */
export interface EndedState {
  readonly reason: 'Expired' | 'Revoked'
  readonly message: string
}

/** What a token is now. `message` is a sentence for the condition. */
export type TokenReadyState =
  | { readonly reason: 'Issued'; readonly issue: Signable | null; readonly endMs: number }
  | EndedState
  | { readonly reason: Waiting; readonly message: string; readonly endMs: number | null }

/** Not issued, for a reason that may pass. */
type Waiting =
  | 'Pending'
  | 'OwnerNotReady'
  | 'ScopeExceedsOwner'
  | 'ScopeTooLarge'
  | 'SigningKeyUnavailable'
  | 'IssuerUnknown'

/** A token to be signed: what it says, and what limits its life. */
interface Signable {
  readonly claims: TokenClaims
  readonly lifetime: TokenLifetime
}

/**
 * What a token is now. One that is out is only ever ended: its claims stand in it. One that is
 * ended stays so, whatever comes back (contract 2.5, 5.4).
 */
export function readyStateOf(
  token: TokenObject,
  circumstances: TokenCircumstances,
): TokenReadyState {
  const { nowMs, isRecorded } = circumstances
  const outMs = issuedTokenEndMs(token)
  const old = findCondition(token.published.conditions, 'Ready')
  if (old?.reason === 'Expired' || old?.reason === 'Revoked')
    return { reason: old.reason, message: withoutFault(old.message) }
  if (outMs !== null && outMs <= nowMs) return expired(outMs)
  if (outMs === null)
    return isRecorded ? revoked(RECORDED) : waitingOrIssuable(token, circumstances)
  const { issued } = token.published
  if (issued === null || issued === 'damaged')
    return revoked('status no longer holds the token that was issued')
  const because = causeOf(token, issued, circumstances)
  if (because !== null) return revoked(because)
  return { reason: 'Issued', issue: null, endMs: endOf(token, issued, circumstances) }
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

/** What status says of one that ended, while its record can't be stored (contract 7.4). */
export const unrecordedMessage = (message: string, fault: string): string =>
  `${message}${UNRECORDED}${fault}.`

const withoutFault = (message: string): string => message.split(UNRECORDED)[0] ?? message

const RECORDED = 'its id is recorded as revoked'

/** When the token ends if nothing changes: by its exp, by a cap lowered since, or with its owner. */
function endOf(
  { creationMs }: TokenObject,
  { expiresMs }: IssuedToken,
  { caps, owner }: TokenCircumstances,
): number {
  return Math.min(
    expiresMs,
    capEndMs(creationMs, caps) ?? Number.POSITIVE_INFINITY,
    owner?.expiresMs ?? Number.POSITIVE_INFINITY,
  )
}

/**
 * Why a token that is out must end before its time; null = it need not (contract 5.4, 7.3). That it
 * is recorded comes last: status says what it was recorded for, where that still holds.
 */
function causeOf(
  token: TokenObject,
  issued: IssuedToken,
  circumstances: TokenCircumstances,
): string | null {
  const { caps, configName, nowMs, isKeyWithdrawn, isRecorded } = circumstances
  if (isKeyWithdrawn) return `signing key ${token.published.keyID} was withdrawn`
  const ownerCause = ownerCauseOf(token, issued, circumstances)
  if (ownerCause !== null) return ownerCause
  if (!isLive(capEndMs(token.creationMs, caps), nowMs))
    return `accessKeyMaxTTLSeconds of Config ${configName} ended it ${caps.maxTtlSeconds} s after its creation`
  return isRecorded ? RECORDED : null
}

function ownerCauseOf(
  { published, ownerRef }: TokenObject,
  issued: IssuedToken,
  { owner }: TokenCircumstances,
): string | null {
  if (published.owner === null)
    return ownerRef === null ? null : 'it was issued without an owner and has one now'
  const { name, uid } = published.owner
  if (ownerRef?.uid !== uid) return `its owner reference no longer names access key ${name}`
  if (owner === null) return `access key ${name} is gone`
  if (owner.state !== 'Active') return ownerText(owner, owner.state)
  const { identity, groups, scope } = owner.key
  const isOther =
    identity !== issued.identity ||
    canonicalGroups(groupsClaimOf(identity, groups)) !== issued.groups
  if (isOther) return `the identity or the groups of access key ${name} changed`
  if (!isWithin(issued, scope)) return `its scope exceeds that of access key ${name} now`
  return scope === null || issued.isConfined
    ? null
    : `access key ${name} has a scope now, which servers in its audience need not enforce`
}

/** A scope that has not changed is not narrower, though it held what this version can't read. */
function isWithin(issued: IssuedToken, scope: Scope | null): boolean {
  if (issued.scope === scopeClaimOf(scope)) return true
  const granted = issuedScopeOf(issued)
  return scope === null || (granted !== null && firstUncoveredEntry(granted, scope) === null)
}

function ownerText({ key, above }: Owner, state: Exclude<ChainState, 'Active'>): string {
  const own = `access key ${key.name}`
  const whose = above === null ? own : `access key ${above}, which ${own} depends on,`
  return `${whose} ${CHAIN_STATE_MESSAGES[state]}`
}

/** How long an owner that is not known yet may be on its way to us, before status says so. */
const OWNER_GRACE_MS = 5000

function waitingOrIssuable(token: TokenObject, circumstances: TokenCircumstances): TokenReadyState {
  const { owner, issuer, signing, nowMs } = circumstances
  const waits = (
    reason: Waiting,
    message: string,
    endMs: number | null = null,
  ): TokenReadyState => ({
    reason,
    message,
    endMs,
  })
  const { ownerRef } = token
  if (ownerRef && owner === null) {
    const untilMs = token.creationMs + OWNER_GRACE_MS
    return nowMs < untilMs
      ? waits('Pending', 'The token is about to be issued.', untilMs)
      : waits(
          'OwnerNotReady',
          `The owner reference names access key ${ownerRef.name} with a uid that no access key has.`,
        )
  }
  if (owner && owner.state !== 'Active')
    return waits('OwnerNotReady', `A${ownerText(owner, owner.state).slice(1)}.`)
  const uncovered = firstUncoveredEntry(token.scope, owner?.key.scope ?? null)
  if (uncovered)
    return waits(
      'ScopeExceedsOwner',
      `The scope grants more than that of access key ${owner?.key.name}: ${uncovered.path}: ${uncovered.because}.`,
      owner?.expiresMs,
    )
  const lifetime = tokenLifetimeOf(token, {
    ...circumstances,
    ownerExpiresMs: owner?.expiresMs ?? null,
  })
  if (lifetime.expiresMs <= nowMs) return expired(lifetime.expiresMs)
  if (issuer === null) return waits('IssuerUnknown', ISSUER_UNKNOWN, lifetime.expiresMs)
  if (signing === null)
    return waits(
      'SigningKeyUnavailable',
      'No signing key may be used now; see the events of ConfigMap platform-jwks.',
      lifetime.expiresMs,
    )
  const claims = claimsOf(bearerOf(token, owner), {
    issuer,
    jti: token.uid,
    creationMs: token.creationMs,
    expiresMs: lifetime.expiresMs,
  })
  const length = tokenLength(claims, signing.algorithm)
  if (length > LONGEST_TOKEN_BYTES)
    return waits(
      'ScopeTooLarge',
      `The token would have ${length} bytes, more than ${LONGEST_TOKEN_BYTES}: shorten spec.scope or the groups of its owner.`,
      lifetime.expiresMs,
    )
  return { reason: 'Issued', issue: { claims, lifetime }, endMs: lifetime.expiresMs }
}

const ISSUER_UNKNOWN =
  "The issuer is not known: set platformHost in Config, or the operator's flag --issuer-url."

function bearerOf({ name, uid, scope }: TokenObject, owner: Owner | null): TokenSubject {
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
