import type { AccessKey } from '../../domain/access-key.ts'
import { eldestOf, keyStateOf } from '../../domain/access-key-state.ts'
import { type Caps, lifetimeOf } from '../../domain/lifetime.ts'
import type { Token } from '../../domain/token.ts'
import type { Change, Store } from '../../kube/store.ts'
import { BY_DIGEST } from '../ownedaccesskey/order.ts'
import type { Owner } from './fate.ts'
import { BY_ISSUED_UNDER, BY_OWNER } from './order.ts'

/** The access key that the token's reference names, as it is now; null = it names none (5.4). */
export function ownerOf(
  { ownerRef }: Token,
  keys: Store<AccessKey>,
  caps: Caps,
  nowMs: number,
): Owner | null {
  const key = ownerRef ? keys.get(ownerRef.name) : undefined
  if (!key || key.uid !== ownerRef?.uid) return null
  const lifetime = lifetimeOf(key, caps, nowMs)
  const eldest = key.digest === null ? key : eldestOf(keys.by(BY_DIGEST, key.digest))
  const state = keyStateOf(key, lifetime, eldest?.uid !== key.uid, nowMs)
  return { key, state, expiresMs: lifetime.expiresMs }
}

/** Names of the tokens that a change of an access key is about (contract 5.4). */
export function namesOwnedBy(
  { before, after }: Change<AccessKey>,
  tokens: Store<Token>,
): readonly string[] {
  const uids = new Set([before?.uid, after?.uid].filter((uid) => uid !== undefined))
  const owned = [...uids].flatMap((uid) => [
    ...tokens.by(BY_OWNER, uid),
    ...tokens.by(BY_ISSUED_UNDER, uid),
  ])
  return [...new Set(owned.map(({ name }) => name))]
}
