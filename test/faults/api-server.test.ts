// Faults of what the operator stands on: the API server, its watches and its history, the CRDs, the
// operator's own credentials. One operator lives through them. A second one stands by, its watches cut
// without a word: to notice that takes longer than everything else, which goes on meanwhile.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS } from '../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../src/api/ownedaccesskey.gen.ts'
import { WATCHED } from '../../src/commands/manager/informers.ts'
import { findCondition } from '../../src/domain/conditions.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { type StoredKey, endingSoon, keyClientOf } from '../cluster/keys/key-client.ts'
import { type OwnOperator, startOperator } from '../support/command-process.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../support/eventually.ts'
import { type Match, type Rule, isWrite, refusal } from '../support/fault-proxy-rules.ts'
import { startProxy } from '../support/fault-proxy.ts'
import { uniqueName } from '../support/object-builder.ts'
import type { LogLine, Operator } from '../support/process-output.ts'
import { inWhole, rounds, sampled } from '../support/tier.ts'
import {
  type Manager,
  PATIENTLY,
  freeLease,
  holdLease,
  startManager,
  untilItLeads,
} from './competing-managers.ts'
import { crdToggleOf } from './crd-toggle.ts'
import {
  allRestarts,
  countedKeys,
  isWatch,
  restartsFor,
  writesInAMinute,
} from './observed-writes.ts'
import {
  expectGoodEnd,
  expectSound,
  keysStuckInDeletion,
  expectAlive,
  expectAliveDuring,
} from './operator-crash.ts'
import { tokenFixtureOf } from './token-fixture.ts'
import { configPoints } from './write-points.ts'

const plane = await ownControlPlane()
const { apiServer } = plane
const own = await plane.operatorKubeconfig()
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const kubeconfig = await proxy.kubeconfig(own)
const keys = keyClientOf(plane)
const [{ lead: declareCap, ends: capHolds }] = configPoints(plane).declared
const crds = crdToggleOf(plane)
const tokens = tokenFixtureOf(plane)

const SOON = { withinMs: 20_000 }
/**
 * Once the API server is ready, everything is as it should be within this time: what has failed often
 * waits for 15 s before the next try.
 */
const RECOVERED = { withinMs: 30_000 }
/** Bookmarks come once a minute; the operator waits for half a minute more. */
const NOTICED = { withinMs: 150_000 }

let operator: OwnOperator
beforeAll(async () => {
  operator = await startOperator({ kubeconfig })
})
afterAll(() => operator.stop())

describe.each(rounds)('round %i: a standby receives no more watch events, and meanwhile', () => {
  let standby: Manager
  beforeAll(async () => {
    await holdLease(plane)
    standby = await startManager(plane, own, PATIENTLY, 'standby')
    await eventuallyPasses('the standby is ready', () => isReady(standby.operator), SOON)
    standby.line.freeze(isWatch)
  })
  afterAll(() => standby[Symbol.asyncDispose]())

  test('the CRDs are deleted and come back (6.5, 8.2)', async () => {
    await declareCap()
    await capHolds()
    await serves()
    await crds.remove()
    await eventuallyPasses('it says so', () => saysWhatToInstall(operator), SOON)
    await expectAlive(operator)
    await using late = await startManager(plane, own, PATIENTLY, 'standby')
    await eventuallyPasses('a late one says so', () => saysWhatToInstall(late.operator), SOON)
    await crds.install()
    await eventuallyPasses('it is ready again', () => isReady(operator), SOON)
    await eventuallyPasses('the late one is ready', () => isReady(late.operator), SOON)
    await capHolds()
    await serves()
    expectSound(operator)
    await expectGoodEnd(late.operator)
  })

  describe('no other gateway serves one key', () => {
    const unserved = uniqueName('unserved')
    let shunning: Rule
    beforeAll(async () => {
      const path = pathOf(ACCESS_KEYS, { name: unserved })
      const isItsWrite: Match = (request) => isWrite(request) && request.path.startsWith(path)
      shunning = proxy.on(isItsWrite, refusal(503))
      await keys.create({}, { name: unserved })
    })

    // biome-ignore format: a table
    const ways = [
      { name: 'is restarted', down: () => apiServer.stop(), up: () => apiServer.start(), lastsMs: 3000 },
      { name: 'is killed', down: () => apiServer.stop('SIGKILL'), up: () => apiServer.start(), lastsMs: 3000 },
      { name: 'is stopped for 20 s', down: () => signalled('SIGSTOP'), up: () => signalled('SIGCONT'), lastsMs: 20_000 },
    ]
    test.each(sampled(ways, 3, 1))(
      'the API server $name, and keys end (2.7, 8.2)',
      async ({ down, up, lastsMs }) => {
        await serves()
        const [ended, login] = [await ending(), await ending({ type: 'Login' })]
        await expectAliveDuring(operator, async () => {
          const interrupted = await keys.create()
          await down()
          await staysTrue('the operator lives', () => expectAlive(operator), { forMs: lastsMs })
          await up()
          await Promise.all([
            becomes(ended, 'Expired'),
            becomes(login, null),
            becomes(interrupted, 'Active'),
            serves(),
          ])
        })
        expectSound(operator)
      },
    )

    test.each(inWhole('watches break in the middle'))('%s', async () => {
      const busy = [ACCESS_KEYS, CONFIGS]
      await serves()
      await declareCap()
      await capHolds()
      const before = await restartsFor('failed', operator, busy)
      proxy.cut(isWatch)
      await eventuallyPasses(
        'they are opened anew',
        async () => {
          for (const [index, count] of (await restartsFor('failed', operator, busy)).entries())
            expect(count).toBeGreaterThan(before[index] ?? 0)
        },
        SOON,
      )
      await serves()
      await declareCap()
      await capHolds()
      expectSound(operator)
    })

    test('the schema of keys changes, which closes their watch', async () => {
      await serves()
      const [before = 0] = await restartsFor('closed', operator, [ACCESS_KEYS])
      await crds.changeSchema()
      await eventuallyPasses(
        'it is opened anew',
        async () => {
          const [now] = await restartsFor('closed', operator, [ACCESS_KEYS])
          expect(now).toBeGreaterThan(before)
        },
        SOON,
      )
      await serves()
      expectSound(operator)
    })

    test('history is compacted while the operator receives no watch events (2.5, 3.3)', async () => {
      const given = { key: uniqueName('k'.repeat(32)) }
      const pair = await Promise.all([keys.create(given), keys.create(given)])
      const [elder, younger] = await eventually('one of two wins', () => inOrder(pair), SOON)
      const holding = await eventually('each watch is held where it was', heldInPlace, RECOVERED)
      const before = await restartsFor('expired', operator)

      await keys.remove(elder)
      await keys.patch(elder, [{ op: 'remove', path: '/metadata/finalizers' }])
      const created = await Promise.all(Array.from({ length: 20 }, () => keys.create()))
      await declareCap()
      await plane.compactEtcd()
      await apiServer.stop()
      await apiServer.start()
      holding.release()

      await eventuallyPasses(
        'each is told that its place is gone',
        async () => {
          // A cache that the server builds again meanwhile may tell one of them twice.
          const told = await allRestarts(operator)
          for (const [index, count] of (await restartsFor('expired', operator)).entries())
            expect(count, `${before.join()} before, now:\n${told}`).toBeGreaterThan(
              before[index] ?? 0,
            )
        },
        SOON,
      )
      await capHolds()
      await Promise.all([younger, ...created].map((key) => keys.shown(key, 'Active')))
      expectSound(operator)
    })

    test.each(inWhole('the ServiceAccount is made again, the token replaced late, then in time'))(
      '%s',
      async () => {
        await tokens.replaceAccount()
        const late = await keys.create()
        const refusedSince = refusals()
        const isRefused = () => refusedSince() >= 5 || undefined
        await eventually('it is refused again and again', isRefused, SOON)
        const revoke = await tokens.renewRevocable()
        await keys.shown(late, 'Active')

        await tokens.renew()
        await revoke()
        const [told, refused] = [toldRefusals(operator), refusals()]
        await serves()
        expect(refused()).toBeGreaterThan(0)
        expect(toldRefusals(operator)).toEqual(told)
        expectSound(operator)
      },
    )

    test.each(inWhole('the standby notices the silence, and knows everything when it leads (8.1)'))(
      '%s',
      async () => {
        const isNoticed = async (): Promise<void> => {
          expect(await restartsFor('silent', standby.operator)).not.toContain(0)
        }
        await eventuallyPasses('each of its watches is opened anew', isNoticed, NOTICED)
        expect((await keys.read(unserved))?.spec).not.toHaveProperty('key')
        await freeLease(plane)
        await untilItLeads(standby.operator)
        await keys.shown(unserved, 'Active')
        const knowsAll = async (): Promise<void> => {
          const { items } = await plane.admin.list(ACCESS_KEYS, {}, 10_000)
          expect(await countedKeys(standby.operator)).toBe(items.length)
        }
        // It may lead, and have served that key, while the last of what it missed still comes in.
        await eventuallyPasses('it knows every key', knowsAll, SOON)
        await expectGoodEnd(standby.operator)
        shunning.release()
      },
    )
  })
})

test('in the end nothing hangs, and nobody writes but to Leases', async () => {
  expect(await writesInAMinute(plane, () => expectAlive(operator))).toEqual([])
  expect(await keysStuckInDeletion(plane.admin)).toEqual([])
  await expectGoodEnd(operator)
})

/** Cuts every watch and holds what follows; undefined where one was to list again, which forgets its place. */
async function heldInPlace(): Promise<Rule | undefined> {
  const holding = proxy.on(isWatch, { kind: 'hold' })
  proxy.cut(isWatch)
  const held = () =>
    new Set(holding.hits.map(({ path }) => path)).size === WATCHED.length || undefined
  await eventually('each watch is held', held, SOON)
  if (!holding.hits.some(({ query }) => query.has('sendInitialEvents'))) return holding
  holding.release()
  return undefined
}

/** The operator hears of a new key and brings it into force. */
async function serves(): Promise<void> {
  await keys.shown(await eventually('a key is created', () => keys.create(), SOON), 'Active')
}

/** A key in force that ends in three seconds at most. */
async function ending(spec: OwnedAccessKeySpec = {}): Promise<StoredKey> {
  const key = await keys.shown(await keys.create(spec), 'Active')
  return keys.patch(key, { spec: endingSoon(key) })
}

async function isReady(one: Operator): Promise<void> {
  expect((await one.health('/readyz')).code).toBe(200)
}

async function saysWhatToInstall(one: Operator): Promise<void> {
  const { code, body } = await one.health('/readyz')
  expect(code).toBe(500)
  const [line] = body.split('\n').filter((each) => each.startsWith('[-]crds-served failed: '))
  expect(line).toMatch(/ not served, install the CRDs with kubectl apply -k crds$/)
  for (const { plural } of [ACCESS_KEYS, CONFIGS]) expect(line).toContain(plural)
}

/** Counts from now on how often the API server answers the operator that it does not know it. */
function refusals(): () => number {
  const before = proxy.requests.length
  return () => proxy.requests.slice(before).filter(({ status }) => status === 401).length
}

/** What the operator wrote about such answers: only what it could not mend by itself at once. */
const toldRefusals = (one: Operator): readonly LogLine[] =>
  one.logs().filter((line) => JSON.stringify(line).includes(': 401 '))

/** Of two objects with the same key the one that works, and the other; undefined before that. */
async function inOrder(
  pair: readonly [StoredKey, StoredKey],
): Promise<readonly [StoredKey, StoredKey] | undefined> {
  const [a, b] = await Promise.all(pair.map(reasonOf))
  if (a === 'Active' && b === 'KeyConflict') return pair
  return a === 'KeyConflict' && b === 'Active' ? [pair[1], pair[0]] : undefined
}

/** The reason of Ready; null where there is no such key, or nothing is said of it yet. */
async function reasonOf(key: StoredKey): Promise<string | null> {
  const conditions = (await keys.read(key))?.status.conditions ?? []
  return findCondition(conditions, 'Ready')?.reason ?? null
}

/** Waits until Ready shows this reason, or, for null, until the key is gone. */
async function becomes(key: StoredKey, reason: string | null): Promise<void> {
  const isSo = async (): Promise<void> => {
    expect(await reasonOf(key)).toBe(reason)
  }
  await eventuallyPasses(`${key.metadata.name} becomes ${reason}`, isSo, RECOVERED)
}

async function signalled(signal: NodeJS.Signals): Promise<void> {
  if (apiServer.pid === null) throw new Error('the API server does not run')
  process.kill(apiServer.pid, signal)
}
