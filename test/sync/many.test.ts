// Many Endpoints with three patches each, beside the same without patches: throughput and CPU are printed.
import { expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { eventually } from '../support/eventually.ts'
import { metric } from '../support/metrics-page.ts'
import { SELECTORLESS } from '../support/sync-side.ts'
import {
  NO_WRITES,
  type SyncWorld,
  type Syncer,
  syncPlanes,
  syncWorld,
} from '../support/sync-world.ts'
import { repeated } from '../support/tier.ts'

const COUNT = repeated(300, 5000)
const MINUTES = { timeout: 10 * 60_000 }
const SYNCED = { withinMs: 5 * 60_000 }
const WRITERS = 8

const BACKEND = 'metadata.annotations["example.com/backend"]'
const NUMBER = 'metadata.annotations["example.com/number"]'
const PATCHES = [
  { path: BACKEND, expression: 'virtualToHostDNS(value)' },
  { path: 'subsets[*].ports[*].name', expression: '"shop-" + value' },
  { path: NUMBER, expression: '"number " + value' },
]

const planes = await syncPlanes()
const plain = await syncWorld(planes)
const patched = await syncWorld(planes, { endpoints: { patches: PATCHES } })
const namespace = await plain.namespace()
const refs = Array.from({ length: COUNT }, (_, n) => ({ namespace, name: `database-${n}` }))

/** The address of the nth Endpoints. */
const addressOf = (n: number): string => `10.1.${n >> 8}.${n & 255}`

async function createAll(): Promise<void> {
  const left = refs.entries()
  const write = async (): Promise<void> => {
    for (const [n, ref] of left) {
      await plain.virtual.create(SERVICES, ref, SELECTORLESS)
      await plain.virtual.create(ENDPOINTS, ref, {
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
async function syncAll(world: SyncWorld): Promise<Run> {
  const syncer = await world.start()
  const startedMs = performance.now()
  const before = await metric(syncer, 'process_cpu_seconds_total')
  const synced = (kind: string): Promise<number> =>
    metric(syncer, 'platform_sync_objects', `kind="${kind}"`, 'state="synced"')
  const areSynced = async () =>
    Math.min(await synced('Endpoints'), await synced('Service')) >= COUNT || undefined
  await eventually('all Endpoints and Services are synced', areSynced, SYNCED)
  const seconds = (performance.now() - startedMs) / 1000
  return {
    syncer,
    seconds,
    cpuSeconds: (await metric(syncer, 'process_cpu_seconds_total')) - before,
  }
}

const evaluations = (syncer: Syncer): Promise<number> =>
  metric(syncer, 'platform_patch_evaluations_total')

const rowOf = (name: string, { seconds, cpuSeconds }: Run): string =>
  `${name}: ${(COUNT / seconds).toFixed(0)} Endpoints and Services a second, ${((cpuSeconds / COUNT) * 1000).toFixed(2)} ms of CPU for each`

test(
  'each patch of each object is evaluated once, a change only its own, a restart writes nothing (19.7, 20)',
  MINUTES,
  async () => {
    await createAll()
    const without = await syncAll(plain)
    await without.syncer.stop()
    const withPatches = await syncAll(patched)
    const { syncer } = withPatches
    console.log(
      `${COUNT} objects; ${rowOf('no patches', without)}; ${rowOf('three patches', withPatches)}`,
    )

    const all = refs.length * PATCHES.length
    const evaluated = await evaluations(syncer)
    // One that overran on a busy machine is tried again.
    expect(evaluated).toBeGreaterThanOrEqual(all)
    expect(evaluated).toBeLessThan(all * 1.02 + 3)
    const [first] = refs
    if (first === undefined) throw new Error('there are no objects')
    expect(await patched.host.get(ENDPOINTS, patched.hostRef(first))).toMatchObject({
      metadata: {
        annotations: {
          'example.com/backend': `postgres-x-data-x-${patched.virtualCluster}.${patched.hostNamespace}.svc.cluster.local`,
          'example.com/number': 'number 0',
        },
      },
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
    const { syncer: restarted } = await syncAll(patched)
    await patched.caughtUp(restarted)
    expect(await patched.writesSince(mark)).toEqual(NO_WRITES)
  },
)
