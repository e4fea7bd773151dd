/** @module-tag no-retry */
// A gateway and an API server with the same audit policy record the same requests in the same way (contract 21.2, 21.3):
// random requests go to both, as the same user.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import type { AuditPolicy } from '../../../src/api/config.gen.ts'
import { isOwnGroup } from '../../../src/domain/scope/request-info.ts'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { auditOf } from '../../support/audit-log.ts'
import { settingsOf } from '../../support/config-client.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { randomFrom } from '../../support/random.ts'
import { createSender } from '../../support/raw-sender.ts'
import { FUZZ_SEED, requestSent } from '../../support/request-fuzzer.ts'
import { clientCertificateOf } from './fuzzed-requests.ts'
import { MANAGEMENT, SOON, startTestGateway } from './test-gateway.ts'

const USER = 'fuzz'
const REQUESTS = 2000

/** Each kind of rule and each level, but for `x/*`, which is wider in Kubernetes. */
const POLICY: AuditPolicy = {
  omitStages: [],
  rules: [
    {
      level: 'None',
      verbs: ['get', 'list'],
      resources: [{ group: '', resources: ['configmaps'], resourceNames: ['a', 'b'] }],
    },
    { level: 'None', users: ['somebody'] },
    { level: 'None', userGroups: ['nobodies'] },
    { level: 'None', nonResourceURLs: ['/api*', '/healthz'] },
    {
      level: 'Metadata',
      nonResourceURLs: ['/livez', '/openapi/*'],
      omitStages: ['RequestReceived'],
    },
    {
      level: 'Request',
      verbs: ['watch', 'list'],
      omitStages: ['ResponseStarted'],
      resources: [{ group: '', resources: ['pods', 'secrets', 'nodes'] }],
    },
    {
      level: 'RequestResponse',
      namespaces: ['default', 'a'],
      resources: [
        { group: '', resources: ['pods', '*/log', '*/status'] },
        { group: 'apps', resources: ['*'] },
      ],
    },
    { level: 'None', namespaces: [''], resources: [{ group: 'rbac.authorization.k8s.io' }] },
    { level: 'Request', users: [USER], userGroups: ['system:authenticated'], verbs: ['create'] },
    { level: 'Metadata', namespaces: ['kube-system'], omitStages: ['ResponseComplete'] },
    { level: 'None', resources: [{ group: '*', resources: ['events', 'leases'] }] },
    { level: 'Metadata' },
  ],
}

const folder = mkdtempSync(join(tmpdir(), 'audit-policy-'))
afterAll(() => rmSync(folder, { recursive: true }))
const policyFile = join(folder, 'policy.json')
const KUBERNETES = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...POLICY }
writeFileSync(policyFile, JSON.stringify(KUBERNETES))

const plane = await ownControlPlane({ apiServerFlags: [`--audit-policy-file=${policyFile}`] })
const setup = await startTestGateway(plane)
const audit = auditOf(plane)
const log = join(folder, 'log')
const file = join(log, 'audit.log')

/** One event, as far as both have it. */
interface Recorded {
  readonly level: string
  readonly stage: string
  readonly verb: string
  readonly user: string
  readonly objectRef: unknown
  readonly code: number | null
}

interface Line {
  readonly level: string
  readonly stage: string
  readonly verb: string
  readonly userAgent?: string
  readonly user: { readonly username: string }
  readonly objectRef?: unknown
  readonly responseStatus?: { readonly code?: number }
}

/** The events by User-Agent. */
const recordedIn = (lines: readonly string[]): ReadonlyMap<string, readonly Recorded[]> => {
  const byAgent = Map.groupBy(
    lines.map((line) => JSON.parse(line) as Line),
    ({ userAgent = '' }) => userAgent,
  )
  return new Map(
    [...byAgent].map(([agent, events]) => [
      agent,
      events.map(({ level, stage, verb, user, objectRef, responseStatus }) => ({
        level,
        stage,
        verb,
        user: user.username,
        objectRef,
        code: responseStatus?.code ?? null,
      })),
    ]),
  )
}

/** Random requests that both read alike, as the API server gets them. */
function randomRequests() {
  const random = randomFrom(FUZZ_SEED)
  const requests: { readonly method: string; readonly target: string }[] = []
  while (requests.length < REQUESTS) {
    const { method, rest } = requestSent(random)
    const parsed = parseRequest(method, { kind: 'Management' }, rest)
    if (!parsed.ok || isOwnGroup(parsed.request.attributes)) continue
    const { path, search } = parsed.request
    requests.push({ method, target: search === '' ? path : `${path}?${search}` })
  }
  return requests
}

const senderTo = (url: string, tls: Parameters<typeof createSender>[0]) => {
  const { hostname: host, port } = new URL(url)
  const sender = createSender({ ...tls, host, port: Number(port) })
  afterAll(() => sender.close())
  return sender
}

test(`a gateway records what an API server with the same policy records: ${REQUESTS} requests, seed ${FUZZ_SEED} (21.2, 21.3, 21.5)`, async () => {
  const { token } = await setup.key({ user: USER })
  await settingsOf(plane).declare({ audit: { enabled: true, path: log, policy: POLICY } })
  await eventually(
    'the gateway records',
    async () => {
      await setup.ask(token, '/livez')
      return readFileSync(file, { encoding: 'utf8', flag: 'a+' }).length > 0 || undefined
    },
    SOON,
  )
  const kubeconfig = await plane.clientKubeconfig({ name: USER, user: USER, groups: [] })
  const certificate = clientCertificateOf(await readFile(kubeconfig, 'utf8'))
  const direct = senderTo(plane.url, { ...certificate, ca: await readFile(plane.caFile, 'utf8') })
  const through = senderTo(setup.gateways[0]?.url() ?? '', { ca: setup.ca })
  const requests = randomRequests()
  const mark = await audit.mark()
  const agent = (at: number): string => `fuzz/${mark.offset}/${at}`
  await direct.send(requests.map((one, at) => ({ ...one, headers: [`User-Agent: ${agent(at)}`] })))
  await through.send(
    requests.map(({ method, target }, at) => ({
      method,
      target: `${MANAGEMENT}${target}`,
      headers: [`User-Agent: ${agent(at)}`, `Authorization: Bearer ${token}`],
    })),
  )
  const expected = recordedIn(await audit.linesSince(mark, USER))
  const found = recordedIn(readFileSync(file, 'utf8').split('\n').filter(Boolean))
  const differing = requests.flatMap((request, at) => {
    const [ours, theirs] = [found.get(agent(at)) ?? [], expected.get(agent(at)) ?? []]
    return isDeepStrictEqual(ours, theirs) ? [] : [{ request, ours, theirs }]
  })
  expect(differing.slice(0, 5)).toEqual([])
  expect(expected.size).toBeGreaterThan(REQUESTS / 4)
  expect(expected.size).toBeLessThan(REQUESTS)
}, 120_000)
