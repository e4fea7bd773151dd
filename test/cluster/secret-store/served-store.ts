// The store of a test file with the processes that serve it, and what tests say of entries again and again.
import { afterAll } from 'vitest'
import type { Condition } from '../../../src/api/objects.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { startDelivery } from '../../support/claims/delivery.ts'
import {
  type OwnProcess,
  type ServingOptions,
  startOperator,
} from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import type { KvStore, KvStoreOptions, StoreRequest } from '../../support/kv-store/kv-store.ts'
import { prepareWith } from '../../support/program-or-skip.ts'
import { AFTER_A_ROUND, type StorePlatform, startStorePlatform } from './store-world.ts'

/** A platform with its processes. */
export interface ServedStore extends StorePlatform {
  readonly manager: OwnProcess
  readonly delivery: () => OwnProcess
  /** Ends the delivery process and starts another one. */
  readonly restart: (options?: ServingOptions) => Promise<void>
}

/** How a store is served. */
interface ServedOptions extends KvStoreOptions {
  /** Variables of the manager. */
  readonly env?: Readonly<Record<string, string>>
  /** Of the first delivery process; absent = it trusts the store. */
  readonly delivery?: (store: KvStore) => ServingOptions
}

/** Trusts the store. */
export const trusting = ({ caFile }: Pick<KvStore, 'caFile'>): ServingOptions => ({
  flags: caFile === '' ? [] : [`--secret-store-ca-file=${caFile}`],
})

/** Serves a store before the tests of a file, and ends it after them. @returns what there is once the tests run */
export function serveStore(
  plane: TestControlPlane,
  program: string,
  { env = {}, delivery: optionsOf = trusting, ...options }: ServedOptions = {},
): () => ServedStore {
  let served: ServedStore | undefined
  prepareWith([program], async () => {
    const manager = await startOperator({ kubeconfig: await plane.operatorKubeconfig(), env })
    const platform = await startStorePlatform(plane, program, options)
    let delivery = await startDelivery(plane, optionsOf(platform.store))
    served = {
      ...platform,
      manager,
      delivery: () => delivery,
      restart: async (other = optionsOf(platform.store)) => {
        await delivery.stop()
        delivery = await startDelivery(plane, other)
      },
    }
  })
  afterAll(async () => {
    if (served === undefined) return
    await Promise.all([served.manager.stop(), served.delivery().stop()])
    await served.store[Symbol.asyncDispose]()
  })
  return () => {
    if (served === undefined) throw new Error('the store is not served')
    return served
  }
}

/** Condition SecretStoreReady; null = absent. */
export async function readStoreCondition(plane: TestControlPlane): Promise<Condition | null> {
  const { status } = await settingsOf(plane).read()
  return findCondition(status?.conditions ?? [], 'SecretStoreReady') ?? null
}

/** Requests about an entry. */
export const aboutEntry = (requests: readonly StoreRequest[], path: string) =>
  requests.filter(({ path: asked }) => asked.endsWith(`/${path}`))

/** Waits for a request about an entry. Each look empties the list of requests. */
export const untilAsked = (store: KvStore, path: string): Promise<StoreRequest> =>
  eventually(
    `the store is asked for ${path}`,
    async () => aboutEntry(await store.requests(), path).at(-1),
    AFTER_A_ROUND,
  )
