// Faults of what the operator stands on: the API server, its watches and its history, the CRDs, the
// operator's own credentials. One operator lives through them. A second one stands by, its watches cut
// without a word: to notice that takes longer than everything else, which goes on meanwhile.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, LEASES } from '../../src/api/group.ts'
import { pathOf } from '../../src/kube/client.ts'
import { conditionOf } from '../../src/domain/conditions.ts'
import { keysOf, type StoredKey } from '../cluster/keys/keys.ts'
import { settingsOf } from '../support/config.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../support/eventually.ts'
import { uniqueName } from '../support/objects.ts'
import { type OwnOperator, startOperator } from '../support/operator.ts'
import { startProxy } from '../support/proxy.ts'
import { isWrite, refusal, type Rule } from '../support/proxy-rules.ts'
import { rounds } from '../support/rounds.ts'
import { crdsOf } from './crds.ts'
import { LEASE, type Manager, PATIENTLY, startManager, untilItLeads } from './managers.ts'
import { writesInAMinute } from './quiet.ts'
import { expectSound, isAlive, livesThrough } from './sound.ts'
import { tokenFileOf } from './tokens.ts'
import { isWatch, restartsFor, untilRestarted, WATCHES } from './watches.ts'

const plane = await privateControlPlane()
const { apiServer } = plane
const own = await plane.operatorKubeconfig()
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const kubeconfig = await proxy.kubeconfig(own)
const keys = keysOf(plane)
const settings = settingsOf(plane)
const crds = crdsOf(plane)
const tokens = tokenFileOf(plane)

const SOON = { withinMs: 20_000 }
/** Once the API server is ready, everything is as it should be within this time. */
const RECOVERED = { withinMs: 10_000 }
/** Bookmarks come once a minute; the operator waits for half a minute more. */
const NOTICED = { withinMs: 150_000 }

let operator: OwnOperator
const start = async (until: 'ready' | 'serving'): Promise<void> => {
  operator = await startOperator({ kubeconfig, until })
}
beforeAll(() => start('ready'))
afterAll(() => operator.stop())

/** The operator hears of a new key and brings it into force. */
async function serves(): Promise<void> {
  await keys.shown(await eventually('a key is created', () => keys.create(), SOON), 'Active')
}

async function isReady(): Promise<void> {
  expect(await operator.health('/readyz')).toMatchObject({ code: 200 })
}

async function saysWhatToInstall(): Promise<void> {
  const { code, body } = await operator.health('/readyz')
  expect(code).toBe(500)
  expect(body).toMatch(
    /^\[-\]crds-served failed: (?=.*configs)(?=.*ownedaccesskeys).* not served, install the CRDs with kubectl apply -k crds$/m,
  )
}

let cap = 1_000_000
async function declareCap(): Promise<void> {
  cap += 1
  await settings.declare({ auth: { accessKeyMaxTTLSeconds: cap } })
  await capHolds()
}
const capHolds = async (): Promise<unknown> =>
  settings.settled(
    'the cap is in force',
    ({ auth }) => auth?.accessKeyMaxTTLSeconds === cap,
    SOON.withinMs,
  )

describe.each(rounds)('round %i', () => {
  test('the CRDs are deleted and come back: the cap is still in force (6.5, 8.2)', async () => {
    await declareCap()
    await serves()
    await crds.remove()
    await eventuallyPasses('it says what is missing', saysWhatToInstall, SOON)
    await isAlive(operator)
    await crds.install()
    await eventuallyPasses('it is ready again', isReady, SOON)
    await capHolds()
    await serves()
    expectSound(operator)
  })

  test('an operator that is started before the CRDs waits for them (8.2)', async () => {
    await crds.remove()
    expect(await operator.stop()).toEqual({ code: 0, signal: null })
    await start('serving')
    await eventuallyPasses('it says what is missing', saysWhatToInstall, SOON)
    const told = operator.logs().filter(({ msg }) => msg.endsWith('with kubectl apply -k crds'))
    expect(told.map(({ resource }) => resource)).toEqual(
      expect.arrayContaining(['configs', 'ownedaccesskeys']),
    )
    await crds.install()
    await eventuallyPasses('it is ready', isReady, SOON)
    await capHolds()
    await serves()
    expectSound(operator)
  })

  test('its token is replaced in time, and the old one is revoked (8.1)', async () => {
    const revoke = await tokens.renewRevocable()
    await operator.stop()
    await start('ready')
    await tokens.renew()
    await revoke()
    const sentBefore = proxy.requests.length
    await serves()
    const statuses = proxy.requests.slice(sentBefore).map(({ status }) => status)
    expect(statuses).toContain(401)
    expect(operator.logs().filter(({ level }) => level === 'error')).toEqual([])
    expectSound(operator)
  })

  test('its ServiceAccount is made anew, and its token comes late (8.1)', async () => {
    await tokens.replaceAccount()
    const sentBefore = proxy.requests.length
    const key = await keys.create()
    await eventuallyPasses(
      'it is refused again and again',
      () => {
        const statuses = proxy.requests.slice(sentBefore).map(({ status }) => status)
        expect(statuses.filter((status) => status === 401).length).toBeGreaterThan(4)
      },
      SOON,
    )
    await tokens.renew()
    await keys.shown(key, 'Active')
    expectSound(operator)
  })

  describe('a standby hears nothing, and meanwhile', () => {
    const unserved = uniqueName('unserved')
    let standby: Manager
    let shunning: Rule

    beforeAll(async () => {
      await holdLease()
      standby = await startManager(plane, own, PATIENTLY, 'standby')
      standby.line.freeze(isWatch)
      expect(standby.line.requests.filter(isWatch)).toHaveLength(WATCHES)
      const path = pathOf(ACCESS_KEYS, { name: unserved })
      shunning = proxy.on(
        (request) => isWrite(request) && request.path.startsWith(path),
        refusal(503),
      )
      await keys.create({}, { name: unserved })
    })
    afterAll(() => standby[Symbol.asyncDispose]())

    test.each([
      {
        name: 'is restarted',
        down: () => apiServer.stop(),
        up: () => apiServer.start(),
        lastsMs: 3000,
      },
      {
        name: 'is killed',
        down: () => apiServer.stop('SIGKILL'),
        up: () => apiServer.start(),
        lastsMs: 3000,
      },
      {
        name: 'is stopped for 20 s',
        down: () => signalApiServer('SIGSTOP'),
        up: () => signalApiServer('SIGCONT'),
        lastsMs: 20_000,
      },
    ])('the API server $name, and keys end (2.7, 8.2)', async ({ down, up, lastsMs }) => {
      const ended = await keys.shown(await keys.create({ ttl: 3 }), 'Active')
      const login = await keys.shown(await keys.create({ ttl: 3, type: 'Login' }), 'Active')
      await livesThrough(operator, async () => {
        const adopting = keys.create({}, {}).catch(() => null)
        await down()
        await staysTrue('the operator lives', () => isAlive(operator), { forMs: lastsMs })
        await up()
        const interrupted = await adopting
        await Promise.all([
          becomes(ended, 'Expired'),
          becomes(login, null),
          ...(interrupted ? [becomes(interrupted, 'Active')] : []),
        ])
        await serves()
      })
      expectSound(operator)
    })

    test('each watch breaks in the middle', async () => {
      const before = await restartsFor(operator, 'failed')
      proxy.cut(isWatch)
      await untilRestarted(operator, 'failed', before, SOON)
      await serves()
    })

    test('the schema of keys changes, which closes their watches', async () => {
      const [before = 0] = await restartsFor(operator, 'closed')
      await crds.changeSchema()
      await eventuallyPasses(
        'the watch of keys is opened anew',
        async () => {
          const [now] = await restartsFor(operator, 'closed')
          expect(now).toBeGreaterThan(before)
        },
        SOON,
      )
      await serves()
    })

    test('history is compacted while the operator hears nothing (2.5, 3.3)', async () => {
      const given = { key: uniqueName('k'.repeat(32)) }
      const elder = await keys.shown(await keys.create(given), 'Active')
      const younger = await keys.shown(await keys.create(given), 'KeyConflict')
      const before = await restartsFor(operator, 'expired')
      const holding = proxy.on(isWatch, { kind: 'hold' })
      proxy.cut(isWatch)
      await eventually(
        'each watch is held',
        () => new Set(holding.hits.map(({ path }) => path)).size === WATCHES || undefined,
        SOON,
      )

      await keys.remove(elder)
      await keys.patch(elder, [{ op: 'remove', path: '/metadata/finalizers' }])
      await keys.gone(elder)
      const created = await Promise.all(Array.from({ length: 20 }, () => keys.create()))
      cap += 1
      await settings.declare({ auth: { accessKeyMaxTTLSeconds: cap } })
      await plane.compactEtcd()
      await apiServer.stop()
      await apiServer.start()
      holding.release()

      await untilRestarted(operator, 'expired', before, SOON)
      await capHolds()
      for (const key of [younger, ...created]) await keys.shown(key, 'Active')
      expectSound(operator)
    })

    test('which the standby notices: it knows everything when it leads (8.1)', async () => {
      await untilRestarted(standby.operator, 'silent', Array(WATCHES).fill(0), NOTICED)
      expect((await keys.read(unserved))?.spec).not.toHaveProperty('key')
      await freeLease()
      await untilItLeads(standby.operator)
      await keys.shown(unserved, 'Active')
      shunning.release()
      expectSound(standby.operator)
    })
  })
})

test('in the end nobody writes but to Leases', async () => {
  expect(await writesInAMinute(plane, () => isAlive(operator))).toEqual([])
  expectSound(operator)
  expect(await operator.stop()).toEqual({ code: 0, signal: null })
})

/** Waits until Ready shows this reason, or, for null, until the key is gone. */
async function becomes(key: StoredKey, reason: string | null): Promise<void> {
  const isSo = async (): Promise<void> => {
    const ready = conditionOf((await keys.read(key))?.status.conditions ?? [], 'Ready')
    expect(ready?.reason ?? null).toBe(reason)
  }
  await eventuallyPasses(`${key.metadata.name} becomes ${reason}`, isSo, RECOVERED)
}

async function signalApiServer(signal: NodeJS.Signals): Promise<void> {
  if (apiServer.pid === null) throw new Error('the API server does not run')
  process.kill(apiServer.pid, signal)
}

/** Takes the Lease, so that a manager that is started stands by. */
async function holdLease(): Promise<void> {
  await freeLease()
  await plane.admin.create(
    LEASES,
    {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: LEASE,
      spec: { holderIdentity: 'a-test', leaseDurationSeconds: 3600 },
    },
    'test',
  )
}

async function freeLease(): Promise<void> {
  const { code } = await plane.raw('DELETE', pathOf(LEASES, LEASE))
  expect([200, 404]).toContain(code)
}
