// The data of a Secret go into an entry (contract 36.4): the entry first, then whose it is, then the annotation. After a crash
// between them the entry is found to have the data already.
import { SECRETS, apiVersionOf } from '../../api/names.ts'
import { SECRET_STORE_WRITTEN_ANNOTATION } from '../../api/secret-store-names.ts'
import type { Secret } from '../../api/objects.ts'
import {
  entryOwner,
  isPushedVersion,
  planPush,
  writtenVersion,
} from '../../domain/store/push-plan.ts'
import {
  type StoreContent,
  isSameContent,
  pushedContent,
} from '../../domain/store/secret-content.ts'
import type { EntryMetadata, WrittenVersion } from '../../domain/store/store-answers.ts'
import type { StoreRequest } from '../../domain/store/stored-secret.ts'
import type { ListedSecret, SyncDeps, SyncRecord } from './deps.ts'
import { readSecret } from './read-secret.ts'
import {
  CHANGED,
  type SyncResult,
  changedOr,
  contentDigest,
  inStep,
  isKnownVersion,
  outOfStep,
} from './result.ts'

/** The content of a Secret, on its way into an entry. */
interface Push {
  readonly secret: Secret
  readonly path: string
  readonly content: StoreContent
  /** null = there is none. */
  readonly entry: EntryMetadata | null
  readonly record: SyncRecord
}

/** Reads the entry's metadata, and writes it where it differs. @throws SecretStoreError, StatusError, NoResponseError */
export async function push(
  found: ListedSecret,
  { path }: StoreRequest,
  record: SyncRecord,
  deps: SyncDeps,
): Promise<SyncResult> {
  const { inStep: known } = record
  const entry = await deps.store.readMetadata(path)
  const isEntrySame =
    known !== null &&
    entry?.state === 'live' &&
    isKnownVersion(entry, known) &&
    isPushedVersion(entry)
  if (isEntrySame && known.secretVersion === found.resourceVersion)
    return inStep('unchanged', known)
  const read = await readSecret(found, 'Push', deps.client)
  if (!read.ok) return read.result
  const { secret } = read
  const pushed = pushedContent(secret)
  if (!pushed.ok) return outOfStep('refused', 'StoreContentRefused', pushed.fault)
  return carriedOut({ secret, path, content: pushed.content, entry, record }, deps)
}

async function carriedOut(one: Push, deps: SyncDeps): Promise<SyncResult> {
  const plan = planPush(one.secret.metadata, one.entry)
  if (plan.kind === 'conflict') return conflict(one)
  if (plan.kind === 'compare') {
    const stored = await deps.store.readData(one.path, 2)
    const { version = null, createdTime = '' } = stored ?? {}
    // It moved between the two reads.
    if (stored === null || version !== plan.cas || createdTime !== one.entry?.createdTime)
      return CHANGED
    if (isSameContent(stored.content, one.content))
      return settled(one, { version, createdTime }, false, deps)
    if (!plan.isOurs) return conflict(one)
  }
  const written = await deps.store.writeData(one.path, one.content, plan.cas)
  return written === 'conflict' ? conflict(one) : settled(one, written, true, deps)
}

const conflict = ({ path }: Push): SyncResult =>
  outOfStep(
    'conflict',
    'StoreConflict',
    `The entry at ${path} has a version that this Secret has not written, and is left alone: delete the entry or choose another path.`,
  )

/** A tool that takes the annotation away at each of its writes is not fought: nothing is decided by it. */
const NAMED_EVERY_MS = 300_000

/** Says in the entry and in the Secret which version was pushed, where they do not say so. */
async function settled(
  one: Push,
  { version, createdTime }: WrittenVersion,
  isWritten: boolean,
  { store, pushClient, clock }: SyncDeps,
): Promise<SyncResult> {
  const { secret, path, content, entry, record } = one
  const { metadata } = secret
  const custom = entry?.customMetadata ?? {}
  const owner = entryOwner(metadata, version, custom)
  const isOwned = isSameContent(owner, custom)
  if (!isOwned) await store.writeCustomMetadata(path, owner)
  const isKnown = !isWritten && isOwned && record.inStep?.entryVersion === version
  const nowMs = clock.nowMs()
  const isNamed =
    writtenVersion(metadata) === version || (isKnown && nowMs - record.namedMs < NAMED_EVERY_MS)
  const kept = isNamed ? secret : await named(secret, version, pushClient)
  if (kept === CHANGED) return CHANGED
  if (isKnown && !isNamed) record.namedMs = nowMs
  return inStep(isWritten || !isOwned || !isNamed ? 'written' : 'unchanged', {
    secretVersion: kept.metadata.resourceVersion,
    entryVersion: version,
    entryCreated: createdTime,
    digest: contentDigest(content),
  })
}

async function named(
  { metadata: { name, namespace, uid, resourceVersion } }: Secret,
  version: number,
  client: SyncDeps['pushClient'],
): Promise<Secret | typeof CHANGED> {
  const annotations = { [SECRET_STORE_WRITTEN_ANNOTATION]: String(version) }
  const object = {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: { name, namespace, uid, resourceVersion, annotations },
  }
  try {
    return await client.apply<Secret>(SECRETS, object, 'pushed')
  } catch (error) {
    return changedOr(error)
  }
}
