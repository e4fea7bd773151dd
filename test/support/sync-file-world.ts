// The preamble of a test file of endpoint sync: a virtual cluster, a namespace for its tests, and what must hold at the end.
import { afterAll } from 'vitest'
import type { Pair } from './sync-planes.ts'
import { type Ref, type SeenObject, createPair } from './sync-side.ts'
import { expectOnlyFlows, type SyncPlane, type SyncWorld, syncWorld } from './sync-world.ts'

/** The virtual cluster of a test file with a namespace for its tests. */
interface FileWorld extends Omit<SyncWorld, 'namespace'> {
  /** The namespace in the virtual cluster. */
  readonly namespace: string
  /** As `namespace` of SyncWorld. */
  readonly createNamespace: SyncWorld['namespace']
  /** An object of that namespace. */
  readonly at: (name: string) => Ref
  /** As createPair in the virtual cluster: a Service without selector, and Endpoints with this address. */
  readonly pair: (ref: Ref, ip: string) => Promise<SeenObject>
}

/**
 * As syncWorld, with a namespace. At the end of the file, all that syncers have written in the virtual cluster must be
 * fields that flow back.
 */
export async function fileWorld(planes: Pair<SyncPlane>, toHost: object = {}): Promise<FileWorld> {
  const world = await syncWorld(planes, toHost)
  const namespace = await world.namespace()
  const start = await world.mark()
  afterAll(() => expectOnlyFlows(world, start))
  return {
    ...world,
    namespace,
    createNamespace: world.namespace,
    at: (name) => ({ namespace, name }),
    pair: (ref, ip) => createPair(world.virtual, ref, ip),
  }
}
