// The API server does not let the gateway act for its callers: its role is not bound, which is what also comes of
// constrained impersonation that is not there (contract 8.2, 10.5). Every request of a caller is refused then, so it
// is told where an administrator looks, and a gateway that starts takes no callers.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ISSUER, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { type OwnGateway, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT, GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { sumOf } from '../../support/metrics-text.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { OUR_EXTRA, asGateway } from './account-client.ts'

interface Binding {
  readonly metadata: { readonly name: string }
}

const SOON = { withinMs: 20_000 }
/** It is tried each minute, and what was granted holds in the API server for ten seconds more. */
const WITHIN_A_TRIAL = { withinMs: 90_000 }
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
const BINDING = 'management-operator-gateway-impersonation'
const LOST = 'the API server does not let this gateway act for its callers'
const REGAINED = 'the API server lets this gateway act for its callers again'
const TOKEN = uniqueName('k'.repeat(32))

const plane = await privateControlPlane()
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [`--issuer-url=${ISSUER}`],
})
afterAll(() => operator.stop())
const asAccount = await asGateway(plane)
const { body: binding } = await plane.raw<Binding>('GET', `${BINDINGS}/${BINDING}`)
let gateway: OwnGateway

const unbind = async (): Promise<void> => {
  expect(await plane.raw('DELETE', `${BINDINGS}/${BINDING}`)).toMatchObject({ code: 200 })
}
const bindAgain = async (): Promise<void> => {
  const { metadata, ...rest } = binding
  const anew = { ...rest, metadata: { name: metadata.name } }
  expect(await plane.raw('POST', BINDINGS, anew)).toMatchObject({ code: 201 })
}

const readiness = () => gateway.health('/readyz?verbose')
const lines = (sentence: string) => gateway.logs().filter(({ msg }) => msg === sentence)

/** Answers of that code to requests of the gateway itself, so far. */
const counted = async (code: string): Promise<number> =>
  sumOf(await gateway.metrics(), 'rest_client_requests_total', `code="${code}"`)

/** What a caller with a key is told about a path. */
async function told(path: string): Promise<{ readonly code: number; readonly body: string }> {
  const url = `${gateway.url()}/kubernetes/management${path}`
  const headers = { authorization: `Bearer ${TOKEN}` }
  return ask(url, { ca: await gatewayCa(plane.admin), headers })
}

beforeAll(async () => {
  await keyClientOf(plane).create({ user: 'ada', key: TOKEN })
  await unbind()
  const isRefused = async (): Promise<true | undefined> => {
    const { code } = await asAccount('GET', '/version', { user: 'ada', ...OUR_EXTRA })
    return code === 403 || undefined
  }
  await eventually('it is not bound any more', isRefused, SOON)
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  gateway = await startGateway({ kubeconfig, flags: [`--issuer-url=${ISSUER}`], until: 'serving' })
})
afterAll(() => gateway?.stop())

test('a gateway that starts is not ready, and says what it lacks (8.2, 10.5)', async () => {
  const isAllThatFails = async () => {
    const { code, body } = await readiness()
    expect(code).toBe(500)
    expect(body.split('\n').filter((line) => line.startsWith('[-]'))).toEqual([
      expect.stringMatching(
        new RegExp(
          `^\\[-\\]may-act failed: the gateway is not known to act for its callers: .*User "${GATEWAY_USER}" cannot impersonate`,
        ),
      ),
    ])
  }
  await eventuallyPasses('nothing else is missing', isAllThatFails, SOON)
  await staysTrue('it is not ready', isAllThatFails, { forMs: 6000 })
  expect(lines(LOST)).toMatchObject([
    { level: 'error', refusal: expect.stringContaining('cannot impersonate') },
  ])
  await eventuallyPasses(
    'it is counted each time',
    async () => expect(await counted('403')).toBeGreaterThan(1),
    SOON,
  )
})

test('once it may act it is ready, and says so', async () => {
  await bindAgain()
  await eventuallyPasses(
    'it is ready',
    async () => expect(await readiness()).toMatchObject({ code: 200 }),
    SOON,
  )
  expect(lines(LOST)).toHaveLength(1)
  expect(lines(REGAINED)).toHaveLength(1)
  await eventuallyPasses(
    'it acts',
    async () => expect(await told('/version')).toMatchObject({ code: 200 }),
    SOON,
  )
})

test('what RBAC refuses a caller is the business of the caller, and not counted as its own', async () => {
  const before = await counted('403')
  for (let n = 0; n < 3; n += 1)
    expect(await told('/api/v1/nodes')).toMatchObject({
      code: 403,
      body: expect.stringContaining('User \\"ada\\" cannot list resource'),
    })
  expect(await counted('403')).toBe(before)
})

test('what it does itself for a caller is counted as its own (12.1)', async () => {
  const before = await counted('200')
  const OWN = '/apis/management.platform.sh/v1/ownedaccesskeys'
  for (let n = 0; n < 3; n += 1) expect(await told(OWN)).toMatchObject({ code: 200 })
  expect(await counted('200')).toBeGreaterThanOrEqual(before + 3)
})

test('a gateway that runs and may act no more stays ready, logs it once and counts it (10.5)', async () => {
  const before = await counted('403')
  await unbind()
  const isReady = async () => expect(await readiness()).toMatchObject({ code: 200 })
  await eventually(
    'it is told',
    async () => {
      await isReady()
      return lines(LOST).length > 1 || undefined
    },
    WITHIN_A_TRIAL,
  )
  expect(await told('/api/v1/nodes')).toMatchObject({
    code: 403,
    body: expect.stringContaining(`User \\"${GATEWAY_USER}\\" cannot impersonate`),
  })
  await eventuallyPasses(
    'it is counted again and again',
    async () => expect(await counted('403')).toBeGreaterThan(before + 2),
    WITHIN_A_TRIAL,
  )
  await isReady()
  expect(lines(LOST)).toHaveLength(2)
  await bindAgain()
  await eventually('it may again', () => lines(REGAINED).length > 1 || undefined, SOON)
})
