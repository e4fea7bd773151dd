/** @module-tag no-retry */
// The API server of a connected cluster audits each request as the gateway parsed it, as the caller of its key: sessions
// and other upgrades too (contract 10.5, 11.6; threats A2, A3).
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { GROUP } from '../../../src/api/names.ts'
import { authorize, parseScope } from '../../../src/domain/scope/authorize.ts'
import type { RequestTarget } from '../../../src/domain/scope/request-info.ts'
import { type ParsedRequest, parseRequest } from '../../../src/gateway/request/parse.ts'
import { mayCreate } from '../../../src/gateway/stages/authorization.ts'
import {
  type AuditedUser,
  answeredIn,
  auditOf,
  byUserAgent,
  takenOf,
  wantedOf,
} from '../../support/audit-log.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/gateway-process.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { mustKubectl } from '../../support/kubectl.ts'
import { startNode } from '../../support/node.ts'
import { createSender } from '../../support/raw-sender.ts'
import { FUZZ_REQUESTS, FUZZ_SEED, FUZZ_WITHIN_MS } from '../../support/request-fuzzer.ts'
import { exactly, fuzz } from './fuzzed-requests.ts'
import { LOCAL_TARGETS, TARGET_PATHS, TEAM, connectOwnTargets } from './own-targets.ts'
import { STREAMS, openStream, startStreamPods } from './raw-streams.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane(), 1, LOCAL_TARGETS)
const { plane, ca } = setup
const [gateway] = setup.gateways
if (!gateway) throw new Error('there is no gateway')
const audit = auditOf(plane)
const node = await startNode(plane)
await connectOwnTargets(setup)
const pods = await startStreamPods(setup, node, TEAM)

/** The account that the kubeconfigs of the targets are of. */
const TARGET_USER = 'system:serviceaccount:platform-gateway:gateway'
const EAST = '/kubernetes/cluster/east'

/** A key, and who its caller is to an API server. */
interface KnownKey {
  readonly name: string
  readonly key: UsableKey
  readonly caller: AuditedUser
}

async function knownKey(
  name: string,
  spec: Parameters<typeof setup.key>[0],
  caller: Omit<AuditedUser, 'extra'>,
): Promise<KnownKey> {
  const key = await setup.key(spec)
  const extra = { 'platform.sh/access-key': [key.object.metadata.name] }
  return { name, key, caller: { ...caller, extra } }
}

const groupsOf = (...groups: readonly string[]): readonly string[] => [
  'platform:authenticated',
  ...groups,
  'system:authenticated',
]

/** All that this test does in a namespace, and nothing else. */
const SCOPE_RULE = {
  verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  resources: [
    {
      resources: [
        'configmaps',
        ...['', '/exec', '/log', '/portforward', '/proxy'].map((of) => `pods${of}`),
      ],
    },
  ],
}

const KEYS: readonly KnownKey[] = [
  await knownKey(
    'of a user',
    { user: 'ada' },
    { username: 'ada', groups: groupsOf('platform:user:ada') },
  ),
  await knownKey(
    'of another user, with a scope',
    { user: 'bob', scope: { rules: [SCOPE_RULE] } },
    { username: 'bob', groups: groupsOf('platform:user:bob') },
  ),
  await knownKey(
    'of a team',
    { user: '', team: 'red' },
    { username: 'platform:team:red', groups: groupsOf('platform:team:red') },
  ),
]
await mustKubectl(plane, [
  'create',
  'rolebinding',
  'all',
  '-n',
  TEAM,
  '--clusterrole=cluster-admin',
  '--group=platform:authenticated',
])

const program = createServer((_, response) => void response.end('hello'))
program.listen(0, '0.0.0.0')
await once(program, 'listening')
afterAll(() => {
  program.closeAllConnections()
  program.close()
})
const { port } = program.address() as AddressInfo
const IN_TEAM = `/api/v1/namespaces/${TEAM}`
const JSON_BODY = { 'content-type': 'application/json' }

/** Requests that are answered at once. */
const REQUESTS: readonly {
  readonly method: string
  readonly rest: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}[] = [
  { method: 'GET', rest: `${IN_TEAM}/configmaps?limit=2` },
  {
    method: 'POST',
    rest: `${IN_TEAM}/configmaps`,
    headers: JSON_BODY,
    body: '{"metadata":{"generateName":"made-"}}',
  },
  {
    method: 'PATCH',
    rest: `${IN_TEAM}/configmaps/applied?fieldManager=test&force=true`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}}',
  },
  { method: 'DELETE', rest: `${IN_TEAM}/configmaps/none` },
  { method: 'GET', rest: `${IN_TEAM}/pods/talker/log` },
  { method: 'GET', rest: `${IN_TEAM}/pods/talker:${port}/proxy/a%2Fb//c?d=1` },
  { method: 'POST', rest: `${IN_TEAM}/pods/talker:${port}/proxy/`, headers: JSON_BODY, body: '{}' },
  // Without the right to, which is the API server's to say.
  { method: 'GET', rest: '/api/v1/nodes' },
  { method: 'GET', rest: '/version' },
  { method: 'GET', rest: '/apis' },
]

describe.each(TARGET_PATHS)('on the path of the $target', ({ target, path }) => {
  test.each(KEYS)(
    "each request and stream of a key $name is its caller's (10.5, 2.0)",
    async ({ name, key, caller }) => {
      const mark = await audit.mark()
      const agent = (at: number): string =>
        `attribution/${target}/${name}/${at}`.replaceAll(' ', '-')
      const codes = new Map<string, number>()
      for (const [at, { method, rest, headers = {}, body }] of REQUESTS.entries()) {
        const sent = { authorization: `Bearer ${key.token}`, 'user-agent': agent(at), ...headers }
        const options = { ca, method, headers: sent, ...(body === undefined ? {} : { body }) }
        codes.set(agent(at), (await ask(`${gateway.url()}${path}${rest}`, options)).code)
      }
      for (const [at, kind] of STREAMS.entries()) {
        const userAgent = agent(REQUESTS.length + at)
        const stream = await openStream(setup, kind, { key, target: path, pods, userAgent })
        stream.close()
      }
      const account = target === 'management' ? GATEWAY_USER : TARGET_USER
      const streams = STREAMS.map((kind) => ({ method: kind.method, rest: kind.path(pods) }))
      /** What the gateway itself may refuse: outside of a space, or of a scope. */
      const mayBeRefused = (rest: string): boolean => !rest.startsWith(IN_TEAM)
      const all = [...REQUESTS, ...streams].map(({ method, rest }, at) => {
        const parsed = parseRequest(method, { kind: 'Cluster', cluster: 'any' }, rest)
        if (!parsed.ok) throw new Error(`${method} ${rest} is refused`)
        const isRefused = mayBeRefused(rest) && codes.get(agent(at)) === 403
        return { agent: agent(at), rest, attributes: parsed.request.attributes, isRefused }
      })
      const audited = await eventually(
        'all are audited',
        async () => {
          const found = byUserAgent(await audit.linesSince(mark))
          const missing = all.filter((one) => !found.has(one.agent) && !one.isRefused)
          if (missing.length > 0) throw new Error(JSON.stringify(missing))
          return found
        },
        SOON,
      )
      for (const { agent: of, rest, attributes, isRefused } of all) {
        const events = audited.get(of) ?? []
        const isForwarded = !isRefused || events.length > 0
        const wanted = isForwarded ? [{ account, ...wantedOf(attributes, caller) }] : []
        const taken = events.map((one) => ({ account: one.user.username, ...takenOf(one) }))
        expect({ rest, taken }).toEqual({ rest, taken: wanted })
      }
    },
  )
})

describe('random requests', () => {
  const CLUSTER: RequestTarget = { kind: 'Cluster', cluster: 'east' }
  const SCOPE = {
    rules: [
      {
        verbs: ['get', 'list', 'patch'],
        namespaces: ['a', 'default'],
        resources: [
          { resources: ['pods', 'secrets', 'pods/log'] },
          { group: 'apps', resources: ['*'] },
        ],
      },
      { verbs: ['watch', 'create'], resources: [{ resources: ['*'] }] },
    ],
  }
  const parsedScope = parseScope(SCOPE)
  const surroundings = { projectNamespacePrefix: 'p-', roleRules: () => [] }
  const isGranted = (request: ParsedRequest): boolean => {
    const { attributes } = request
    const needed = mayCreate(request, undefined)
      ? [attributes, { ...attributes, verb: 'create' }]
      : [attributes]
    return needed.every((one) => authorize(parsedScope, one, surroundings).allowed)
  }
  /** Never sent on: our kinds of another cluster, and reviews that the gateway may answer itself. */
  const isOwnKind = ({ attributes }: ParsedRequest): boolean =>
    'group' in attributes && attributes.group === GROUP
  const isReview = ({ attributes }: ParsedRequest): boolean =>
    'resource' in attributes && attributes.resource.endsWith('reviews')

  test(
    `are audited by the cluster as the gateway parsed them, by keys with and without a scope: ${FUZZ_REQUESTS} requests, seed ${FUZZ_SEED + 3} (11.6, 2.0)`,
    async () => {
      const user = { username: 'fuzz', groups: groupsOf('platform:user:fuzz') }
      const unscoped = await knownKey('unscoped', { user: 'fuzz' }, user)
      const scoped = await knownKey('scoped', { user: 'fuzz', scope: SCOPE }, user)
      const { hostname: host, port: gatewayPort } = new URL(gateway.url())
      const sender = createSender({ ca, host, port: Number(gatewayPort) })
      onTestFinished(() => sender.close())
      const mark = await audit.mark()
      const mismatches = await fuzz(
        FUZZ_SEED + 3,
        { audit, account: TARGET_USER, sender },
        ({ sent, parsed }, { pick }) => {
          const one = parsed && isReview(parsed) ? unscoped : pick([unscoped, scoped])
          const isRefused =
            parsed === null || isOwnKind(parsed) || (one === scoped && !isGranted(parsed))
          return {
            sent,
            target: `${EAST}${sent.rest}`,
            headers: [`Authorization: Bearer ${one.key.token}`],
            isExpected: isRefused ? exactly() : exactly(wantedOf(parsed.attributes, one.caller)),
          }
        },
        CLUSTER,
      )
      expect(mismatches).toEqual([])
      const events = answeredIn(await audit.linesSince(mark, TARGET_USER))
      expect(events.filter(({ impersonatedUser }) => impersonatedUser === undefined)).toEqual([])
      const names = new Set(events.map(({ impersonatedUser }) => impersonatedUser?.username))
      // The probe of the targets has a user of its own.
      expect([...names].filter((one) => one !== 'heartbeat')).toEqual(['fuzz'])
    },
    FUZZ_WITHIN_MS,
  )
})
