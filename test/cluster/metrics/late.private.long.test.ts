// What alerts stand on, while a real manager or gateway is kept from its work: it shows, and ends when the work is
// done.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SIGNING_KEY_TYPE } from '../../../src/api/names.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { type Match, isWrite } from '../../support/fault-proxy-rules.ts'
import { type FaultProxy, startProxy } from '../../support/fault-proxy.ts'
import { startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { valueOf } from '../../support/metrics-text.ts'
import type { Operator } from '../../support/process-output.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { tokenClientOf } from '../tokens/token-client.ts'

const BOUND = { withinMs: 30_000 }
const FAILS = { kind: 'answer', status: 500 } as const
const QUEUE = '{name="ownedaccesskey",controller="ownedaccesskey"}'

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
let proxy: FaultProxy
let manager: OwnOperator

beforeAll(async () => {
  proxy = await startProxy(plane)
  const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
  manager = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`, '--workers=1'] })
})
afterAll(async () => {
  await manager?.stop()
  await proxy?.[Symbol.asyncDispose]()
})

const valueNow = async (series: string, process: Operator = manager): Promise<number> =>
  valueOf(await process.metrics(), series)

/** That a series has this value now. */
const shows = (series: string, value: number) => async (): Promise<void> =>
  expect(await valueNow(series)).toBe(value)

/** The age passes a second: it grows, and is no leftover. */
const grows = (series: string): Promise<number> =>
  eventually(
    `${series} grows`,
    async () => {
      const seconds = await valueNow(series)
      return seconds > 1 ? seconds : undefined
    },
    BOUND,
  )

const writesTo =
  (path: string): Match =>
  (request) =>
    isWrite(request) && request.path.includes(path)

/** That the object has expired, in its status. */
const tellsExpiry =
  (path: string): Match =>
  (request) =>
    writesTo(path)(request) && request.body.includes('"Expired"')

test('a record that can not be stored (8.4, 7.4)', async () => {
  const token = await tokens.issue()
  const rule = proxy.on(writesTo('/configmaps'), FAILS)
  await tokens.remove(token)
  await eventuallyPasses('a record waits', shows('platform_revocation_backlog', 1), BOUND)
  await grows('platform_revocation_backlog_seconds')
  rule.remove()
  await eventuallyPasses('none waits', shows('platform_revocation_backlog', 0), BOUND)
  await eventuallyPasses('none is old', shows('platform_revocation_backlog_seconds', 0), BOUND)
})

test('a key whose status does not say that it expired (8.4, 2.7)', async () => {
  const rule = proxy.on(tellsExpiry('/ownedaccesskeys/'), FAILS)
  const key = await keys.create({ ttl: 3 })
  await eventuallyPasses(
    'a key is late',
    shows('platform_expirations_overdue{kind="OwnedAccessKey"}', 1),
    BOUND,
  )
  await grows('platform_expirations_overdue_seconds{kind="OwnedAccessKey"}')
  await eventuallyPasses(
    'no token is late',
    shows('platform_expirations_overdue{kind="DirectClusterEndpointToken"}', 0),
    BOUND,
  )
  rule.remove()
  await keys.shown(key, 'Expired')
  await eventuallyPasses(
    'no key is late',
    shows('platform_expirations_overdue{kind="OwnedAccessKey"}', 0),
    BOUND,
  )
  await eventuallyPasses(
    'none was',
    shows('platform_expirations_overdue_seconds{kind="OwnedAccessKey"}', 0),
    BOUND,
  )
})

test('a token whose status does not say that it expired (8.4)', async () => {
  const rule = proxy.on(tellsExpiry('/directclusterendpointtokens/'), FAILS)
  // Time enough to be issued, however busy the machine is: else it never was out.
  const token = await tokens.issue({ ttl: 8 })
  await eventuallyPasses(
    'a token is late',
    shows('platform_expirations_overdue{kind="DirectClusterEndpointToken"}', 1),
    BOUND,
  )
  await grows('platform_expirations_overdue_seconds{kind="DirectClusterEndpointToken"}')
  rule.remove()
  await tokens.shown(token, 'Expired')
  await eventuallyPasses(
    'no token is late',
    shows('platform_expirations_overdue{kind="DirectClusterEndpointToken"}', 0),
    BOUND,
  )
})

test('an object that waits while another is in hand (8.4)', async () => {
  const [held, waiting] = [await keys.create(), await keys.create()]
  await keys.shown(held, 'Active')
  await keys.shown(waiting, 'Active')
  const rule = proxy.on(writesTo(`/ownedaccesskeys/${held.metadata.name}`), { kind: 'hold' })
  await keys.patch(held, { spec: { disabled: true } })
  await rule.reached(BOUND)
  await keys.patch(waiting, { spec: { disabled: true } })
  await grows(`platform_queue_age_seconds${QUEUE}`)
  await grows(`workqueue_longest_running_processor_seconds${QUEUE}`)
  await grows(`workqueue_unfinished_work_seconds${QUEUE}`)
  rule.release()
  await keys.shown(waiting, 'Disabled')
  await eventuallyPasses('nothing waits', shows(`platform_queue_age_seconds${QUEUE}`, 0), BOUND)
  const atRest = shows(`workqueue_unfinished_work_seconds${QUEUE}`, 0)
  await eventuallyPasses('nothing is in hand', atRest, BOUND)
})

test('a signing key that is corrupt (8.4, 7.3)', async () => {
  const secrets = '/api/v1/namespaces/platform-system/secrets'
  const metadata = { name: 'platform-signing-key-99' }
  await plane.raw('POST', secrets, { metadata, type: SIGNING_KEY_TYPE, stringData: { kid: 'x' } })
  await eventuallyPasses('a Secret is corrupt', shows('platform_signing_key_faults', 1), BOUND)
  await plane.raw('DELETE', `${secrets}/${metadata.name}`)
  await eventuallyPasses('none is', shows('platform_signing_key_faults', 0), BOUND)
})

test('roles of scopes that a gateway can not read: what it publishes is known all the same (8.4, 10.4, 15)', async () => {
  const { namespace, name } = GATEWAY_ACCOUNT
  await using line = await startProxy(plane)
  const unreadable: Match = ({ path }) => path.includes('/clusterroles/')
  const atFirst = line.on(unreadable, FAILS)
  const kubeconfig = await line.kubeconfig(await plane.serviceAccountKubeconfig(namespace, name))
  const flags = [`--issuer-url=${ISSUER}`]
  await using gateway = await startGateway({ kubeconfig, flags, until: 'serving' })
  const unready = async (): Promise<readonly string[]> =>
    Array.from(
      (await gateway.metrics()).matchAll(/^platform_ready\{check="(.+)"\} 0$/gm),
      ([, check = '']) => check,
    )
  const age = 'platform_gateway_watch_age_seconds'
  const ageOfKeys = () => valueNow(`${age}{of="keys"}`, gateway)

  const lacks = (checks: readonly string[]) => async (): Promise<void> =>
    expect(await unready()).toEqual(checks)
  await eventuallyPasses('it lacks the roles alone', lacks(['roles-read']), BOUND)
  expect(await gateway.metrics()).toContain(`${age}{of="keys"} +Inf\n`)
  expect(await valueNow(`${age}{of="published"}`, gateway)).toBeLessThan(300)

  atFirst.remove()
  await eventuallyPasses('it is ready', lacks([]), BOUND)
  expect(await ageOfKeys()).toBeLessThan(15)

  const later = line.on(unreadable, FAILS)
  const old = async () => (await ageOfKeys()) > 15 || undefined
  await eventually('what it knows is too old', old, BOUND)
  expect(await unready()).toEqual([])
  later.remove()
  const fresh = async () => (await ageOfKeys()) < 15 || undefined
  await eventually('it is known again', fresh, BOUND)
})
