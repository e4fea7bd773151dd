// Several managers at once, and managers that crash between two writes (contract 7.3, 8.6).
import { describe, expect, test } from 'vitest'
import { ROTATE_ANNOTATION, WITHDRAW_ANNOTATION } from '../../../../src/api/names.ts'
import { isConflict } from '../../../../src/kube/client/api-error.ts'
import { DAY_MS, type Manager, T0, type Cluster, newCluster } from './signing-key-cluster.ts'

/** One reconcile of each manager on caches of the same age; a conflict is no failure. */
async function stepTogether(managers: readonly Manager[]): Promise<void> {
  for (const { sync } of managers) sync()
  const steps = await Promise.allSettled(managers.map(({ reconcile }) => reconcile()))
  for (const reconcile of steps) {
    if (reconcile.status === 'rejected' && !isConflict(reconcile.reason)) throw reconcile.reason
  }
}

const writesOf = (managers: readonly Manager[]) => managers.flatMap(({ writes }) => writes).sort()

test('two managers on an empty cluster create one key together (7.3, 8.6)', async () => {
  const cluster = newCluster()
  const managers = [cluster.startManager(), cluster.startManager()]
  for (let round = 0; round < 10; round += 1) await stepTogether(managers)
  expect(writesOf(managers)).toEqual([
    'create ConfigMap platform-jwks',
    'create Secret platform-signing-key-1',
  ])
  expect([cluster.publishedGenerations(), cluster.secretGenerations()]).toEqual([[1], [1]])
  expect(managers.map(({ signingGeneration }) => signingGeneration())).toEqual([1, 1])
})

test.each([
  { name: 'half life', annotation: null },
  { name: 'rotate', annotation: ROTATE_ANNOTATION },
  { name: 'withdraw', annotation: WITHDRAW_ANNOTATION },
])(
  'two managers at $name create one key, with one event (7.3, 4.5, 8.6)',
  async ({ annotation }) => {
    const cluster = newCluster()
    const managers = [cluster.startManager(), cluster.startManager()]
    for (let round = 0; round < 5; round += 1) await stepTogether(managers)
    if (annotation === null) cluster.clock.setNow(T0 + 15 * DAY_MS)
    else cluster.annotateConfigMap({ [annotation]: cluster.kidOf(1) })
    for (let round = 0; round < 10; round += 1) await stepTogether(managers)
    const isWithdrawn = annotation === WITHDRAW_ANNOTATION
    expect(cluster.publishedGenerations()).toEqual(isWithdrawn ? [2] : [1, 2])
    expect(cluster.secretGenerations()).toEqual(isWithdrawn ? [2] : [1, 2])
    expect(managers.map(({ signingGeneration }) => signingGeneration())).toEqual(
      isWithdrawn ? [2, 2] : [1, 1],
    )
    const events = managers.flatMap((manager) =>
      manager.events.map(({ reason, discriminator }) => `${reason} ${discriminator}`),
    )
    expect(events).toHaveLength(isWithdrawn ? 2 : 1)
    expect(new Set(events).size).toBe(events.length)
  },
)

test('a manager with unsynced caches takes no key for lost (7.3)', async () => {
  const cluster = newCluster()
  const unsynced = cluster.startManager()
  expect(await unsynced.reconcile()).toEqual({ result: 'done' })
  expect(unsynced.writes).toEqual([])
  await unsynced.settle()
  expect(unsynced.signingGeneration()).toBe(1)
})

test('a manager with stale caches writes nothing (7.3, 8.6)', async () => {
  const cluster = newCluster()
  const stale = cluster.startManager()
  await stale.settle()
  const current = cluster.startManager()
  cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: cluster.kidOf(1) })
  await current.settle()
  const after = structuredClone({
    configMap: cluster.configMap(),
    secretGenerations: cluster.secretGenerations(),
  })
  cluster.clock.setNow(T0 + 15 * DAY_MS)
  stale.writes.length = 0
  // For its caches the next key is missing, but the API server has a Secret of that generation.
  await Promise.allSettled([stale.reconcile(), stale.reconcile()])
  expect(stale.writes).toEqual([])
  expect(
    structuredClone({
      configMap: cluster.configMap(),
      secretGenerations: cluster.secretGenerations(),
    }),
  ).toEqual(after)
})

interface Scenario {
  readonly name: string
  /** Brings the cluster to the state before the writes. */
  readonly prepare: (cluster: Cluster) => Promise<void>
  readonly writes: number
  readonly expected: {
    readonly publishedGenerations: number[]
    readonly secretGenerations: number[]
    readonly signingGeneration: number
  }
}

const scenarios: readonly Scenario[] = [
  {
    name: 'the first key',
    writes: 2,
    prepare: () => Promise.resolve(),
    expected: { publishedGenerations: [1], secretGenerations: [1], signingGeneration: 1 },
  },
  {
    name: 'the next key',
    writes: 2,
    prepare: async (cluster) => {
      await cluster.startManager().settle()
      cluster.clock.setNow(T0 + 15 * DAY_MS)
    },
    expected: { publishedGenerations: [1, 2], secretGenerations: [1, 2], signingGeneration: 1 },
  },
  {
    name: 'retirement',
    writes: 2,
    prepare: async (cluster) => {
      for (const day of [0, 15, 26]) {
        cluster.clock.setNow(T0 + day * DAY_MS)
        await cluster.startManager().settle()
      }
      cluster.clock.setNow(T0 + 27 * DAY_MS)
    },
    expected: { publishedGenerations: [2], secretGenerations: [2], signingGeneration: 2 },
  },
  {
    name: 'rotation',
    writes: 2,
    prepare: async (cluster) => {
      await cluster.startManager().settle()
      cluster.annotateConfigMap({ [ROTATE_ANNOTATION]: '' })
    },
    expected: { publishedGenerations: [1, 2], secretGenerations: [1, 2], signingGeneration: 1 },
  },
  {
    name: 'withdrawal',
    writes: 4,
    prepare: async (cluster) => {
      await cluster.startManager().settle()
      cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: cluster.kidOf(1) })
    },
    expected: { publishedGenerations: [2], secretGenerations: [2], signingGeneration: 2 },
  },
]

describe.each(scenarios)('$name', ({ prepare, writes, expected }) => {
  test.each(['before', 'after'] as const)('a crash %s each write (7.3, 8.6)', async (point) => {
    let crashes = 0
    for (let isOver = false; !isOver; ) {
      const cluster = newCluster()
      await prepare(cluster)
      const crashing = cluster.startManager()
      let count = 0
      crashing.writeHooks[point] = () => {
        if (count === crashes) throw new Error('killed')
        count += 1
      }
      isOver = await crashing.settle().then(
        () => true,
        () => false,
      )
      const next = cluster.startManager()
      await next.settle()
      expect({
        publishedGenerations: cluster.publishedGenerations(),
        secretGenerations: cluster.secretGenerations(),
        signingGeneration: next.signingGeneration(),
      }).toEqual(expected)
      next.writes.length = 0
      await next.settle()
      expect(next.writes).toEqual([])
      if (!isOver) crashes += 1
    }
    expect(crashes).toBe(writes)
  })
})
