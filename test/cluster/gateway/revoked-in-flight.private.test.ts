/** @module-tag no-retry */
// Requests in flight when their key ends: unfinished writes store nothing, and all are answered 401 within a second
// (contract 12.1, 13.4; threats C3, C6). A caller that ends its own key still gets the answer.
import { afterAll, describe, expect, test } from 'vitest'
import { HEARTBEAT_NAME } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { startProxy } from '../../support/fault-proxy.ts'
import type { OwnGateway } from '../../support/gateway-process.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { isWhole } from '../../support/tier.ts'
import type { StoredKey } from '../keys/key-client.ts'
import { bindRole } from '../policies/rbac-users.ts'
import { measureMachineLag, askTimed, startAnotherGateway } from './timed-requests.ts'
import { type RawConnection, openRawConnection } from './gateway-load.ts'
import { GROUP_PATH, createCaller } from './keys/self-service-gateway.ts'
import { MANAGEMENT, SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { keys, plane } = setup
const settings = settingsOf(plane)
const [gateway] = setup.gateways
if (!gateway) throw new Error('there is no gateway')
await bindRole(plane, 'ada', 'cluster-admin')

/** A login key: what it creates does not end with it. */
const LOGIN: OwnedAccessKeySpec = { user: 'ada', type: 'Login' }
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const TOKENS = `${GROUP_PATH}/directclusterendpointtokens`
const KEYS = `${GROUP_PATH}/ownedaccesskeys`

/** How soon open requests end (13.4). */
const CUT_WITHIN_MS = 1000

/** The lag of API server, operator and that gateway. */
const measureLag = (last: Pick<OwnGateway, 'health'>) =>
  measureMachineLag(async () => {
    await plane.raw('GET', `${KEYS}/${HEARTBEAT_NAME}`)
    await setup.operator.health('/healthz')
    await last.health('/healthz')
  })

/** A write to an object of a given name. */
interface Write {
  readonly name: string
  readonly method: string
  readonly path: (name: string) => string
  readonly body: (name: string, existing: StoredKey | null) => object
  /** Creates the object as an administrator; absent for a write that creates it. */
  readonly existing?: (name: string) => Promise<StoredKey>
  /** Whether the write is stored. */
  readonly isStored: (name: string) => Promise<boolean>
}

const read = (path: string) => plane.raw<StoredKey>('GET', path)
const isThere = (collection: string) => async (name: string) =>
  (await read(`${collection}/${name}`)).code === 200
/** Waits for the operator's status, so that the resourceVersion stays. */
const createKey = async (name: string): Promise<StoredKey> =>
  keys.shown(await keys.create({ user: 'ada' }, { name }), 'Active')

const WRITES: readonly Write[] = [
  {
    name: 'a forwarded create',
    method: 'POST',
    path: () => CONFIG_MAPS,
    body: (name) => ({ metadata: { name } }),
    isStored: isThere(CONFIG_MAPS),
  },
  {
    name: 'the create of a key',
    method: 'POST',
    path: () => KEYS,
    body: (name) => ({ metadata: { name } }),
    isStored: isThere(KEYS),
  },
  {
    name: 'the apply of a key',
    method: 'PATCH',
    path: (name) => `${KEYS}/${name}?fieldManager=test`,
    body: () => ({ apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey', spec: {} }),
    isStored: isThere(KEYS),
  },
  {
    name: 'the create of a token',
    method: 'POST',
    path: () => TOKENS,
    body: (name) => ({ metadata: { name }, spec: {} }),
    isStored: isThere(TOKENS),
  },
  {
    name: 'the update of a key',
    method: 'PUT',
    path: (name) => `${KEYS}/${name}`,
    body: (_, existing) => ({ ...existing, spec: { ...existing?.spec, disabled: true } }),
    existing: createKey,
    isStored: async (name) => (await read(`${KEYS}/${name}`)).body.spec.disabled === true,
  },
  {
    name: 'the delete of a key',
    method: 'DELETE',
    path: (name) => `${KEYS}/${name}`,
    body: () => ({ kind: 'DeleteOptions', apiVersion: 'v1' }),
    existing: createKey,
    isStored: async (name) => {
      const { code, body } = await read(`${KEYS}/${name}`)
      return code === 404 || body.metadata.deletionTimestamp !== undefined
    },
  },
]

/** A write whose last byte is not sent yet. */
interface UnfinishedWrite {
  readonly write: Write
  readonly target: string
  readonly connection: RawConnection
}

async function startWrite({ token }: UsableKey, write: Write): Promise<UnfinishedWrite> {
  const target = uniqueName('unfinished')
  const existing = (await write.existing?.(target)) ?? null
  const connection = await openRawConnection(gateway?.url() ?? '', setup.ca)
  const body = JSON.stringify(write.body(target, existing))
  const isApply = write.path(target).includes('fieldManager')
  const head = [
    `${write.method} ${MANAGEMENT}${write.path(target)} HTTP/1.1`,
    'host: gateway',
    'connection: close',
    `authorization: Bearer ${token}`,
    `content-type: application/${isApply ? 'apply-patch+yaml' : 'json'}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'expect: 100-continue',
  ]
  connection.write(`${head.join('\r\n')}\r\n\r\n`)
  const isContinued = () => connection.received().includes('100 Continue') || undefined
  await eventually('the gateway authorized it and reads its body', isContinued, SOON)
  connection.write(body.slice(0, -1))
  return { write, target, connection }
}

/** A way to end a key; `act` resolves when the end is stored. `message` and `withinMs` are of the 401 that follows. */
interface KeyEnd {
  readonly name: string
  readonly spec?: OwnedAccessKeySpec
  /** Made before the tests; a new one when absent. */
  readonly key?: UsableKey
  readonly act: (key: StoredKey) => Promise<unknown>
  readonly message: string
  readonly withinMs?: number
}

const NOT_FOUND = 'platform access key not found. Please login again'
const EXPIRED = 'platform access key expired. Please login again'
const CHANGED = 'the platform access key changed. Please try again'

const until = (ms: number, what: string): Promise<unknown> =>
  eventually(what, () => Date.now() >= ms || undefined, SOON)

/** Old enough by the time of its test. */
const cappedKey = await setup.key(LOGIN)

const KEY_ENDS: readonly KeyEnd[] = [
  {
    name: 'disabled',
    act: (key) => keys.patch(key, { spec: { disabled: true } }),
    message: NOT_FOUND,
  },
  { name: 'deleted', act: (key) => keys.remove(key), message: NOT_FOUND },
  {
    name: 'narrowed',
    act: (key) => keys.patch(key, { spec: { scope: { projects: [{ project: 'shop' }] } } }),
    message: CHANGED,
  },
  {
    name: 'given another identity',
    act: (key) => keys.patch(key, { spec: { user: 'bob' } }),
    message: CHANGED,
  },
  {
    name: 'expired',
    spec: { ttl: 17 },
    act: ({ status }) => until(Date.parse(status.expirationTimestamp ?? ''), 'the key has expired'),
    message: EXPIRED,
  },
  {
    name: 'older than a lower cap',
    key: cappedKey,
    act: async ({ metadata }) => {
      await until(Date.parse(metadata.creationTimestamp) + 4000, 'the key is older than the cap')
      await settings.declare({ auth: { accessKeyMaxTTLSeconds: 3 } })
    },
    message: EXPIRED,
    // From the change of the Config (6.6).
    withinMs: 2000,
  },
]

const statusIn = (text: string): Readonly<Record<string, unknown>> =>
  JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n') + 4)) as Readonly<Record<string, unknown>>

describe('writes that lack their last byte', () => {
  // A key that expires has to live until all writes are started: that takes long.
  test.each(KEY_ENDS.filter(({ name }) => isWhole || name !== 'expired'))(
    'are refused with 401 when their key is $name, and store nothing (13.4; C3, C6)',
    async ({ name, spec, key: given, act, message, withinMs = CUT_WITHIN_MS }) => {
      const key = given ?? (await setup.key({ ...LOGIN, ...spec }))
      const before = await namesOf('ada')
      const writes = await Promise.all(WRITES.map((write) => startWrite(key, write)))
      const others = (await namesOf('ada')).filter((one) => !before.includes(one))

      await using lag = measureLag(gateway)
      await act(key.object)
      const sinceMs = Date.now()
      const lags = await Promise.all(
        writes.map(async ({ write, connection }) => {
          const isAnswered = () => /HTTP\/1\.1 4\d\d/.test(connection.received()) || undefined
          await eventually(`the write of ${write.name} is answered`, isAnswered, SOON)
          return Date.now() - sinceMs
        }),
      )
      console.log(`measured: ${name}, ms to the answers: ${lags.join(', ')}`)
      for (const { write, connection } of writes) {
        connection.write('}')
        const text = await connection.closed
        expect({ write: write.name, ...statusIn(text) }).toMatchObject({
          code: 401,
          message,
        })
        expect(text.toLowerCase()).not.toContain('x-platform-key-expires')
      }
      expect(Math.max(...lags) - lag.maxMs()).toBeLessThanOrEqual(withinMs)

      for (const { write, target } of writes)
        expect({ write: write.name, isStored: await write.isStored(target) }).toEqual({
          write: write.name,
          isStored: false,
        })
      const now = await namesOf('ada')
      expect(now.filter((one) => ![...before, ...others].includes(one))).toEqual([])
      await settings.declare({})
      // Else the next key could become older than the cap before it is lifted.
      await settings.settled(
        'no cap is in force',
        ({ auth }) => !auth?.accessKeyMaxTTLSeconds,
        20_000,
      )
    },
  )

  test('are stored once their last byte is sent, while their key is valid', async () => {
    const key = await setup.key(LOGIN)
    const writes = await Promise.all(WRITES.map((write) => startWrite(key, write)))
    for (const { write, target, connection } of writes) {
      connection.write('}')
      const text = await connection.closed
      const isStored = await write.isStored(target)
      // A token that the operator does not issue in time is deleted (12.2).
      const isLate = write.path(target) === TOKENS && text.includes('HTTP/1.1 504')
      expect({ write: write.name, isStored, text }).toMatchObject({ isStored: !isLate })
    }
  })
})

/** Names of all keys of a user. */
async function namesOf(user: string): Promise<readonly string[]> {
  const path = `${KEYS}?fieldSelector=spec.user%3D${user}`
  const { body } = await plane.raw<{ readonly items: readonly StoredKey[] }>('GET', path)
  return body.items.map(({ metadata }) => metadata.name)
}

describe('a caller that ends its own key', () => {
  test('gets the answer, after a patch, a delete and a deletecollection', async () => {
    const disablesItself = async (): Promise<void> => {
      const { name, ask } = await createCaller(setup, LOGIN)
      const path = `ownedaccesskeys/${name}`
      const disabled = await ask('PATCH', path, { body: { spec: { disabled: true } } })
      expect(disabled).toMatchObject({ code: 200, json: { spec: { disabled: true } } })
    }
    const deletesItself = async (): Promise<void> => {
      const { name, ask } = await createCaller(setup, LOGIN)
      expect((await ask('DELETE', `ownedaccesskeys/${name}`)).code).toBe(200)
    }
    for (let time = 0; time < 20; time += 1) await Promise.all([disablesItself(), deletesItself()])
    const [one, other] = [
      await createCaller(setup, { user: 'eve' }),
      await createCaller(setup, { user: 'eve' }),
    ]
    expect((await one.ask('DELETE', 'ownedaccesskeys')).code).toBe(200)
    for (const { name } of [one, other]) {
      const isGone = async () => !(await isThere(KEYS)(name)) || undefined
      await eventually(`key ${name} is deleted`, isGone, SOON)
    }
  })
})

describe('forwarded requests without an answer yet', () => {
  const READS = [
    { name: 'a list', path: CONFIG_MAPS },
    { name: 'a watch', path: `${CONFIG_MAPS}?watch=true` },
    { name: 'followed logs', path: '/api/v1/namespaces/default/pods/a/log?follow=true' },
    {
      name: 'a service proxy',
      path: '/api/v1/namespaces/default/services/a/proxy/x',
    },
    { name: 'a list of keys', path: KEYS },
    { name: 'a watch of tokens', path: `${TOKENS}?watch=true` },
  ]

  test('are refused with 401 within a second after their key is disabled', async () => {
    await using proxy = await startProxy(plane)
    const other = await startAnotherGateway(setup, { proxy })
    afterAll(() => other.stop())
    const key = await setup.key(LOGIN)
    const isAccepted = async () =>
      (await askTimed(setup, other, key.token)).code === 404 || undefined
    await eventually('the gateway accepts the key', isAccepted, SOON)
    const paths = new Set(READS.map(({ path }) => path.split('?')[0]))
    const rule = proxy.on(({ path }) => paths.has(path), { kind: 'hold' })
    const asked = READS.map(async ({ name, path }) => {
      const { code, body, doneMs } = await askTimed(setup, other, key.token, `${MANAGEMENT}${path}`)
      return { name, code, body, doneMs }
    })
    const haveArrived = () => rule.hits.length === READS.length || undefined
    await eventually('all requests have arrived at the API server', haveArrived, SOON)

    await using lag = measureLag(other)
    await keys.patch(key.object, { spec: { disabled: true } })
    const sinceMs = Date.now()
    const answers = await Promise.all(asked)
    for (const { name, code, body } of answers)
      expect({ name, code, body }).toMatchObject({
        code: 401,
        body: expect.stringContaining(NOT_FOUND),
      })
    const lags = answers.map(({ doneMs }) => doneMs - sinceMs)
    console.log(`measured: forwarded requests, ms to the answers: ${lags.join(', ')}`)
    expect(Math.max(...lags) - lag.maxMs()).toBeLessThanOrEqual(CUT_WITHIN_MS)
    const text = await other.metrics()
    expect(text).toMatch(/^platform_gateway_streams\{kind="watch"\} 0$/m)
    expect(text).toMatch(/^platform_gateway_streams\{kind="body"\} 0$/m)
  })
})
