/** @module-tag no-retry */
// 500 keys, 200 requests at a time, over connections that they share and break off at random: nobody is told what
// is somebody else's, and nothing runs as somebody else (threats A12, 2.0; contract 10.5).
import { describe, expect, test } from 'vitest'
import { auditOf } from '../../support/audit-log.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import type { Audited } from '../../support/fuzz/audited.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { randomFrom } from '../../support/random.ts'
import { repeated } from '../../support/tier.ts'
import { startForgetfulGateway } from '../../support/wrong-gateways.ts'
import {
  CROWD_NAMESPACE,
  type Gate,
  CROWD_REQUESTS,
  callConcurrently,
  crowdMembersOf,
  leaksIn,
} from './concurrent-callers.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await privateControlPlane())
const { plane } = front
const audit = auditOf(plane)
const MEMBERS = repeated(50, 500)
const REQUESTS = repeated(1000, 20_000)
const SEED = Date.now() % 1_000_000
const gateway = { url: front.gateways[0]?.url() ?? '', ca: front.ca }
const gateOf = ({ url, ca }: Gate): Gate => ({ url: `${url}${MANAGEMENT}`, ca })

const must = async (path: string, body: object): Promise<void> => {
  const { code } = await plane.raw('POST', path, body)
  if (code !== 201) throw new Error(`POST ${path}: ${code}`)
}

await must('/api/v1/namespaces', { metadata: { name: CROWD_NAMESPACE } })
const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${CROWD_NAMESPACE}`
await must(`${rbac}/roles`, {
  metadata: { name: 'crowd' },
  rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'patch'] }],
})
// All of them: what keeps each to its own is the scope of its key.
await must(`${rbac}/rolebindings`, {
  metadata: { name: 'crowd' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'crowd' },
  subjects: [
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'platform:authenticated' },
  ],
})
const members = await crowdMembersOf(front.keys, MEMBERS)
await Promise.all(
  members.map(async ({ name, token }, at) => {
    // Of very different lengths, so that some answers take many pieces.
    const data = { of: `${name}${' '.repeat(80)}`.repeat(1 + (at % 8) ** 3) }
    await must(`/api/v1/namespaces/${CROWD_NAMESPACE}/configmaps`, { metadata: { name }, data })
    const opens = async () => (await front.ask(token, '/version')).code === 200 || undefined
    await eventually('the key opens', opens, SOON)
  }),
)

test(`nobody is told what is somebody else's, ${REQUESTS} times: seed ${SEED} (A12, 10.5)`, async () => {
  const mark = await audit.mark()
  const exchanges = await callConcurrently(gateOf(gateway), members, REQUESTS, randomFrom(SEED))

  expect(exchanges).toHaveLength(REQUESTS)
  const wrong = exchanges.map((exchange) => ({
    asked: exchange.question.name,
    by: exchange.member.name,
    wrong: leaksIn(exchange),
    told: exchange.body.slice(0, 500),
  }))
  expect(wrong.filter((one) => one.wrong.length > 0).slice(0, 5)).toEqual([])
  const whole = exchanges.filter(({ isWhole }) => isWhole)
  const broken = exchanges.filter(({ isWhole, body }) => !isWhole && body !== '')
  console.log(`measured: ${whole.length} whole answers, ${broken.length} broken off on their way`)
  expect(whole.length).toBeGreaterThan(REQUESTS / 3)
  expect(broken.length).toBeGreaterThan(REQUESTS / 100)
  const answered = CROWD_REQUESTS.filter((question) =>
    exchanges.some((one) => one.question === question && one.code === question.code),
  )
  expect(answered).toEqual(CROWD_REQUESTS)

  // When a write comes in it is not known yet as whom it is to run.
  const { own = [], asSomebody = [] } = Object.groupBy(
    (await audit.linesSince(mark, GATEWAY_USER))
      .map((line) => JSON.parse(line) as Audited)
      .filter(({ stage }) => stage !== 'RequestReceived')
      // The gateway tries once a minute whether it may act for anybody.
      .filter(({ impersonatedUser }) => impersonatedUser?.username !== 'heartbeat'),
    ({ impersonatedUser }) => (impersonatedUser ? 'asSomebody' : 'own'),
  )
  expect(asSomebody.filter(isMixedUp)).toEqual([])
  expect(asSomebody.length).toBeGreaterThan(whole.length / 2)
  expect(asSomebody.map(asAnother).every(isMixedUp)).toBe(true)
  const deeds = new Set(own.map(deedOf))
  expect([...deeds].filter((deed) => !OWN_DEEDS.has(deed))).toEqual([])
  expect(deeds).toContain('patch ownedaccesskeys/status of-N')
})

const NAMES = /of-\d{4}/g

/** Whether a request ran as somebody whose object it is not, or with another's key. */
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

/** The same request, had it run as the member with the next number. */
const asAnother = (event: Audited): Audited => {
  const { username = '', ...user } = event.impersonatedUser ?? {}
  const next = `of-${String((Number(username.slice(3)) + 1) % MEMBERS).padStart(4, '0')}`
  return { ...event, impersonatedUser: { ...user, username: next } }
}

/** What it did, without the number of whose key it is. */
function deedOf({ verb, objectRef = {} }: Audited): string {
  const { resource = '', subresource = '', name = '' } = objectRef
  const whom = name.replace(NAMES, 'of-N').replace(/^(platform:scope:).*/, '$1')
  return `${verb} ${resource}${subresource && '/'}${subresource} ${whom}`.trim()
}

/** What the gateway does as itself while nobody asks for our own kinds (contract 10.3, 10.4, 14.1). */
const OWN_DEEDS: ReadonlySet<string> = new Set([
  'list ownedaccesskeys',
  'watch ownedaccesskeys',
  'get ownedaccesskeys platform-heartbeat',
  'patch ownedaccesskeys platform-heartbeat',
  'patch ownedaccesskeys/status of-N',
  'list configs',
  'watch configs',
  'get configs platform-manager-config',
  'list configmaps',
  'watch configmaps',
  'get configmaps platform-config-in-force',
  'get clusterroles platform:scope:',
  'get secrets platform-gateway-ca',
  'get secrets platform-gateway-tls',
])

describe('a gateway that keeps who calls between requests', () => {
  test('is found out', async () => {
    await using forgetful = await startForgetfulGateway(gateway)
    const exchanges = await callConcurrently(gateOf(forgetful), members, 500, randomFrom(SEED))
    const wrong = [...new Set(exchanges.flatMap(leaksIn))]
    expect(wrong).toContain("it has the end of somebody else's key")
    expect(wrong.some((because) => because.endsWith('of somebody else'))).toBe(true)
  })
})
