// Faults around the operator: of the API server, watches, etcd history, CRDs and the operator's token. One operator
// runs through all of them, while a standby with frozen watches takes a minute and a half to detect its silence.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS } from '../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../src/api/ownedaccesskey.gen.ts'
import { findCondition } from '../../src/domain/conditions.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { type StoredKey, endingSoon, keyClientOf } from '../cluster/keys/key-client.ts'
import {
  type LogLine,
  type Operator,
  type OwnOperator,
  startOperator,
} from '../support/command-process.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../support/eventually.ts'
import { type Match, type Rule, isWrite, refusal, startProxy } from '../support/fault-proxy.ts'
import { uniqueName } from '../support/object-builder.ts'
import { inWhole, rounds, sampled } from '../support/tier.ts'
import {
  type Manager,
  LONG_LEASE,
  freeLease,
  holdLease,
  startManager,
  untilItLeads,
} from './competing-managers.ts'
import { crdFaultsOf, tokenFaultsOf } from './cluster-faults.ts'
import { heldAtRevision } from './held-watches.ts'
import {
  allRestarts,
  storedKeyCount,
  isWatch,
  restartsFor,
  writesAtRest,
} from './operator-observations.ts'
import {
  expectCleanExit,
  expectNoUncaughtErrors,
  keysStuckInDeletion,
  expectHealthy,
  expectHealthyDuring,
} from './operator-crash.ts'
import { configPoints } from './write-points.ts'

const plane = await ownControlPlane()
const { apiServer } = plane
const own = await plane.operatorKubeconfig()
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const kubeconfig = await proxy.kubeconfig(own)
const keys = keyClientOf(plane)
const [{ trigger: declareCap, completed: capHolds }] = configPoints(plane).declared
const crds = crdFaultsOf(plane)
const tokens = tokenFaultsOf(plane)

const SOON = { withinMs: 20_000 }
/** From the readiness of the API server to the correct state: the longest back-off is 15 s. */
const RECOVERED = { withinMs: 30_000 }
/** Bookmarks arrive once a minute; the reflector waits for half a minute more. */
const SILENCE_DETECTED = { withinMs: 150_000 }

let operator: OwnOperator
beforeAll(async () => {
  operator = await startOperator({ kubeconfig })
})
afterAll(() => operator.stop())

describe.each(rounds)('round %i: with a standby whose watches are frozen', () => {
  let standby: Manager
  beforeAll(async () => {
    await holdLease(plane)
    standby = await startManager(plane, own, LONG_LEASE, 'standby')
    await eventuallyPasses('the standby is ready', () => expectReady(standby.operator), SOON)
    standby.proxy.freeze(isWatch)
  })
  afterAll(() => standby[Symbol.asyncDispose]())

  test('the operator recovers when the CRDs are deleted and installed again (6.5, 8.2)', async () => {
    await declareCap()
    await capHolds()
    await adoptsNewKey()
    await crds.remove()
    const [started] = await Promise.all([
      startManager(plane, own, LONG_LEASE, 'standby'),
      eventuallyPasses('readiness names the missing CRDs', () => expectMissingCrds(operator), SOON),
    ])
    await using late = started
    await expectHealthy(operator)
    await eventuallyPasses(
      'readiness of a new standby names the missing CRDs',
      () => expectMissingCrds(late.operator),
      SOON,
    )
    await crds.install()
    await eventuallyPasses('the operator is ready again', () => expectReady(operator), SOON)
    await eventuallyPasses('the new standby is ready', () => expectReady(late.operator), SOON)
    await capHolds()
    await adoptsNewKey()
    expectNoUncaughtErrors(operator)
    await expectCleanExit(late.operator)
  })

  describe('with one key whose adoption always fails', () => {
    const unadopted = uniqueName('unadopted')
    let adoptionFault: Rule
    beforeAll(async () => {
      const path = pathOf(ACCESS_KEYS, { name: unadopted })
      const isItsAdoption: Match = (request) => isWrite(request) && request.path.startsWith(path)
      adoptionFault = proxy.on(isItsAdoption, refusal(503))
      await keys.create({}, { name: unadopted })
    })

    // biome-ignore format: a table
    const outages = [
      { name: 'is restarted', down: () => apiServer.stop(), up: () => apiServer.start(), lastsMs: 3000 },
      { name: 'is killed', down: () => apiServer.stop('SIGKILL'), up: () => apiServer.start(), lastsMs: 3000 },
      { name: 'is suspended for 20 s', down: () => signalApiServer('SIGSTOP'), up: () => signalApiServer('SIGCONT'), lastsMs: 20_000 },
    ]
    test.each(sampled(outages, 3, 1))(
      'expires keys on time while the API server $name (2.7, 8.2)',
      async ({ down, up, lastsMs }) => {
        const [expiring, login] = await Promise.all([
          expiringSoon(),
          expiringSoon({ type: 'Login' }),
          adoptsNewKey(),
        ])
        await expectHealthyDuring(operator, async () => {
          const interrupted = await keys.create()
          await down()
          await staysTrue('the operator is healthy', () => expectHealthy(operator), {
            forMs: lastsMs,
          })
          await up()
          await Promise.all([
            becomes(expiring, 'Expired'),
            becomes(login, null),
            becomes(interrupted, 'Active'),
            adoptsNewKey(),
          ])
        })
        expectNoUncaughtErrors(operator)
      },
    )

    test.each(inWhole('reopens watches whose connections break'))('%s', async () => {
      const busy = [ACCESS_KEYS, CONFIGS]
      await adoptsNewKey()
      await declareCap()
      await capHolds()
      const before = await restartsFor('failed', operator, busy)
      proxy.cut(isWatch)
      await eventuallyPasses(
        'the watches are restarted',
        async () => {
          for (const [index, count] of (await restartsFor('failed', operator, busy)).entries())
            expect(count).toBeGreaterThan(before[index] ?? 0)
        },
        SOON,
      )
      await adoptsNewKey()
      await declareCap()
      await capHolds()
      expectNoUncaughtErrors(operator)
    })

    test('reopens the watch of keys that a change of their schema closes', async () => {
      await adoptsNewKey()
      const [before = 0] = await restartsFor('closed', operator, [ACCESS_KEYS])
      await crds.changeSchema()
      await eventuallyPasses(
        'the watch is restarted',
        async () => {
          const [now] = await restartsFor('closed', operator, [ACCESS_KEYS])
          expect(now).toBeGreaterThan(before)
        },
        SOON,
      )
      await adoptsNewKey()
      expectNoUncaughtErrors(operator)
    })

    test('relists after a 410 when etcd is compacted while its watches are held (2.5, 3.3)', async () => {
      const given = { key: uniqueName('k'.repeat(32)) }
      const pair = await Promise.all([keys.create(given), keys.create(given)])
      const [older, younger] = await eventually(
        'one of the two keys is Active, the other in conflict',
        () => winnerFirst(pair),
        SOON,
      )
      const holding = await eventually(
        'each watch is held at its revision',
        () => heldAtRevision(proxy),
        RECOVERED,
      )
      const before = await restartsFor('expired', operator)

      await keys.remove(older)
      await keys.patch(older, [{ op: 'remove', path: '/metadata/finalizers' }])
      const created = await Promise.all(Array.from({ length: 20 }, () => keys.create()))
      await declareCap()
      await plane.compactEtcd()
      await apiServer.stop()
      await apiServer.start()
      holding.release()

      await eventuallyPasses(
        'each watch is restarted after a 410',
        async () => {
          // The watch cache may be rebuilt meanwhile and send a second 410.
          const restarts = await allRestarts(operator)
          for (const [index, count] of (await restartsFor('expired', operator)).entries())
            expect(count, `${before.join()} before, now:\n${restarts}`).toBeGreaterThan(
              before[index] ?? 0,
            )
        },
        SOON,
      )
      await capHolds()
      await Promise.all([younger, ...created].map((key) => keys.shown(key, 'Active')))
      expectNoUncaughtErrors(operator)
    })

    test.each(
      inWhole(
        'recovers when its ServiceAccount is recreated and its token expires before or after its renewal',
      ),
    )('%s', async () => {
      await tokens.replaceAccount()
      const late = await keys.create()
      const refusedSince = refusals()
      const isRefused = () => refusedSince() >= 5 || undefined
      await eventually('the operator gets several 401', isRefused, SOON)
      const revoke = await tokens.renewRevocable()
      await keys.shown(late, 'Active')

      await tokens.renew()
      await revoke()
      const [logged, refused] = [loggedRefusals(operator), refusals()]
      await adoptsNewKey()
      expect(refused()).toBeGreaterThan(0)
      expect(loggedRefusals(operator)).toEqual(logged)
      expectNoUncaughtErrors(operator)
    })

    test.each(
      inWhole(
        'the standby detects the silence of its watches, and has every key when it leads (8.1)',
      ),
    )('%s', async () => {
      const isDetected = async (): Promise<void> => {
        expect(await restartsFor('silent', standby.operator)).not.toContain(0)
      }
      await eventuallyPasses('each of its watches is restarted', isDetected, SILENCE_DETECTED)
      expect((await keys.read(unadopted))?.spec).not.toHaveProperty('key')
      await freeLease(plane)
      await untilItLeads(standby.operator)
      await keys.shown(unadopted, 'Active')
      const hasEveryKey = async (): Promise<void> => {
        const { items } = await plane.admin.list(ACCESS_KEYS, {}, 10_000)
        expect(await storedKeyCount(standby.operator)).toBe(items.length)
      }
      // It may lead and adopt that key before the last of its watches has caught up.
      await eventuallyPasses('the standby has every key', hasEveryKey, SOON)
      await expectCleanExit(standby.operator)
      adoptionFault.release()
    })
  })
})

test('only Leases are written after all faults, and no key is stuck in deletion', async () => {
  expect(await writesAtRest(plane, () => expectHealthy(operator))).toEqual([])
  expect(await keysStuckInDeletion(plane.admin)).toEqual([])
  await expectCleanExit(operator)
})

/** The operator adopts a new key. */
async function adoptsNewKey(): Promise<void> {
  await keys.shown(await eventually('a key is created', () => keys.create(), SOON), 'Active')
}

/** An Active key that expires in three seconds at most. */
async function expiringSoon(spec: OwnedAccessKeySpec = {}): Promise<StoredKey> {
  const key = await keys.shown(await keys.create(spec), 'Active')
  return keys.patch(key, { spec: endingSoon(key) })
}

async function expectReady(one: Operator): Promise<void> {
  expect((await one.health('/readyz')).code).toBe(200)
}

async function expectMissingCrds(one: Operator): Promise<void> {
  const { code, body } = await one.health('/readyz')
  expect(code).toBe(500)
  const [line] = body.split('\n').filter((each) => each.startsWith('[-]crds-served failed: '))
  expect(line).toMatch(/ not served, install the CRDs with kubectl apply -k crds$/)
  for (const { plural } of [ACCESS_KEYS, CONFIGS]) expect(line).toContain(plural)
}

/** The returned function gives the number of 401 responses to the operator since this call. */
function refusals(): () => number {
  const before = proxy.requests.length
  return () => proxy.requests.slice(before).filter(({ status }) => status === 401).length
}

/** The log lines about 401 responses: the operator logs those that a reload of its token does not solve. */
const loggedRefusals = (one: Operator): readonly LogLine[] =>
  one.logs().filter((line) => JSON.stringify(line).includes(': 401 '))

/** Of two objects with the same key the Active one first; undefined while neither is in conflict. */
async function winnerFirst(
  pair: readonly [StoredKey, StoredKey],
): Promise<readonly [StoredKey, StoredKey] | undefined> {
  const [a, b] = await Promise.all(pair.map(reasonOf))
  if (a === 'Active' && b === 'KeyConflict') return pair
  return a === 'KeyConflict' && b === 'Active' ? [pair[1], pair[0]] : undefined
}

/** The reason of Ready; null when the key or the condition is absent. */
async function reasonOf(key: StoredKey): Promise<string | null> {
  const conditions = (await keys.read(key))?.status.conditions ?? []
  return findCondition(conditions, 'Ready')?.reason ?? null
}

/** Waits until Ready has this reason; null = until the key is gone. */
async function becomes(key: StoredKey, reason: string | null): Promise<void> {
  const hasReason = async (): Promise<void> => {
    expect(await reasonOf(key)).toBe(reason)
  }
  await eventuallyPasses(`${key.metadata.name} becomes ${reason}`, hasReason, RECOVERED)
}

async function signalApiServer(signal: NodeJS.Signals): Promise<void> {
  if (apiServer.pid === null) throw new Error('the API server is not running')
  process.kill(apiServer.pid, signal)
}
