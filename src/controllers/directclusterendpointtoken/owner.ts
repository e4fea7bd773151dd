import type { AccessKey } from '../../domain/access-key.ts'
import { eldestOf, type KeyState, keyStateOf } from '../../domain/access-key-state.ts'
import { boundsOf, type KnownKeys, lineOf, withOwned } from '../../domain/key-line.ts'
import { type Caps, lifetimeOf } from '../../domain/lifetime.ts'
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
  const { keys, brokenAt } = lineOf(own, known)
  const { expiresMs, scope, exceeded } = boundsOf(keys, caps, nowMs)
  const key = scope === own.scope ? own : { ...own, scope }
  const states = keys.map((one) => [one, stateOf(one, known, caps, nowMs)] as const)
  const unfit = states.find(([, state]) => state !== 'Active')
  const of = (one: AccessKey): string | null => (one === own ? null : one.name)
  if (unfit) return { key, state: unfit[1], above: of(unfit[0]), expiresMs }
  if (brokenAt !== null) return { key, state: 'Gone', above: brokenAt, expiresMs }
  if (exceeded !== null) return { key, state: 'Exceeded', above: of(exceeded), expiresMs }
  return { key, state: 'Active', above: null, expiresMs }
}

function stateOf(key: AccessKey, { sharing }: KnownKeys, caps: Caps, nowMs: number): KeyState {
  const eldest = key.digest === null ? key : (eldestOf(sharing(key.digest)) ?? key)
  return keyStateOf(key, lifetimeOf(key, caps, nowMs), eldest.uid !== key.uid, nowMs)
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
