import type { AccessKey } from '../domain/access-key.ts'
import { withOwned } from '../domain/key-line.ts'
import type { Change } from '../kube/store.ts'
import type { KeyIndex } from './keys-by-secret.ts'

/**
 * The uids of the keys that a change may have made good or bad: the key itself, those with the same secret
 * where it comes or goes (contract 3.3), and those that any of these owns (10.3).
 */
export function uidsTouchedBy(
  { before, after }: Change<AccessKey>,
  index: KeyIndex,
): ReadonlySet<string> {
  const changed = [before, after].filter((key) => key !== undefined)
  const isElsewhere = before?.digest !== after?.digest || before?.uid !== after?.uid
  const peers = isElsewhere ? changed.flatMap((key) => peersOf(key, index)) : []
  const uids = [...changed, ...peers].map(({ uid }) => uid)
  return withOwned(uids, index.ownedBy)
}

const peersOf = ({ digest }: AccessKey, index: KeyIndex): readonly AccessKey[] =>
  digest === null ? [] : index.sharing(digest)
