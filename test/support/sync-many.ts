// Many Endpoints with three patches each, beside the same without patches: throughput and CPU are printed.
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { eventually } from './eventually.ts'
import { metric } from './metrics-page.ts'
import type { Pair } from './sync-planes.ts'
import { type Ref, SELECTORLESS } from './sync-side.ts'
import { NO_WRITES, type SyncWorld, type Syncer, type SyncPlane, syncWorld } from './sync-world.ts'

const PROGRESS = { withinMs: 60_000 }
const WRITERS = 8
const LOOK_EVERY_MS = 200

const BACKEND = 'metadata.annotations["example.com/backend"]'
const NUMBER = 'metadata.annotations["example.com/number"]'
const PATCHES = [
  { path: BACKEND, expression: 'virtualToHostDNS(value)' },
  { path: 'subsets[*].ports[*].name', expression: '"shop-" + value' },
  { path: NUMBER, expression: '"number " + value' },
]

/** The steps of a test with many objects. */
interface ManyEndpoints {
  /**
   * Syncs them without patches and with three each, changes one of them and starts a syncer again. Prints throughput and
   * CPU of the first two.
   */
  readonly syncAll: () => Promise<void>
}

/** Two virtual clusters of the same objects, one of them with patches. Call it while the test file loads. */
export async function manyEndpoints(
  planes: Pair<SyncPlane>,
  count: number,
): Promise<ManyEndpoints> {
  const plain = await syncWorld(planes)
  const patched = await syncWorld(planes, { endpoints: { patches: PATCHES } })
  const namespace = await plain.namespace()
  const refs = Array.from({ length: count }, (_, n) => ({ namespace, name: `database-${n}` }))
  return { syncAll: () => syncTwice(plain, patched, refs) }
}

/** The address of the nth Endpoints. */
const addressOf = (n: number): string => `10.1.${n >> 8}.${n & 255}`

async function createAll({ virtual }: SyncWorld, refs: readonly Ref[]): Promise<void> {
  const left = refs.entries()
  const write = async (): Promise<void> => {
    for (const [n, ref] of left) {
      await virtual.create(SERVICES, ref, SELECTORLESS)
      await virtual.create(ENDPOINTS, ref, {
        metadata: {
          annotations: { 'example.com/backend': 'postgres.data.svc', 'example.com/number': `${n}` },
        },
        subsets: [{ addresses: [{ ip: addressOf(n) }], ports: [{ name: 'sql', port: 5432 }] }],
      })
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, write))
}

interface Run {
  readonly syncer: Syncer
  readonly seconds: number
  readonly cpuSeconds: number
}

/** Starts a syncer, and measures until all objects are on the host. */
async function measured(world: SyncWorld, count: number): Promise<Run> {
  const syncer = await world.start()
  const startedMs = performance.now()
  const before = await metric(syncer, 'process_cpu_seconds_total')
  const synced = (kind: string): Promise<number> =>
    metric(syncer, 'platform_sync_objects', `kind="${kind}"`, 'state="synced"')
  const inStep = async () => Math.min(await synced('Endpoints'), await synced('Service'))
  await reaches(count, inStep)
  const seconds = (performance.now() - startedMs) / 1000
  return {
    syncer,
    seconds,
    cpuSeconds: (await metric(syncer, 'process_cpu_seconds_total')) - before,
  }
}

/** Waits until this many objects are in step, however long it takes; fails when their number stops growing. */
async function reaches(count: number, inStep: () => Promise<number>): Promise<void> {
  for (let most = 0; most < count; ) {
    most = await eventually(
      `more than ${most} of ${count} Endpoints and Services are in step`,
      async () => {
        // Each look counts all objects, which costs the syncer time: look seldom.
        await delay(LOOK_EVERY_MS)
        const now = await inStep()
        return now > most ? now : undefined
      },
      PROGRESS,
    )
  }
}

const evaluations = (syncer: Syncer): Promise<number> =>
  metric(syncer, 'platform_patch_evaluations_total')

const rowOf = (name: string, count: number, { seconds, cpuSeconds }: Run): string =>
  `${name}: ${(count / seconds).toFixed(0)} Endpoints and Services a second, ${((cpuSeconds / count) * 1000).toFixed(2)} ms of CPU for each`

async function syncTwice(
  plain: SyncWorld,
  patched: SyncWorld,
  refs: readonly Ref[],
): Promise<void> {
  const [first] = refs
  if (first === undefined) throw new Error('there are no objects')
  const count = refs.length
  await createAll(plain, refs)
  const without = await measured(plain, count)
  await without.syncer.stop()
  const withPatches = await measured(patched, count)
  const { syncer } = withPatches
  const rows = [rowOf('no patches', count, without), rowOf('three patches', count, withPatches)]
  console.log(`${count} objects; ${rows.join('; ')}`)

  const all = count * PATCHES.length
  const evaluated = await evaluations(syncer)
  // An object whose patches overran on a busy machine is tried again.
  expect(evaluated).toBeGreaterThanOrEqual(all)
  expect(evaluated).toBeLessThan(all * 1.02 + 3)
  const backend = `postgres-x-data-x-${patched.virtualCluster}.${patched.hostNamespace}.svc.cluster.local`
  expect(await patched.host.get(ENDPOINTS, patched.hostRef(first))).toMatchObject({
    metadata: { annotations: { 'example.com/backend': backend, 'example.com/number': 'number 0' } },
    subsets: [{ ports: [{ name: 'shop-sql' }] }],
  })

  const changed = { metadata: { annotations: { 'example.com/number': 'changed' } } }
  await patched.virtual.patch(ENDPOINTS, first, changed)
  await patched.host.shows(ENDPOINTS, patched.hostRef(first), {
    metadata: { annotations: { 'example.com/number': 'number changed' } },
  })
  const after = await evaluations(syncer)
  expect(after - evaluated, 'the two fields that stayed are not evaluated again').toBe(1)

  await syncer.stop()
  const mark = await patched.mark()
  const { syncer: restarted } = await measured(patched, count)
  await patched.caughtUp(restarted)
  expect(await patched.writesSince(mark)).toEqual(NO_WRITES)
}
