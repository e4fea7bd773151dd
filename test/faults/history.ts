import { afterAll } from 'vitest'
import { ACCESS_KEYS, CREATED_ANNOTATION } from '../../src/api/names.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import { jsonLines } from '../../src/kube/informer/ndjson.ts'
import type { StoredKey } from '../cluster/keys/keys.ts'
import { eventually } from '../support/eventually.ts'

/** Every version of every key that was ever stored, not only the last one. */
export interface KeyHistory {
  /** Names of the objects in which a field that is written once had two values by now. */
  rewritten(): Promise<readonly string[]>
}

/** What the operator writes into an object once, for as long as that lives (contract 2.8, 3.1). */
const WRITTEN_ONCE: readonly ((key: StoredKey) => string | undefined)[] = [
  ({ spec }) => spec.key,
  ({ metadata }) => metadata.annotations?.[CREATED_ANNOTATION],
]

/**
 * Records by a watch of the admin's, which gets each revision that etcd has, until the last test of
 * the file. The API server must not be stopped meanwhile.
 */
export async function recordKeys(admin: KubeClient): Promise<KeyHistory> {
  const ending = new AbortController()
  afterAll(() => ending.abort())
  const allDay = { watch: 'true', timeoutSeconds: '86400' }
  // The storage of a kind that is new is not there at once.
  const stream = await eventually(
    'the watch of the keys is open',
    () => admin.watch(ACCESS_KEYS, allDay, undefined, ending.signal),
    SOON,
  )
  const versions: StoredKey[] = []
  const reading = { hasEnded: false }
  const read = async (): Promise<void> => {
    for await (const event of jsonLines(stream, () => undefined)) {
      versions.push((event as { readonly object: StoredKey }).object)
    }
  }
  void read()
    .catch(() => undefined)
    .then(() => (reading.hasEnded = true))
  return {
    rewritten: async () => {
      await eventually('the record is complete', () => hasAllOf(admin, versions), SOON)
      if (reading.hasEnded) throw new Error('the watch that records the keys has ended')
      const objects = Map.groupBy(versions, ({ metadata }) => metadata.uid).values()
      return [...objects].flatMap((object) => (isRewritten(object) ? nameOf(object) : []))
    },
  }
}

const SOON = { withinMs: 10_000 }
const MORE_THAN_THERE_ARE = 10_000

async function hasAllOf(
  admin: KubeClient,
  versions: readonly StoredKey[],
): Promise<true | undefined> {
  const { items } = await admin.list(ACCESS_KEYS, {}, MORE_THAN_THERE_ARE)
  const recorded = new Set(versions.map(({ metadata }) => metadata.resourceVersion))
  return items.every(({ metadata }) => recorded.has(metadata.resourceVersion)) || undefined
}

function isRewritten(object: readonly StoredKey[]): boolean {
  return WRITTEN_ONCE.some((fieldOf) => {
    // Not there yet is no value; gone again would be another one.
    const values = object.map(fieldOf)
    return new Set(values.slice(values.findIndex((value) => value !== undefined))).size > 1
  })
}

const nameOf = ([version]: readonly StoredKey[]): readonly string[] =>
  version ? [version.metadata.name] : []
