// The metrics behind alerts: each rises while a manager or gateway can't do its work, and falls when the work is done.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SIGNING_KEY_TYPE } from '../../../src/api/names.ts'
import {
  ISSUER,
  type Operator,
  type OwnOperator,
  startOperator,
} from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { type FaultProxy, type Match, isWrite, startProxy } from '../../support/fault-proxy.ts'
import { startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { valueOf } from '../../support/metrics-page.ts'
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

/** Expects the present value of a series. */
const hasValue = (series: string, value: number) => async (): Promise<void> =>
  expect(await valueNow(series)).toBe(value)

/** Waits until an age exceeds a second. */
const untilAged = (series: string): Promise<number> =>
  eventually(
    `${series} exceeds a second`,
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

/** Matches the status write of an expiry. */
const isExpiryStatus =
  (path: string): Match =>
  (request) =>
    writesTo(path)(request) && request.body.includes('"Expired"')

test("a revocation record that can't be stored (8.4, 7.4)", async () => {
  const token = await tokens.issue()
  const rule = proxy.on(writesTo('/configmaps'), FAILS)
  await tokens.remove(token)
  await eventuallyPasses(
    'one record is in the backlog',
    hasValue('platform_revocation_backlog', 1),
    BOUND,
  )
  await untilAged('platform_revocation_backlog_seconds')
  rule.remove()
  await eventuallyPasses('the backlog is empty', hasValue('platform_revocation_backlog', 0), BOUND)
  await eventuallyPasses(
    'the backlog has no age',
    hasValue('platform_revocation_backlog_seconds', 0),
    BOUND,
  )
})

test('an expired key whose status write fails (8.4, 2.7)', async () => {
  const rule = proxy.on(isExpiryStatus('/ownedaccesskeys/'), FAILS)
  const key = await keys.create({ ttl: 3 })
  await eventuallyPasses(
    'one key is overdue',
    hasValue('platform_expirations_overdue{kind="OwnedAccessKey"}', 1),
    BOUND,
  )
  await untilAged('platform_expirations_overdue_seconds{kind="OwnedAccessKey"}')
  await eventuallyPasses(
    'no token is overdue',
    hasValue('platform_expirations_overdue{kind="DirectClusterEndpointToken"}', 0),
    BOUND,
  )
  rule.remove()
  await keys.shown(key, 'Expired')
  await eventuallyPasses(
    'no key is overdue',
    hasValue('platform_expirations_overdue{kind="OwnedAccessKey"}', 0),
    BOUND,
  )
  await eventuallyPasses(
    'no token was overdue',
    hasValue('platform_expirations_overdue_seconds{kind="OwnedAccessKey"}', 0),
    BOUND,
  )
})

test('an expired token whose status write fails (8.4)', async () => {
  const rule = proxy.on(isExpiryStatus('/directclusterendpointtokens/'), FAILS)
  // Long enough to be issued on a busy machine before it expires.
  const token = await tokens.issue({ ttl: 8 })
  await eventuallyPasses(
    'one token is overdue',
    hasValue('platform_expirations_overdue{kind="DirectClusterEndpointToken"}', 1),
    BOUND,
  )
  await untilAged('platform_expirations_overdue_seconds{kind="DirectClusterEndpointToken"}')
  rule.remove()
  await tokens.shown(token, 'Expired')
  await eventuallyPasses(
    'no token is overdue',
    hasValue('platform_expirations_overdue{kind="DirectClusterEndpointToken"}', 0),
    BOUND,
  )
})

test('an object that waits in the work queue (8.4)', async () => {
  const [held, waiting] = [await keys.create(), await keys.create()]
  await keys.shown(held, 'Active')
  await keys.shown(waiting, 'Active')
  const rule = proxy.on(writesTo(`/ownedaccesskeys/${held.metadata.name}`), { kind: 'hold' })
  await keys.patch(held, { spec: { disabled: true } })
  await rule.reached(BOUND)
  await keys.patch(waiting, { spec: { disabled: true } })
  await untilAged(`platform_queue_age_seconds${QUEUE}`)
  await untilAged(`workqueue_longest_running_processor_seconds${QUEUE}`)
  await untilAged(`workqueue_unfinished_work_seconds${QUEUE}`)
  rule.release()
  await keys.shown(waiting, 'Disabled')
  await eventuallyPasses(
    'the work queue has no age',
    hasValue(`platform_queue_age_seconds${QUEUE}`, 0),
    BOUND,
  )
  const atRest = hasValue(`workqueue_unfinished_work_seconds${QUEUE}`, 0)
  await eventuallyPasses('no worker is active', atRest, BOUND)
})

test('a corrupt signing key (8.4, 7.3)', async () => {
  const secrets = '/api/v1/namespaces/platform-system/secrets'
  const metadata = { name: 'platform-signing-key-99' }
  await plane.raw('POST', secrets, { metadata, type: SIGNING_KEY_TYPE, stringData: { kid: 'x' } })
  await eventuallyPasses('one Secret is corrupt', hasValue('platform_signing_key_faults', 1), BOUND)
  await plane.raw('DELETE', `${secrets}/${metadata.name}`)
  await eventuallyPasses('no Secret is corrupt', hasValue('platform_signing_key_faults', 0), BOUND)
})

test("roles of scopes that a gateway can't read, while it knows what it publishes (8.4, 10.4, 15)", async () => {
  const { namespace, name } = GATEWAY_ACCOUNT
  await using gatewayProxy = await startProxy(plane)
  const isRoleRead: Match = ({ path }) => path.includes('/clusterroles/')
  const rolesFault = gatewayProxy.on(isRoleRead, FAILS)
  const kubeconfig = await gatewayProxy.kubeconfig(
    await plane.serviceAccountKubeconfig(namespace, name),
  )
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
  await eventuallyPasses('only the check of roles fails', lacks(['roles-read']), BOUND)
  expect(await gateway.metrics()).toContain(`${age}{of="keys"} +Inf\n`)
  expect(await valueNow(`${age}{of="published"}`, gateway)).toBeLessThan(300)

  rolesFault.remove()
  await eventuallyPasses('the gateway is ready', lacks([]), BOUND)
  expect(await ageOfKeys()).toBeLessThan(15)

  const later = gatewayProxy.on(isRoleRead, FAILS)
  const old = async () => (await ageOfKeys()) > 15 || undefined
  await eventually('its view of revoked tokens is too old', old, BOUND)
  expect(await unready()).toEqual([])
  later.remove()
  const fresh = async () => (await ageOfKeys()) < 15 || undefined
  await eventually('its view is fresh again', fresh, BOUND)
})
