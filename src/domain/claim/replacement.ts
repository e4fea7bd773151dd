// Why the credential of a claim is replaced, and when (contract 28.5).
import { findCondition } from '../conditions.ts'
import { type Caps, lifetimeOf } from '../accesskey/lifetime.ts'
import type { Claim } from './claim.ts'
import { type KeyOfClaim, type TokenOfClaim, isTokenAsked, sameIdentity } from './claimed-key.ts'
import { type Holdings, latestKeyOf } from './holdings.ts'
import { dueMs, jitterOf } from './rotation.ts'
import type { SecretView } from './secret-view.ts'

/** Why a credential is made, label values of platform_claim_rotations_total{cause}. */
export const ROTATION_CAUSES = [
  'first',
  'secret_changed',
  'key_deleted',
  'requested',
  'identity_changed',
  'token_changed',
  'data_changed',
  'due',
] as const

/** One of ROTATION_CAUSES. */
export type RotationCause = (typeof ROTATION_CAUSES)[number]

/** A credential to be made. */
export interface Replacement {
  readonly cause: RotationCause
  /** Whether a new token of the same key is enough. */
  readonly isTokenOnly: boolean
}

/** What tells whether a credential is replaced. */
export interface ReplacementInput {
  readonly claim: Claim
  /** null = there is no Secret. */
  readonly secret: SecretView | null
  readonly holdings: Holdings
  /** What the annotation `template` of the Secret is to be. */
  readonly template: string
  readonly caps: Caps
  readonly nowMs: number
}

/** Reasons of Ready of a key whose person, team or owner keeps it from working: another key of the same would not work either. */
const PERSON_REASONS: ReadonlySet<string> = new Set([
  'UserDisabled',
  'TeamGone',
  'IdentityGone',
  'IdentityStale',
  'SignInAgain',
  'OwnerNotReady',
])

/** Why the credential is replaced now; null = it is not. */
export function replacementOf(input: ReplacementInput): Replacement | null {
  const { claim, holdings } = input
  if (claim.isSuspended) return null
  const cause = keyCauseOf(input)
  const latest = latestKeyOf(holdings)
  // Who disables a key wants it to stop, also when its Secret is deleted.
  if (latest?.isDisabled && cause !== 'requested') return null
  const isSamePerson = latest !== null && sameIdentity(latest.spec, claim.key)
  if (latest !== null && isPersonGone(latest) && isSamePerson) return null
  if (cause !== null) return { cause, isTokenOnly: false }
  const tokenCause = tokenCauseOf(input)
  return tokenCause === null ? null : { cause: tokenCause, isTokenOnly: true }
}

/** Whether the person, the team or the owner of the key keeps it from working. */
export const isPersonGone = (key: KeyOfClaim): boolean => PERSON_REASONS.has(reasonOf(key))

/** Whether a key or token was revoked or has expired, as its status shows. */
export const hasEnded = (credential: KeyOfClaim | TokenOfClaim): boolean =>
  ['Revoked', 'Expired'].includes(reasonOf(credential))

/** The reason of Ready of a key or token; empty = none is published yet. */
export const reasonOf = ({ published }: Pick<KeyOfClaim | TokenOfClaim, 'published'>): string =>
  findCondition(published.conditions, 'Ready')?.reason ?? ''

function keyCauseOf(input: ReplacementInput): RotationCause | null {
  const { claim, secret, holdings, template, nowMs } = input
  const { published } = claim
  const { key } = holdings
  const isRequested = ![null, published.lastRotate, key?.rotateRequest].includes(
    claim.rotateRequest,
  )
  const checks: readonly (readonly [RotationCause, boolean])[] = [
    ['requested', isRequested],
    ['first', secret === null && published.lastRotation === undefined],
    ['secret_changed', secret === null || isChangedByOthers(secret, published)],
    ['key_deleted', key === null],
    ['identity_changed', key !== null && !sameIdentity(key.spec, claim.key)],
    ['token_changed', key !== null && key.delivers !== deliversOf(claim)],
    ['data_changed', secret !== null && secret.template !== template],
    ['due', key !== null && nowMs >= keyDueMs(key, input)],
  ]
  return checks.find(([, holds]) => holds)?.[0] ?? null
}

/** What the Secret of a claim has: the key, or a token of it. */
export const deliversOf = ({ token }: Claim): KeyOfClaim['delivers'] =>
  token === null ? 'Key' : 'Token'

/** Until status names the key and the token of the Secret, what is in it is what we have written. */
const isChangedByOthers = (
  { keyID, token, dataDigest }: SecretView,
  { key, token: publishedToken, secretDigest }: Claim['published'],
): boolean =>
  key?.keyID === keyID &&
  publishedToken?.name === (token ?? undefined) &&
  dataDigest !== secretDigest

function tokenCauseOf(input: ReplacementInput): RotationCause | null {
  const { claim, holdings, nowMs } = input
  const { token } = holdings
  if (claim.token === null) return null
  // As a key that was deleted.
  if (token === null || hasEnded(token)) return 'key_deleted'
  if (!isTokenAsked(token, claim.token)) return 'token_changed'
  return nowMs >= tokenDueMs(token, input) ? 'due' : null
}

/** When a key is replaced by its age, in epoch milliseconds. */
export function keyDueMs(
  key: KeyOfClaim,
  { claim, caps, nowMs }: Pick<ReplacementInput, 'claim' | 'caps' | 'nowMs'>,
): number {
  const { startMs, effectiveSeconds } = lifetimeOf(key, caps, nowMs)
  return dueMs({
    creationMs: startMs,
    lifetimeSeconds: effectiveSeconds ?? Number.POSITIVE_INFINITY,
    rotateAfterSeconds: claim.rotateAfterSeconds,
    jitter: jitterOf(claim.uid),
  })
}

/** When a token is replaced by its age, in epoch milliseconds. */
export function tokenDueMs(
  { creationMs, endMs }: TokenOfClaim,
  { claim }: Pick<ReplacementInput, 'claim'>,
): number {
  return dueMs({
    creationMs,
    lifetimeSeconds: ((endMs ?? creationMs) - creationMs) / 1000,
    rotateAfterSeconds: claim.rotateAfterSeconds,
    jitter: jitterOf(claim.uid),
  })
}

/** How long a claim is left alone after a replacement, in milliseconds, whatever is asked (contract 28.5). */
const LEFT_ALONE_MS = 30_000

/**
 * When the next replacement may be, in epoch milliseconds.
 *
 * @param lastRotationMs null = nothing was delivered yet
 */
export const replaceableMs = (lastRotationMs: number | null): number =>
  lastRotationMs === null ? Number.NEGATIVE_INFINITY : lastRotationMs + LEFT_ALONE_MS
