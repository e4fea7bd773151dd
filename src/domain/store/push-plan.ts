// What a push does to an entry of the store (contract 36.4): it creates or replaces its own, and never anybody else's.
import type { ObjectMeta } from '../../api/objects.ts'
import { SECRET_STORE_WRITTEN_ANNOTATION } from '../../api/secret-store-names.ts'
import type { EntryMetadata } from './store-answers.ts'

/** The next step of a push. */
type PushPlan =
  /** Writes where the entry still has version `cas`; 0 = where there is none. */
  | { readonly kind: 'write'; readonly cas: number }
  /**
   * The data have to be compared. Where they differ, `isOurs` says whether the version is one that was pushed, and is replaced;
   * else it is another's.
   */
  | { readonly kind: 'compare'; readonly cas: number; readonly isOurs: boolean }
  | { readonly kind: 'conflict' }

/** The Secret that is pushed. */
type PushedSecret = Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'annotations'>

const MANAGER = 'management-operator'

/** The custom metadata of an entry, with what says whose it is and which version was pushed last. */
export const entryOwner = (
  { name, namespace = '', uid }: PushedSecret,
  version: number,
  others: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  ...others,
  'managed-by': MANAGER,
  namespace,
  name,
  uid,
  version: String(version),
})

/** The version that annotation `secret-store-written` names; null = none, or a text of another form. */
export function writtenVersion({
  annotations = {},
}: Pick<ObjectMeta, 'annotations'>): number | null {
  return versionIn(annotations[SECRET_STORE_WRITTEN_ANNOTATION])
}

/** Whether the custom metadata name the current version: they are written after it, and go back with it in a roll-back. */
export const isPushedVersion = ({ currentVersion, customMetadata }: EntryMetadata): boolean =>
  currentVersion === versionIn(customMetadata['version'])

const versionIn = (text = ''): number | null => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : null)

/** @param entry null = there is none */
export function planPush(secret: PushedSecret, entry: EntryMetadata | null): PushPlan {
  if (entry === null) return { kind: 'write', cas: 0 }
  const { currentVersion, state, customMetadata: custom } = entry
  const owner = custom['managed-by'] ?? null
  const isUnowned = owner === null
  const isOurs =
    owner === MANAGER && custom['namespace'] === secret.namespace && custom['name'] === secret.name
  if (!isUnowned && !isOurs) return { kind: 'conflict' }
  if (currentVersion === 0) return { kind: 'write', cas: 0 }
  // The annotation is no proof: after a roll-back of the store its version may be somebody else's.
  const isPushed = isOurs && isPushedVersion(entry)
  if (isPushed && state !== 'live') return { kind: 'write', cas: currentVersion }
  // A crash after the first write leaves an entry that does not say whose it is, and later ones a version that it does not name.
  const mayBeOurs = isOurs || currentVersion === 1
  return state === 'live' && (isPushed || mayBeOurs)
    ? { kind: 'compare', cas: currentVersion, isOurs: isPushed }
    : { kind: 'conflict' }
}
