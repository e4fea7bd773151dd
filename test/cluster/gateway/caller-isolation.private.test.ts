/** @module-tag no-retry */
// 500 keys send 200 requests at a time over shared connections and disconnect at random: no caller gets another's data,
// and no request runs as another user (threats A12; contract 10.5).
import { describe, expect, test } from 'vitest'
import { type Audited, auditOf } from '../../support/audit-log.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { startForgetfulGateway } from '../../support/naive-gateways.ts'
import { randomFrom } from '../../support/random.ts'
import { repeated } from '../../support/tier.ts'
import {
  CALLERS_NAMESPACE,
  type GatewayAddress,
  REQUEST_KINDS,
  callConcurrently,
  createCallers,
  leaksIn,
} from './concurrent-callers.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { plane } = setup
const audit = auditOf(plane)
const CALLERS = repeated(50, 500)
const REQUESTS = repeated(1000, 20_000)
const SEED = Date.now() % 1_000_000
const gateway = { url: setup.gateways[0]?.url() ?? '', ca: setup.ca }
const managementOf = ({ url, ca }: GatewayAddress): GatewayAddress => ({
  url: `${url}${MANAGEMENT}`,
  ca,
})

const must = async (path: string, body: object): Promise<void> => {
  const { code } = await plane.raw('POST', path, body)
  if (code !== 201) throw new Error(`POST ${path}: ${code}`)
}

await must('/api/v1/namespaces', { metadata: { name: CALLERS_NAMESPACE } })
const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${CALLERS_NAMESPACE}`
await must(`${rbac}/roles`, {
  metadata: { name: 'callers' },
  rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'patch'] }],
})
// RBAC grants all objects to all callers: only the scope of its key limits a caller to its own.
await must(`${rbac}/rolebindings`, {
  metadata: { name: 'callers' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'callers' },
  subjects: [
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'platform:authenticated' },
  ],
})
const callers = await createCallers(setup.keys, CALLERS)
await Promise.all(
  callers.map(async ({ name, token }, at) => {
    // Of very different lengths, so that some answers take many chunks.
    const data = { of: `${name}${' '.repeat(80)}`.repeat(1 + (at % 8) ** 3) }
    await must(`/api/v1/namespaces/${CALLERS_NAMESPACE}/configmaps`, { metadata: { name }, data })
    const isAccepted = async () => (await setup.ask(token, '/version')).code === 200 || undefined
    await eventually('the gateway accepts the key', isAccepted, SOON)
  }),
)

test(`each of ${REQUESTS} answers has data of its own caller only: seed ${SEED} (A12, 10.5)`, async () => {
  const mark = await audit.mark()
  const exchanges = await callConcurrently(
    managementOf(gateway),
    callers,
    REQUESTS,
    randomFrom(SEED),
  )

  expect(exchanges).toHaveLength(REQUESTS)
  const wrong = exchanges.map((exchange) => ({
    asked: exchange.request.name,
    by: exchange.caller.name,
    wrong: leaksIn(exchange),
    body: exchange.body.slice(0, 500),
  }))
  expect(wrong.filter((one) => one.wrong.length > 0).slice(0, 5)).toEqual([])
  const whole = exchanges.filter(({ isWhole }) => isWhole)
  const broken = exchanges.filter(({ isWhole, body }) => !isWhole && body !== '')
  console.log(`measured: ${whole.length} whole answers, ${broken.length} cut off`)
  expect(whole.length).toBeGreaterThan(REQUESTS / 3)
  expect(broken.length).toBeGreaterThan(REQUESTS / 100)
  const answered = REQUEST_KINDS.filter((request) =>
    exchanges.some((one) => one.request === request && one.code === request.code),
  )
  expect(answered).toEqual(REQUEST_KINDS)

  // At stage RequestReceived the audit log doesn't have the impersonated user of a write yet.
  const { own = [], impersonated = [] } = Object.groupBy(
    (await audit.linesSince(mark, GATEWAY_USER))
      .map((line) => JSON.parse(line) as Audited)
      .filter(({ stage }) => stage !== 'RequestReceived')
      // The impersonation probe of the gateway runs once a minute.
      .filter(({ impersonatedUser }) => impersonatedUser?.username !== 'heartbeat'),
    ({ impersonatedUser }) => (impersonatedUser ? 'impersonated' : 'own'),
  )
  expect(impersonated.filter(isMixedUp)).toEqual([])
  expect(impersonated.length).toBeGreaterThan(whole.length / 2)
  expect(impersonated.map(asAnother).every(isMixedUp)).toBe(true)
  const operations = new Set(own.map(operationOf))
  expect([...operations].filter((operation) => !OWN_OPERATIONS.has(operation))).toEqual([])
  expect(operations).toContain('patch ownedaccesskeys/status of-N')
})

const NAMES = /of-\d{4}/g

/** Whether a request ran as a user whose object it is not, or with the key of another. */
function isMixedUp({ impersonatedUser, objectRef, requestURI }: Audited): boolean {
  const { username = '', groups = [], extra = {} } = impersonatedUser ?? {}
  const named = requestURI.match(NAMES) ?? []
  const isForeign = (name: string): boolean => name !== username
  return (
    [...named, ...(extra['platform.sh/access-key'] ?? ['nobody'])].some(isForeign) ||
    !groups.includes(`platform:user:${username}`) ||
    (objectRef?.['resource'] === 'configmaps' && isForeign(objectRef['name'] ?? ''))
  )
}

/** The same event with the next caller as impersonated user. */
const asAnother = (event: Audited): Audited => {
  const { username = '', ...user } = event.impersonatedUser ?? {}
  const next = `of-${String((Number(username.slice(3)) + 1) % CALLERS).padStart(4, '0')}`
  return { ...event, impersonatedUser: { ...user, username: next } }
}

/** Verb and resource, without the number of the caller. */
function operationOf({ verb, objectRef = {} }: Audited): string {
  const { resource = '', subresource = '', name = '' } = objectRef
  const generic = name.replace(NAMES, 'of-N').replace(/^(platform:scope:).*/, '$1')
  return `${verb} ${resource}${subresource && '/'}${subresource} ${generic}`.trim()
}

/** The gateway's requests as itself while no caller uses the platform's kinds (contract 10.3, 10.4, 14.1). */
const OWN_OPERATIONS: ReadonlySet<string> = new Set([
  'list ownedaccesskeys',
  'watch ownedaccesskeys',
  'get ownedaccesskeys platform-heartbeat',
  'patch ownedaccesskeys platform-heartbeat',
  ...['users', 'teams'].flatMap((kind) => [
    `list ${kind}`,
    `watch ${kind}`,
    `get ${kind} platform-heartbeat`,
    `patch ${kind} platform-heartbeat`,
  ]),
  'patch ownedaccesskeys/status of-N',
  // Watches end by themselves after some minutes, and begin again.
  'watch directclusterendpointtokens',
  'list configs',
  'watch configs',
  'get configs platform-manager-config',
  'list configmaps',
  // Those of targets, in a namespace of their own.
  'list secrets',
  'watch configmaps',
  'get configmaps platform-config-in-force',
  'get clusterroles platform:scope:',
  'get secrets platform-gateway-ca',
  'get configmaps platform-gateway-ca',
  'get secrets platform-gateway-tls',
])

describe('a gateway that reuses the caller of an earlier request', () => {
  test('is detected', async () => {
    await using forgetful = await startForgetfulGateway(gateway)
    const exchanges = await callConcurrently(
      managementOf(forgetful),
      callers,
      500,
      randomFrom(SEED),
    )
    const wrong = [...new Set(exchanges.flatMap(leaksIn))]
    expect(wrong).toContain("it has the expiry of another caller's key")
    expect(wrong.some((because) => because.endsWith('of another caller'))).toBe(true)
  })
})
