// The lifecycle of signing keys on a manual clock (contract 7.3).
import { expect, test } from 'vitest'
import { ROTATE_ANNOTATION, WITHDRAW_ANNOTATION } from '../../../../src/api/names.ts'
import {
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  type Manager,
  T0,
  type Cluster,
  newCluster,
} from './signing-key-cluster.ts'

/** Time since T0, written as `15d`, `25d 2h` or `10m`. */
function age(cluster: Cluster): string {
  const ms = cluster.clock.nowMs() - T0
  const parts = [
    [Math.floor(ms / DAY_MS), 'd'],
    [Math.floor((ms % DAY_MS) / HOUR_MS), 'h'],
    [(ms % HOUR_MS) / MINUTE_MS, 'm'],
  ] as const
  return (
    parts
      .filter(([count]) => count > 0)
      .map(([count, unit]) => `${count}${unit}`)
      .join(' ') || '0'
  )
}

/** Generations of the keys: which one signs, which are published, which have Secrets. */
const state = (cluster: Cluster, manager: Manager): string =>
  `${age(cluster)}: signs ${manager.signingGeneration()}, published ${cluster.publishedGenerations().join(' ')}, held ${cluster.secretGenerations().join(' ')}`

/** Runs a manager until that time after T0; gives the state after each change. */
async function runUntil(
  cluster: Cluster,
  manager: Manager,
  untilMs: number,
): Promise<readonly string[]> {
  const states: string[] = []
  for (;;) {
    const nextMs = await manager.settle()
    const now = state(cluster, manager)
    const before = states.at(-1)?.replace(/^.*?: /, '')
    if (before !== now.replace(/^.*?: /, '')) states.push(now)
    if (nextMs > T0 + untilMs) return states
    cluster.clock.setNow(nextMs)
  }
}

test('a key is published at half of its lifetime, signs from five sixths, and is removed 24 h after the last exp (7.3, 2.4)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  const events: string[] = []
  manager.keyring.subscribe(() => events.push(`${age(cluster)}: ${manager.signingGeneration()}`))
  const states = await runUntil(cluster, manager, 61 * DAY_MS)
  expect(states).toEqual([
    '0: signs 1, published 1, held 1',
    '15d: signs 1, published 1 2, held 1 2',
    '25d: signs 2, published 1 2, held 1 2',
    '27d: signs 2, published 2, held 2',
    '30d: signs 2, published 2 3, held 2 3',
    '40d: signs 3, published 2 3, held 2 3',
    '42d: signs 3, published 3, held 3',
    '45d: signs 3, published 3 4, held 3 4',
    '55d: signs 4, published 3 4, held 3 4',
    '57d: signs 4, published 4, held 4',
    '60d: signs 4, published 4 5, held 4 5',
  ])
  expect(events).toEqual(['0: 1', '25d: 2', '40d: 3', '55d: 4'])
})

test('a lower --token-max-ttl keeps the keys of issued tokens published (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager({ tokenMaxTtlMs: 5 * DAY_MS })
  await runUntil(cluster, manager, 26 * DAY_MS)
  manager.settings.tokenMaxTtlMs = HOUR_MS
  const retired = cluster.kidOf(1)
  manager.settings.lastExpMs = (kid) => (kid === retired ? T0 + 29 * DAY_MS : null)
  expect(await runUntil(cluster, manager, 31 * DAY_MS)).toEqual([
    '25d: signs 2, published 1 2, held 1 2',
    '30d: signs 2, published 2 3, held 2 3',
  ])
})

test('the rotate annotation: the next key signs ten minutes after it was published (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await runUntil(cluster, manager, DAY_MS)
  cluster.annotateConfigMap({ [ROTATE_ANNOTATION]: 'now', 'example.com/other': 'stays' })
  expect(await runUntil(cluster, manager, 4 * DAY_MS)).toEqual([
    '10m: signs 1, published 1 2, held 1 2',
    '20m: signs 2, published 1 2, held 1 2',
    '2d 20m: signs 2, published 2, held 2',
  ])
  expect(cluster.configMap()?.metadata.annotations).toEqual({ 'example.com/other': 'stays' })
})

test('the rotate annotation: a next key that is already published signs at once (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await runUntil(cluster, manager, 16 * DAY_MS)
  cluster.clock.setNow(T0 + 16 * DAY_MS)
  cluster.annotateConfigMap({ [ROTATE_ANNOTATION]: '' })
  expect(await runUntil(cluster, manager, 17 * DAY_MS)).toEqual([
    '16d: signs 2, published 1 2, held 1 2',
  ])
})

test('the rotate annotation, repeated: the second one joins the rotation in progress (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await runUntil(cluster, manager, HOUR_MS)
  cluster.annotateConfigMap({ [ROTATE_ANNOTATION]: '' })
  await manager.settle()
  cluster.annotateConfigMap({ [ROTATE_ANNOTATION]: '' })
  await manager.settle()
  expect(cluster.secretGenerations()).toEqual([1, 2])
  expect(cluster.configMap()?.metadata.annotations).toEqual({})
})

test('a change of the algorithm rotates, and so does changing it back (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await runUntil(cluster, manager, DAY_MS)
  manager.settings.algorithm = 'RS256'
  expect(await runUntil(cluster, manager, 3 * DAY_MS)).toEqual([
    '10m: signs 1, published 1 2, held 1 2',
    '20m: signs 2, published 1 2, held 1 2',
    '2d 20m: signs 2, published 2, held 2',
  ])
  expect(manager.keyring.current()?.algorithm).toBe('RS256')
  manager.settings.algorithm = 'ES256'
  cluster.clock.setNow(T0 + 3 * DAY_MS)
  expect(await runUntil(cluster, manager, 4 * DAY_MS)).toEqual([
    '3d: signs 2, published 2 3, held 2 3',
    '3d 10m: signs 3, published 2 3, held 2 3',
  ])
})

test('a change of the algorithm skips the next key of the old algorithm (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await runUntil(cluster, manager, 16 * DAY_MS)
  cluster.clock.setNow(T0 + 16 * DAY_MS)
  manager.settings.algorithm = 'RS256'
  expect(await runUntil(cluster, manager, 19 * DAY_MS)).toEqual([
    '16d: signs 1, published 1 2 3, held 1 2 3',
    '16d 10m: signs 3, published 1 2 3, held 1 2 3',
    '18d 10m: signs 3, published 3, held 3',
  ])
})

test('the withdraw annotation: the key and its Secret are removed at once, the next key signs (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await runUntil(cluster, manager, 16 * DAY_MS)
  cluster.clock.setNow(T0 + 16 * DAY_MS)
  const withdrawnKids = cluster.kidOf(1)
  cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: withdrawnKids })
  expect(await runUntil(cluster, manager, 17 * DAY_MS)).toEqual([
    '16d: signs 2, published 2, held 2',
  ])
  expect(manager.keyring.isWithdrawn(withdrawnKids)).toBe(true)
  expect(cluster.configMap()?.metadata.annotations).toEqual({})
})

test('the withdraw annotation on the only key: a new key is created and signs at once (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await manager.settle()
  cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: ` ${cluster.kidOf(1)}\n` })
  manager.writes.length = 0
  expect(await runUntil(cluster, manager, 0)).toEqual(['0: signs 2, published 2, held 2'])
  expect(manager.writes).toEqual([
    'replace ConfigMap platform-jwks',
    'create Secret platform-signing-key-2',
    'replace ConfigMap platform-jwks',
    'delete Secret platform-signing-key-1',
  ])
})

test('both annotations: the withdrawal comes first, then the rotation (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await manager.settle()
  cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: cluster.kidOf(1), [ROTATE_ANNOTATION]: '' })
  expect(await runUntil(cluster, manager, HOUR_MS)).toEqual([
    '0: signs 2, published 2 3, held 2 3',
    '10m: signs 3, published 2 3, held 2 3',
  ])
})

test('a withdrawn key stays marked until all of its tokens have ended, even if its Secret is restored (7.3)', async () => {
  const cluster = newCluster()
  const manager = cluster.startManager()
  await manager.settle()
  const backup = cluster.secrets.get('platform-signing-key-1')
  cluster.annotateConfigMap({ [WITHDRAW_ANNOTATION]: cluster.kidOf(1) })
  const lastMs = 36 * DAY_MS
  await runUntil(cluster, manager, lastMs - MINUTE_MS)
  expect(cluster.withdrawnGenerations()).toEqual([1])
  cluster.putSecret(1, backup ?? null)
  await manager.settle()
  expect([
    cluster.publishedGenerations().includes(1),
    cluster.secretGenerations().includes(1),
  ]).toEqual([false, false])
  await runUntil(cluster, manager, lastMs)
  expect(cluster.withdrawnGenerations()).toEqual([])
})

test('a manager that starts late does overdue rotations at once (7.3)', async () => {
  const cluster = newCluster()
  await cluster.startManager().settle()
  cluster.clock.setNow(T0 + 33 * DAY_MS)
  expect(await runUntil(cluster, cluster.startManager(), 36 * DAY_MS)).toEqual([
    '33d: signs 1, published 1 2, held 1 2',
    '33d 10m: signs 2, published 1 2, held 1 2',
    '35d 10m: signs 2, published 2, held 2',
  ])
})

test('a clock set back keeps signing, and a clock that was ahead delays rotations by ten minutes at most (2.9, 7.3)', async () => {
  const cluster = newCluster()
  await cluster.startManager().settle()
  cluster.clock.setNow(T0 - DAY_MS)
  const behind = cluster.startManager()
  await behind.settle()
  expect(behind.signingGeneration()).toBe(1)
  const ahead = newCluster()
  await ahead.startManager().settle()
  ahead.clock.setNow(T0 + 400 * DAY_MS)
  const manager = ahead.startManager()
  await manager.settle()
  expect([manager.signingGeneration(), ahead.publishedGenerations()]).toEqual([1, [1, 2]])
  ahead.clock.setNow(T0 + 16 * DAY_MS)
  const mended = ahead.startManager()
  await mended.settle()
  ahead.clock.setNow(T0 + 25 * DAY_MS)
  await mended.settle()
  expect(mended.signingGeneration()).toBe(2)
})
