// Which of its keys and tokens a claim still needs (contract 28.3, 28.5).
import type { AccessKeyClaimStatus } from '../../api/accesskeyclaim.gen.ts'
import { keyIdOf } from '../accesskey/access-key.ts'
import type { KeyOfClaim, TokenOfClaim } from './claimed-key.ts'
import type { SecretView } from './secret-view.ts'

/** The keys and tokens of a claim that are not being deleted, each in one place. */
export interface Holdings {
  /** The key that the Secret has, or whose token it has; null = it has none that exists. */
  readonly key: KeyOfClaim | null
  /** The token that the Secret has; null = it has none that exists. */
  readonly token: TokenOfClaim | null
  /** Credentials that were delivered before and may be in use, the newest first. */
  readonly elderKeys: readonly KeyOfClaim[]
  readonly elderTokens: readonly TokenOfClaim[]
  /** Credentials that were never delivered: a crash has left them. */
  readonly strayKeys: readonly KeyOfClaim[]
  readonly strayTokens: readonly TokenOfClaim[]
}

/** Everything that a claim has, and the names by which it is sorted. */
interface HoldingsOf {
  /** null = there is no Secret. */
  readonly secret: SecretView | null
  readonly keys: readonly KeyOfClaim[]
  readonly tokens: readonly TokenOfClaim[]
  readonly published: AccessKeyClaimStatus
  /** uids of the key and the token that are about to be delivered. */
  readonly underway: ReadonlySet<string>
}

/** Sorts the keys and tokens of a claim. A key that neither the Secret nor status names was left by a crash. */
export function holdingsOf({ secret, keys, tokens, published, underway }: HoldingsOf): Holdings {
  const [liveKeys, liveTokens] = [keys.filter(isKept), tokens.filter(isKept)]
  const key =
    liveKeys.find((one) => keyIdOf(one) === secret?.keyID && !isKeyBefore(one, published)) ?? null
  const token =
    liveTokens.find(
      (one) =>
        one.name === secret?.token &&
        one.ownerRef?.uid === key?.uid &&
        !isTokenBefore(one, liveTokens, published),
    ) ?? null
  const named = new Set([published.key?.name, published.previous?.name])
  const otherKeys = liveKeys.filter(({ uid }) => uid !== key?.uid && !underway.has(uid))
  const elderKeys = otherKeys.filter(({ name }) => named.has(name)).toSorted(newestFirst)
  const kept = new Set([key, ...elderKeys].map((one) => one?.uid))
  const otherTokens = liveTokens.filter(({ uid }) => uid !== token?.uid && !underway.has(uid))
  const isElder = ({ ownerRef, creationMs, name }: TokenOfClaim): boolean =>
    kept.has(ownerRef?.uid) &&
    (name === published.token?.name || (token !== null && creationMs <= token.creationMs))
  return {
    key,
    token,
    elderKeys,
    elderTokens: otherTokens.filter(isElder).toSorted(newestFirst),
    strayKeys: otherKeys.filter(({ name }) => !named.has(name)),
    strayTokens: otherTokens.filter((one) => !isElder(one)),
  }
}

// The Secret never goes back to what was delivered before. Where it names that, others have written it there: the elder would
// live on, and what is in the Secret would end in its place.

const isKeyBefore = ({ name }: KeyOfClaim, { key, previous }: AccessKeyClaimStatus): boolean =>
  key !== undefined && name === previous?.name

const isTokenBefore = (
  { creationMs }: TokenOfClaim,
  tokens: readonly TokenOfClaim[],
  { token }: AccessKeyClaimStatus,
): boolean => tokens.some((one) => one.name === token?.name && one.creationMs > creationMs)

/** The key that was delivered last, also where its Secret is gone; null = it is gone itself. */
export const latestKeyOf = ({ key, elderKeys }: Holdings): KeyOfClaim | null =>
  key ?? elderKeys[0] ?? null

const isKept = ({ isDeleting }: { readonly isDeleting: boolean }): boolean => !isDeleting

const newestFirst = (
  a: { readonly creationMs: number },
  b: { readonly creationMs: number },
): number => b.creationMs - a.creationMs
