// A gateway that may not impersonate, because its role is not bound or the API server lacks constrained impersonation:
// readiness, log and metrics report it, as every forwarded request is refused then (contract 8.2, 10.5).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { type OwnGateway, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT, GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { sumOf } from '../../support/metrics-page.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { KEY_EXTRA, gatewayAccountClient } from './in-process-gateway.ts'

interface Binding {
  readonly metadata: { readonly name: string }
}

const SOON = { withinMs: 20_000 }
/** The gateway probes each minute, and the API server caches an authorization for ten seconds. */
const WITHIN_A_PROBE = { withinMs: 90_000 }
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
const BINDING = 'management-operator-gateway-impersonation'
const LOST = 'the API server does not let this server act for its callers'
const REGAINED = 'the API server lets this server act for its callers again'
const TOKEN = uniqueName('k'.repeat(32))

const plane = await privateControlPlane()
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [`--issuer-url=${ISSUER}`],
})
afterAll(() => operator.stop())
const accountClient = await gatewayAccountClient(plane)
const { body: binding } = await plane.raw<Binding>('GET', `${BINDINGS}/${BINDING}`)
let gateway: OwnGateway

const unbind = async (): Promise<void> => {
  expect(await plane.raw('DELETE', `${BINDINGS}/${BINDING}`)).toMatchObject({ code: 200 })
}
const bind = async (): Promise<void> => {
  const { metadata, ...rest } = binding
  const body = { ...rest, metadata: { name: metadata.name } }
  expect(await plane.raw('POST', BINDINGS, body)).toMatchObject({ code: 201 })
}

const readiness = () => gateway.health('/readyz?verbose')
const lines = (sentence: string) => gateway.logs().filter(({ msg }) => msg === sentence)

/** How many of the gateway's own requests were answered with this code. */
const counted = async (code: string): Promise<number> =>
  sumOf(await gateway.metrics(), 'rest_client_requests_total', `code="${code}"`)

/** Gets a path with a key. */
async function askAs(path: string): Promise<{ readonly code: number; readonly body: string }> {
  const url = `${gateway.url()}/kubernetes/management${path}`
  const headers = { authorization: `Bearer ${TOKEN}` }
  return ask(url, { ca: await gatewayCa(plane.admin), headers })
}

beforeAll(async () => {
  await keyClientOf(plane).create({ user: 'ada', key: TOKEN })
  await unbind()
  const isRefused = async (): Promise<true | undefined> => {
    const { code } = await accountClient('GET', '/version', { user: 'ada', ...KEY_EXTRA })
    return code === 403 || undefined
  }
  await eventually('the API server refuses impersonation', isRefused, SOON)
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  gateway = await startGateway({ kubeconfig, flags: [`--issuer-url=${ISSUER}`], until: 'serving' })
})
afterAll(() => gateway?.stop())

test('a gateway that starts without the right is not ready, and names it (8.2, 10.5)', async () => {
  const isOnlyFailure = async () => {
    const { code, body } = await readiness()
    expect(code).toBe(500)
    expect(body.split('\n').filter((line) => line.startsWith('[-]'))).toEqual([
      expect.stringMatching(
        new RegExp(
          `^\\[-\\]may-act failed: it is not proven that this server may act for its callers: .*User "${GATEWAY_USER}" cannot impersonate`,
        ),
      ),
    ])
  }
  await eventuallyPasses('no other check fails', isOnlyFailure, SOON)
  await staysTrue('the gateway is not ready', isOnlyFailure, { forMs: 6000 })
  expect(lines(LOST)).toMatchObject([
    { level: 'error', refusal: expect.stringContaining('cannot impersonate') },
  ])
  await eventuallyPasses(
    'each probe is counted',
    async () => expect(await counted('403')).toBeGreaterThan(1),
    SOON,
  )
})

test('the gateway becomes ready and logs it once the role is bound', async () => {
  await bind()
  await eventuallyPasses(
    'the gateway is ready',
    async () => expect(await readiness()).toMatchObject({ code: 200 }),
    SOON,
  )
  expect(lines(LOST)).toHaveLength(1)
  expect(lines(REGAINED)).toHaveLength(1)
  await eventuallyPasses(
    'a request is forwarded',
    async () => expect(await askAs('/version')).toMatchObject({ code: 200 }),
    SOON,
  )
})

test('a 403 of a forwarded request is not counted as a request of the gateway', async () => {
  const before = await counted('403')
  for (let n = 0; n < 3; n += 1)
    expect(await askAs('/api/v1/nodes')).toMatchObject({
      code: 403,
      body: expect.stringContaining('User \\"ada\\" cannot list resource'),
    })
  expect(await counted('403')).toBe(before)
})

test('a request of the gateway itself for self-service is counted (12.1)', async () => {
  const before = await counted('200')
  const OWN_KIND = '/apis/management.platform.sh/v1/ownedaccesskeys'
  for (let n = 0; n < 3; n += 1) expect(await askAs(OWN_KIND)).toMatchObject({ code: 200 })
  expect(await counted('200')).toBeGreaterThanOrEqual(before + 3)
})

test('a running gateway that loses the right stays ready, logs it once, counts it, and answers 503 (10.4, 10.5)', async () => {
  const before = await counted('403')
  await unbind()
  const isReady = async () => expect(await readiness()).toMatchObject({ code: 200 })
  await eventually(
    'the loss is logged',
    async () => {
      await isReady()
      return lines(LOST).length > 1 || undefined
    },
    WITHIN_A_PROBE,
  )
  const refused = await askAs('/api/v1/nodes')
  expect(refused.code).toBe(503)
  expect(refused.body).not.toContain(GATEWAY_USER)
  await eventuallyPasses(
    'further probes are counted',
    async () => expect(await counted('403')).toBeGreaterThan(before + 2),
    WITHIN_A_PROBE,
  )
  await isReady()
  expect(lines(LOST)).toHaveLength(2)
  await bind()
  await eventually('the recovery is logged', () => lines(REGAINED).length > 1 || undefined, SOON)
})
