// Records all versions of the objects of a collection, by a watch.
import { afterAll } from 'vitest'
import type { Resource } from '../../src/api/names.ts'
import type { KubeObject } from '../../src/api/objects.ts'
import type { KubeClient } from '../../src/kube/client/client.ts'
import { jsonLines } from '../../src/kube/client/request.ts'
import { eventually } from './eventually.ts'

/** A version of an object, as the watch has sent it: of a deleted one the last, with the revision of its deletion. */
export interface ObjectVersion<T extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: T
}

const SOON = { withinMs: 10_000 }
const LIST_LIMIT = 10_000

/**
 * Records until the last test of the file; the API server must not stop meanwhile. The returned function waits until the record
 * has what the collection has now, and nothing else as living.
 */
export async function recordVersions<T extends KubeObject>(
  admin: KubeClient,
  resource: Resource,
  namespace?: string,
): Promise<() => Promise<readonly ObjectVersion<T>[]>> {
  const ending = new AbortController()
  afterAll(() => ending.abort())
  const query = { watch: 'true', timeoutSeconds: '86400' }
  // A new CRD is not served at once.
  const stream = await eventually(
    `the watch of ${resource.plural} is open`,
    () => admin.watch(resource, query, namespace, ending.signal),
    SOON,
  )
  const versions: ObjectVersion<T>[] = []
  const reading = { hasEnded: false }
  const read = async (): Promise<void> => {
    for await (const event of jsonLines(stream, () => undefined))
      versions.push(event as ObjectVersion<T>)
  }
  void read()
    .catch(() => undefined)
    .then(() => (reading.hasEnded = true))
  const isComplete = async (): Promise<true | undefined> => {
    const scope = namespace === undefined ? {} : { namespace }
    const { items } = await admin.list(resource, scope, LIST_LIMIT)
    const living = livingIn(versions)
    const areSeen = items.every(
      ({ metadata: { uid, resourceVersion } }) => living.get(uid) === resourceVersion,
    )
    return (areSeen && living.size === items.length) || undefined
  }
  return async () => {
    await eventually(`the record of ${resource.plural} is complete`, isComplete, SOON)
    if (reading.hasEnded) throw new Error(`the watch of ${resource.plural} has ended`)
    return versions
  }
}

/** The last resourceVersion of each object that is not deleted, by uid. */
function livingIn(versions: readonly ObjectVersion[]): ReadonlyMap<string, string> {
  const living = new Map<string, string>()
  for (const { type, object } of versions) {
    const { uid, resourceVersion } = object.metadata
    if (type === 'DELETED') living.delete(uid)
    else living.set(uid, resourceVersion)
  }
  return living
}

/** The revision of a version: larger means later, also between collections. */
export const revisionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion)
