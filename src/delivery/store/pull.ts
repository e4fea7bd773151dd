// The data of an entry go into a Secret (contract 36.3).
import { SECRETS, apiVersionOf } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { ownedData } from '../../domain/claim/secret-view.ts'
import { isSameContent, pulledData } from '../../domain/store/secret-content.ts'
import type { EntryData } from '../../domain/store/store-answers.ts'
import type { StoreRequest } from '../../domain/store/stored-secret.ts'
import { isRefusal, isTestFailed } from '../../kube/client/api-error.ts'
import type { ListedSecret, SyncDeps, SyncRecord } from './deps.ts'
import { readSecret } from './read-secret.ts'
import {
  CHANGED,
  type SyncResult,
  answerIn,
  changedOr,
  contentDigest,
  inStep,
  isKnownVersion,
  outOfStep,
} from './result.ts'

/** Reads the entry, and writes the Secret where it differs. @throws SecretStoreError, StatusError, NoResponseError */
export async function pull(
  found: ListedSecret,
  request: StoreRequest,
  record: SyncRecord,
  deps: SyncDeps,
): Promise<SyncResult> {
  const entry = await changedEntry(found, request, record, deps)
  if (entry === 'unchanged') return inStep('unchanged', record.inStep)
  if (entry === null)
    return outOfStep(
      'not_found',
      'StoreNotFound',
      `The store has no data at ${request.path}: the last data stay.`,
    )
  const pulled = pulledData(entry.content)
  if (!pulled.ok) return outOfStep('refused', 'StoreContentRefused', pulled.fault)
  const digest = contentDigest(entry.content)
  const read = await readSecret(found, 'Pull', deps.client)
  if (!read.ok) return read.result
  const { secret } = read
  const isHeld = isSameContent(ownedData(secret), pulled.content)
  const kept = isHeld ? secret : await applied(secret, pulled.content, deps)
  if (typeof kept === 'string') return kept === CHANGED ? CHANGED : refusedBy(kept)
  return inStep(isHeld ? 'unchanged' : 'written', {
    secretVersion: kept.metadata.resourceVersion,
    entryVersion: entry.version,
    entryCreated: entry.createdTime,
    digest,
  })
}

/** The entry, unless it and the Secret are as they were; null = there is none. */
async function changedEntry(
  { resourceVersion }: ListedSecret,
  { path, engine }: StoreRequest,
  { inStep: known }: SyncRecord,
  { store }: SyncDeps,
): Promise<EntryData | 'unchanged' | null> {
  const isSecretSame = known?.secretVersion === resourceVersion
  if (engine === 2) {
    const entry = await store.readMetadata(path)
    if (entry?.state !== 'live') return null
    if (isSecretSame && isKnownVersion(entry, known)) return 'unchanged'
    return store.readData(path, engine)
  }
  const entry = await store.readData(path, engine)
  const isSame = isSecretSame && entry !== null && known.digest === contentDigest(entry.content)
  return isSame ? 'unchanged' : entry
}

/** Writes the data. @returns CHANGED when the Secret has changed, or the answer of the API server that refuses it */
async function applied(
  { metadata: { name, namespace, uid, resourceVersion } }: Secret,
  data: Readonly<Record<string, string>>,
  { client }: SyncDeps,
): Promise<Secret | string> {
  const object = {
    apiVersion: apiVersionOf(SECRETS),
    kind: SECRETS.kind,
    metadata: { name, namespace, uid, resourceVersion },
    data,
  }
  try {
    return await client.apply<Secret>(SECRETS, object, 'pull')
  } catch (error) {
    // An apply has no test: a 422 that looks like one is a webhook's refusal.
    if (isRefusal(error, true) || isTestFailed(error)) return answerIn(error)
    return changedOr(error)
  }
}

const refusedBy = (answer: string): SyncResult =>
  outOfStep(
    'refused',
    'StoreContentRefused',
    `The API server refuses the data, of which it may say more to who writes them by hand: ${answer}.`,
  )
