import type { AccessKey } from '../../domain/access-key.ts'
import { type KnownKeys, standingOf, withOwned } from '../../domain/key-line.ts'
import type { Caps } from '../../domain/lifetime.ts'
import type { Token } from '../../domain/token.ts'
import type { Change, Store } from '../../kube/store.ts'
import { BY_OWNER_KEY } from '../ownedaccesskey/order.ts'
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

/** Names of the tokens that a change of an access key is about, or of one that owns theirs (contract 5.4). */
export function namesOwnedBy(
  { before, after }: Pick<Change<AccessKey>, 'before' | 'after'>,
  keys: Store<AccessKey>,
  tokens: Store<Token>,
): readonly string[] {
  const changed = [before?.uid, after?.uid].filter((uid) => uid !== undefined)
  const uids = withOwned(changed, (uid) => keys.by(BY_OWNER_KEY, uid))
  const owned = [...uids].flatMap((uid) => [
    ...tokens.by(BY_OWNER, uid),
    ...tokens.by(BY_ISSUED_UNDER, uid),
  ])
  return [...new Set(owned.map(({ name }) => name))]
}
