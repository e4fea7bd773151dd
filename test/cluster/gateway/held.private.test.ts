/** @module-tag no-retry */
// A key that ends while a request of it is held back, by its client or by the API server, writes nothing any
// more and is told nothing (contract 12.1, 13.4; threats C3, C6). Whoever disables his own key hears of it.
import { afterAll, describe, expect, test } from 'vitest'
import { HEARTBEAT_KEY } from '../../../src/api/names.ts'
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
import { measureEventLoopLag } from './event-loop-lag.ts'
import { type RawConnection, openRawConnection } from './gateway-load.ts'
import { polledAnswerOf, startAnotherGateway } from './gateway-poller.ts'
import { OURS, hand } from './keys/self-service-clients.ts'
import { MANAGEMENT, SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await privateControlPlane())
const { keys, plane } = front
const settings = settingsOf(plane)
const [gateway] = front.gateways
if (!gateway) throw new Error('there is no gateway')
await bindRole(plane, 'ada', 'cluster-admin')

/** A person: what she makes does not end with the key that she made it with. */
const LOGIN: OwnedAccessKeySpec = { user: 'ada', type: 'Login' }
const MAPS = '/api/v1/namespaces/default/configmaps'
const TOKENS = `${OURS}/directclusterendpointtokens`
const KEYS = `${OURS}/ownedaccesskeys`

/** How soon what is open ends (13.4). */
const SECOND = 1000

/** How late the machine is for what goes from the API server, by way of the operator, to that gateway. */
const lateUpTo = (last: Pick<OwnGateway, 'health'>) =>
  measureEventLoopLag(async () => {
    await plane.raw('GET', `${KEYS}/${HEARTBEAT_KEY}`)
    await front.operator.health('/healthz')
    await last.health('/healthz')
  })

/** A write, of something of this name; `about` = of what is there already, by an administrator. */
interface Write {
  readonly name: string
  readonly method: string
  readonly path: (name: string) => string
  readonly body: (name: string, about: StoredKey | null) => object
  readonly about?: (name: string) => Promise<StoredKey>
  /** Whether it was done. */
  readonly isDone: (name: string) => Promise<boolean>
}

const read = (path: string) => plane.raw<StoredKey>('GET', path)
const isThere = (collection: string) => async (name: string) =>
  (await read(`${collection}/${name}`)).code === 200
/** Until the operator has done with it, so that its version stays. */
const makeKey = async (name: string): Promise<StoredKey> =>
  keys.shown(await keys.create({ user: 'ada' }, { name }), 'Active')

const WRITES: readonly Write[] = [
  {
    name: 'what is passed on',
    method: 'POST',
    path: () => MAPS,
    body: (name) => ({ metadata: { name } }),
    isDone: isThere(MAPS),
  },
  {
    name: 'a key',
    method: 'POST',
    path: () => KEYS,
    body: (name) => ({ metadata: { name } }),
    isDone: isThere(KEYS),
  },
  {
    name: 'a key, by apply',
    method: 'PATCH',
    path: (name) => `${KEYS}/${name}?fieldManager=held`,
    body: () => ({ apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey', spec: {} }),
    isDone: isThere(KEYS),
  },
  {
    name: 'a token',
    method: 'POST',
    path: () => TOKENS,
    body: (name) => ({ metadata: { name }, spec: {} }),
    isDone: isThere(TOKENS),
  },
  {
    name: 'a change of a key',
    method: 'PUT',
    path: (name) => `${KEYS}/${name}`,
    body: (_, about) => ({ ...about, spec: { ...about?.spec, disabled: true } }),
    about: makeKey,
    isDone: async (name) => (await read(`${KEYS}/${name}`)).body.spec.disabled === true,
  },
  {
    name: 'the end of a key',
    method: 'DELETE',
    path: (name) => `${KEYS}/${name}`,
    body: () => ({ kind: 'DeleteOptions', apiVersion: 'v1' }),
    about: makeKey,
    isDone: async (name) => {
      const { code, body } = await read(`${KEYS}/${name}`)
      return code === 404 || body.metadata.deletionTimestamp !== undefined
    },
  },
]

/** A write of which the gateway waits for the last byte. */
interface HeldWrite {
  readonly what: Write
  readonly of: string
  readonly wire: RawConnection
}

async function heldBack({ token }: UsableKey, what: Write): Promise<HeldWrite> {
  const of = uniqueName('held')
  const about = (await what.about?.(of)) ?? null
  const wire = await openRawConnection(gateway?.url() ?? '', front.ca)
  const body = JSON.stringify(what.body(of, about))
  const isApply = what.path(of).includes('fieldManager')
  const head = [
    `${what.method} ${MANAGEMENT}${what.path(of)} HTTP/1.1`,
    'host: gateway',
    'connection: close',
    `authorization: Bearer ${token}`,
    `content-type: application/${isApply ? 'apply-patch+yaml' : 'json'}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'expect: 100-continue',
  ]
  wire.write(`${head.join('\r\n')}\r\n\r\n`)
  const isWanted = () => wire.received().includes('100 Continue') || undefined
  await eventually('it was let pass, and its body is wanted', isWanted, SOON)
  wire.write(body.slice(0, -1))
  return { what, of, wire }
}

/** What ends a key; resolves when that is stored. `says` what its bearer is told, `withinMs` how soon. */
interface Trigger {
  readonly name: string
  readonly spec?: OwnedAccessKeySpec
  readonly act: (key: StoredKey) => Promise<unknown>
  readonly says: string
  readonly withinMs?: number
}

const NOT_FOUND = 'platform access key not found. Please login again'
const EXPIRED = 'platform access key expired. Please login again'
const CHANGED = 'the platform access key changed. Please try again'

const until = (ms: number, what: string): Promise<unknown> =>
  eventually(what, () => Date.now() >= ms || undefined, SOON)

const TRIGGERS: readonly Trigger[] = [
  {
    name: 'disabled',
    act: (key) => keys.patch(key, { spec: { disabled: true } }),
    says: NOT_FOUND,
  },
  { name: 'deleted', act: (key) => keys.remove(key), says: NOT_FOUND },
  {
    name: 'narrowed',
    act: (key) => keys.patch(key, { spec: { scope: { projects: [{ project: 'shop' }] } } }),
    says: CHANGED,
  },
  {
    name: 'of another identity',
    act: (key) => keys.patch(key, { spec: { user: 'bob' } }),
    says: CHANGED,
  },
  {
    name: 'expired',
    spec: { ttl: 17 },
    act: ({ status }) => until(Date.parse(status.expirationTimestamp ?? ''), 'it has expired'),
    says: EXPIRED,
  },
  {
    name: 'over a lower cap',
    act: async ({ metadata }) => {
      await until(Date.parse(metadata.creationTimestamp) + 4000, 'it is older than the cap')
      await settings.declare({ auth: { accessKeyMaxTTLSeconds: 3 } })
    },
    says: EXPIRED,
    // From the change of Config (6.6).
    withinMs: 2000,
  },
]

const statusIn = (text: string): Readonly<Record<string, unknown>> =>
  JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n') + 4)) as Readonly<Record<string, unknown>>

describe('writes of which the last byte is held back', () => {
  // What expires has to live until all of it is held: that takes long.
  test.each(TRIGGERS.filter(({ name }) => isWhole || name !== 'expired'))(
    'are answered soon after their key is $name, and nothing is stored (13.4; C3, C6)',
    async ({ name, spec, act, says, withinMs = SECOND }) => {
      const key = await front.key({ ...LOGIN, ...spec })
      const before = await namesOf('ada')
      const held = await Promise.all(WRITES.map((what) => heldBack(key, what)))
      const others = (await namesOf('ada')).filter((one) => !before.includes(one))

      await using late = lateUpTo(gateway)
      await act(key.object)
      const sinceMs = Date.now()
      const lags = await Promise.all(
        held.map(async ({ what, wire }) => {
          const isAnswered = () => /HTTP\/1\.1 4\d\d/.test(wire.received()) || undefined
          await eventually(`the write of ${what.name} is answered`, isAnswered, SOON)
          return Date.now() - sinceMs
        }),
      )
      console.log(`measured: ${name}, ms to the answers: ${lags.join(', ')}`)
      for (const { what, wire } of held) {
        wire.write('}')
        const text = await wire.closed
        expect({ write: what.name, ...statusIn(text) }).toMatchObject({ code: 401, message: says })
        expect(text.toLowerCase()).not.toContain('x-platform-key-expires')
      }
      expect(Math.max(...lags) - late.mostMs()).toBeLessThanOrEqual(withinMs)

      for (const { what, of } of held)
        expect({ write: what.name, isDone: await what.isDone(of) }).toEqual({
          write: what.name,
          isDone: false,
        })
      const now = await namesOf('ada')
      expect(now.filter((one) => ![...before, ...others].includes(one))).toEqual([])
      await settings.declare({})
      // The next key is not to be older than the cap before that is lifted.
      await settings.settled(
        'no cap is in force',
        ({ auth }) => !auth?.accessKeyMaxTTLSeconds,
        20_000,
      )
    },
  )

  test('are done, where their key lives', async () => {
    const key = await front.key(LOGIN)
    const held = await Promise.all(WRITES.map((what) => heldBack(key, what)))
    for (const { what, of, wire } of held) {
      wire.write('}')
      const text = await wire.closed
      const isDone = await what.isDone(of)
      // A token that the operator does not issue in time leaves nothing behind (12.2).
      const isLate = what.path(of) === TOKENS && text.includes('HTTP/1.1 504')
      expect({ write: what.name, isDone, text }).toMatchObject({ isDone: !isLate })
    }
  })
})

/** Names of all keys of a user. */
async function namesOf(user: string): Promise<readonly string[]> {
  const path = `${KEYS}?fieldSelector=spec.user%3D${user}`
  const { body } = await plane.raw<{ readonly items: readonly StoredKey[] }>('GET', path)
  return body.items.map(({ metadata }) => metadata.name)
}

describe('whoever ends the key that he calls with hears of it', () => {
  test('20 times: disabled, deleted, and deleted with all others', async () => {
    for (let time = 0; time < 20; time += 1) {
      const { name, ask } = await hand(front, LOGIN)
      const path = `ownedaccesskeys/${name}`
      const disabled = await ask('PATCH', path, { body: { spec: { disabled: true } } })
      expect(disabled).toMatchObject({ code: 200, json: { spec: { disabled: true } } })
    }
    for (let time = 0; time < 20; time += 1) {
      const { name, ask } = await hand(front, LOGIN)
      expect((await ask('DELETE', `ownedaccesskeys/${name}`)).code).toBe(200)
    }
    const [one, other] = [await hand(front, { user: 'eve' }), await hand(front, { user: 'eve' })]
    expect((await one.ask('DELETE', 'ownedaccesskeys')).code).toBe(200)
    for (const { name } of [one, other]) {
      const isGone = async () => !(await isThere(KEYS)(name)) || undefined
      await eventually(`key ${name} is gone`, isGone, SOON)
    }
  })
})

describe('requests that the API server does not answer', () => {
  const READS = [
    { name: 'a list', path: MAPS },
    { name: 'a watch', path: `${MAPS}?watch=true` },
    { name: 'logs that are followed', path: '/api/v1/namespaces/default/pods/a/log?follow=true' },
    {
      name: 'a service behind the API server',
      path: '/api/v1/namespaces/default/services/a/proxy/x',
    },
    { name: 'keys', path: KEYS },
    { name: 'a watch of tokens', path: `${TOKENS}?watch=true` },
  ]

  test('are answered soon after their key is disabled, and nothing of what comes then is told', async () => {
    await using line = await startProxy(plane)
    const beside = await startAnotherGateway(front, { line })
    afterAll(() => beside.stop())
    const key = await front.key(LOGIN)
    const isTaken = async () =>
      (await polledAnswerOf(front, beside, key.token)).code === 404 || undefined
    await eventually('it takes the key', isTaken, SOON)
    const paths = new Set(READS.map(({ path }) => path.split('?')[0]))
    const rule = line.on(({ path }) => paths.has(path), { kind: 'hold' })
    const asked = READS.map(async ({ name, path }) => {
      const { code, body, doneMs } = await polledAnswerOf(
        front,
        beside,
        key.token,
        `${MANAGEMENT}${path}`,
      )
      return { name, code, body, doneMs }
    })
    const areHeld = () => rule.hits.length === READS.length || undefined
    await eventually('they are at the API server', areHeld, SOON)

    await using late = lateUpTo(beside)
    await keys.patch(key.object, { spec: { disabled: true } })
    const sinceMs = Date.now()
    const answers = await Promise.all(asked)
    for (const { name, code, body } of answers)
      expect({ name, code, body }).toMatchObject({
        code: 401,
        body: expect.stringContaining(NOT_FOUND),
      })
    const lags = answers.map(({ doneMs }) => doneMs - sinceMs)
    console.log(`measured: without a head, ms to the answers: ${lags.join(', ')}`)
    expect(Math.max(...lags) - late.mostMs()).toBeLessThanOrEqual(SECOND)
    const text = await beside.metrics()
    expect(text).toMatch(/^platform_gateway_streams\{kind="watch"\} 0$/m)
    expect(text).toMatch(/^platform_gateway_streams\{kind="body"\} 0$/m)
  })
})
