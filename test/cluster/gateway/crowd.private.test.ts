import { writeFileSync } from 'node:fs'
// 500 keys, 200 requests at a time, over connections that they share and break off at random: nobody is told what
// is somebody else's, and nothing runs as somebody else (threats A12, 2.0; contract 10.5).
import { createServer } from 'node:https'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { auditOf } from '../../support/audit.ts'
import { eventually } from '../../support/eventually.ts'
import type { Audited } from '../../support/fuzz/audited.ts'
import { GATEWAY_USER } from '../../support/installed.ts'
import { randomFrom } from '../../support/random.ts'
import { createAuthority, issueServing } from '../../../tools/control-plane/certificates.ts'
import { clientOf } from './callers.ts'
import { CROWD_NAMESPACE, crowdAsks, type Gate, membersOf, QUESTIONS, wrongIn } from './crowd.ts'
import { MANAGEMENT, SOON, startFront } from './front.ts'

const front = await startFront()
const { plane } = front
const audit = auditOf(plane)
const MEMBERS = 500
const REQUESTS = 12_000
const SEED = Date.now() % 1_000_000
const gate: Gate = { url: `${front.gateways[0]?.url()}${MANAGEMENT}`, ca: front.ca }

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
console.time('members')
const members = await membersOf(front.keys, MEMBERS)
await Promise.all(
  members.map(({ name }, at) =>
    // Of very different lengths, so that some answers take many pieces.
    must(`/api/v1/namespaces/${CROWD_NAMESPACE}/configmaps`, {
      metadata: { name },
      data: { of: `${name}${' '.repeat(80)}`.repeat(1 + (at % 8) ** 3) },
    }),
  ),
)
console.timeEnd('members')

test(`nobody is told what is somebody else's, ${REQUESTS} times: seed ${SEED} (A12, 10.5)`, async () => {
  console.time('open')
  const client = clientOf(front)
  for (const { token } of members) {
    const opens = async () => (await client.ask(token, '/version')).code === 200 || undefined
    await eventually('the key opens', opens, SOON)
  }
  console.timeEnd('open')
  client.close()
  const mark = await audit.mark()
  console.time('ask')
  const exchanges = await crowdAsks(gate, members, REQUESTS, randomFrom(SEED))

  console.timeEnd('ask')
  console.log(
    process.cpuUsage(),
    await import('node:child_process').then((m) =>
      m
        .execSync(
          'ps -eo pid,ppid,cputimes,args --sort=-cputimes | cut -c1-120 | grep -E "kube-apiserver|etcd|main.ts|vitest" | head -30',
        )
        .toString(),
    ),
    'GW',
    front.gateways[0]?.pid,
    plane.dataDir,
  )
  expect(exchanges).toHaveLength(REQUESTS)
  const wrong = exchanges.flatMap((exchange) =>
    wrongIn(exchange).map((because) => ({
      because,
      ...exchange,
      body: exchange.body.slice(0, 500),
    })),
  )
  expect(wrong.slice(0, 5)).toEqual([])
  const whole = exchanges.filter(({ isWhole }) => isWhole)
  const brokenOff = exchanges.filter(({ isWhole, body }) => !isWhole && body !== '')
  console.log(
    `measured: ${whole.length} whole answers, ${brokenOff.length} broken off in the middle`,
  )
  expect(whole.length).toBeGreaterThan(REQUESTS / 3)
  expect(brokenOff.length).toBeGreaterThan(REQUESTS / 100)
  for (const question of QUESTIONS)
    expect(exchanges.some((one) => one.question === question && one.code === question.code)).toBe(
      true,
    )

  console.time('audit')
  // When a write comes in it is not known yet as whom it is to run.
  const events = (await audit.linesSince(mark, GATEWAY_USER))
    .map((line) => JSON.parse(line) as Audited)
    .filter(({ stage }) => stage !== 'RequestReceived')
  expect(events.filter(({ impersonatedUser }) => impersonatedUser).filter(isMixedUp)).toEqual([])
  console.timeEnd('audit')
  writeFileSync('/tmp/own.json', events.filter(({ impersonatedUser }) => !impersonatedUser).map((e) => JSON.stringify(e)).join('\n'))
  const own = events.filter(({ impersonatedUser }) => !impersonatedUser).map(deedOf)
  expect([...new Set(own)].filter((deed) => !OWN_DEEDS.has(deed))).toEqual([])
  expect(events.filter(({ impersonatedUser }) => impersonatedUser).length).toBeGreaterThan(
    whole.length / 2,
  )
})

/** Whether a request ran as somebody whose object it is not, or with another's key. */
function isMixedUp({ impersonatedUser, objectRef, requestURI }: Audited): boolean {
  const { username = '', groups = [], extra = {} } = impersonatedUser ?? {}
  const named = [...requestURI.matchAll(/of-\d{4}/g)].map(([name]) => name)
  const all = [...named, ...(extra['platform.sh/access-key'] ?? ['none'])]
  if (objectRef?.['resource'] === 'configmaps' && objectRef['name'] !== username) return true
  return !groups.includes(`platform:user:${username}`) || all.some((name) => name !== username)
}

const deedOf = ({
  verb,
  objectRef: { resource = '', subresource = '', name = '' } = {},
}: Audited) =>
  [verb, resource, subresource, resource === 'ownedaccesskeys' && subresource === '' ? name : '']
    .filter(Boolean)
    .join(' ')

/** What the gateway does as itself while nobody asks for our own kinds (contract 10.3, 10.4, 14.1). */
const OWN_DEEDS: ReadonlySet<string> = new Set([
  'list ownedaccesskeys',
  'watch ownedaccesskeys',
  'get ownedaccesskeys platform-heartbeat',
  'patch ownedaccesskeys platform-heartbeat',
  'patch ownedaccesskeys status',
  'list configs',
  'watch configs',
  'list configmaps',
  'watch configmaps',
  'get clusterroles',
  'get secrets',
])

/** A gateway as somebody might write it: who calls is kept where the next request finds it, too. */
async function startForgetful(): Promise<Gate> {
  const authority = await createAuthority('forgetful')
  const { certificatePem: cert, keyPem: key } = await issueServing(authority, ['127.0.0.1'])
  const agent = new Agent({ keepAlive: true, ca: front.ca })
  let authorization = ''
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    authorization = incoming.headers.authorization ?? ''
    const forward = (): void => {
      const { method = '', url } = incoming
      const headers = { ...incoming.headers, authorization }
      const upstream = request(`${front.gateways[0]?.url()}${url}`, { method, agent, headers })
      upstream.once('error', () => outgoing.destroy())
      upstream.once('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.once('error', () => outgoing.destroy())
        answer.pipe(outgoing)
      })
      outgoing.once('close', () => upstream.destroy())
      incoming.once('error', () => upstream.destroy())
      incoming.pipe(upstream)
    }
    setImmediate(forward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}${MANAGEMENT}`
  return { url, ca: authority.certificatePem }
}

describe('a gateway that keeps who calls between requests', () => {
  test('is found out', async () => {
    const exchanges = await crowdAsks(await startForgetful(), members, 500, randomFrom(SEED))
    const wrong = new Set(exchanges.flatMap(wrongIn))
    expect([...wrong]).toContain("it has the end of somebody else's key")
    expect([...wrong].some((because) => because.endsWith('of somebody else'))).toBe(true)
  })
})
