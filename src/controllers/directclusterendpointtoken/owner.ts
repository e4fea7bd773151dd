import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { type KnownKeys, standingOf } from '../../domain/accesskey/owner-chain.ts'
import type { Token } from '../../domain/token/token.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Owner } from './fate.ts'
import { BY_ISSUED_UNDER, BY_OWNER } from './order.ts'

/**
 * The access key that the token's reference names, as it and those that own it are now; null = the
 * reference names none (contract 5.4). A key is worth no more than one that owns it (10.3, 12.3).
 */
export function ownerOf(
  { ownerRef }: Token,
  known: KnownKeys,
  caps: Caps,
  nowMs: number,
): Owner | null {
  const own = ownerRef ? known.named(ownerRef.name) : undefined
  if (!own || own.uid !== ownerRef?.uid) return null
  const standing = standingOf(own, known, caps, nowMs)
  return {
    key: standing.scope === own.scope ? own : { ...own, scope: standing.scope },
    ...standing,
  }
}

/** Names of the tokens that these keys own, or that were issued under them (contract 5.4). */
export function namesUnder(keys: readonly AccessKey[], tokens: Store<Token>): readonly string[] {
  const owned = keys.flatMap(({ uid }) => [
    ...tokens.by(BY_OWNER, uid),
    ...tokens.by(BY_ISSUED_UNDER, uid),
  ])
  return [...new Set(owned.map(({ name }) => name))]
}
