// Who may send events of a cluster: scope first, then RBAC as the caller (contract 23.1).
import { Readable } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { parseScope } from '../../../../src/domain/scope/authorize.ts'
import type { GatewayHandlerOptions } from '../../../../src/gateway/handler.ts'
import { type Upstream, UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { memoryAudit } from '../audit/memory-audit.ts'
import { CALLER, handlerFor } from '../handler-builder.ts'
import { callTo } from '../request-builder.ts'
import { answering, forgetSent, reviewed, sent } from './reviewing-server.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const EVENTS_OF = (cluster: string): string =>
  `/kubernetes/management/agents/${cluster}/auditevents`

let taken: string[] = []
beforeEach(() => {
  forgetSent()
  taken = []
})

const agentEvents: GatewayHandlerOptions['agentEvents'] = {
  take: async (cluster, { body }) => {
    const pieces: Buffer[] = []
    for await (const piece of body as AsyncIterable<Buffer>) pieces.push(piece)
    taken.push(`${cluster} ${Buffer.concat(pieces).toString()}`)
    return { status: 200, headers: {}, body: Buffer.from('{"events":1}') }
  },
}

interface Sending extends Partial<GatewayHandlerOptions> {
  readonly target?: string
  readonly method?: string
  readonly scope?: Scope
}

async function send(upstream: Upstream['send'], sending: Sending = {}) {
  const { target = EVENTS_OF('east'), method = 'POST', scope, ...options } = sending
  const caller = { ...CALLER, scope: parseScope(scope ?? null) }
  const respond = handlerFor(caller, upstream, { agentEvents, ...options })
  const body = Readable.from([Buffer.from('events')])
  const headers = { 'content-type': 'application/json', 'content-length': '6' }
  const answer = await respond(callTo(target, { method, headers, body }))
  return { status: answer.status, refusal: answer.refusal ?? null }
}

const only = (path: string, verb = 'post'): Scope => ({
  rules: [{ verbs: [verb], nonResourceURLs: [path] }],
})

const ROLE: Scope = { roles: [{ role: 'agent' }] }

/** What `config/scope-roles/agent.yaml` grants; the page of scopes is tested against the file. */
const scopeContext: GatewayHandlerOptions['scopeContext'] = () => ({
  projectNamespacePrefix: 'p-',
  roleRules: (role) =>
    role === 'agent' ? [{ verbs: ['post'], nonResourceURLs: ['/agents/*'] }] : [],
})

test('events are taken from a caller whom RBAC grants the path of the cluster (23.1)', async () => {
  expect(await send(reviewed(true))).toEqual({ status: 200, refusal: null })
  expect(taken).toEqual(['east events'])
  expect(sent).toHaveLength(1)
  expect(sent[0]).toMatchObject({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    impersonation: { 'impersonate-user': 'ada' },
  })
  const body = sent[0]?.body
  expect(Buffer.isBuffer(body) && JSON.parse(body.toString())).toMatchObject({
    spec: { nonResourceAttributes: { path: '/agents/east/auditevents', verb: 'post' } },
  })
})

test.each<{ name: string; sending: Sending }>([
  { name: 'a rule that names the path', sending: { scope: only('/agents/east/auditevents') } },
  { name: 'a rule of all agents', sending: { scope: only('/agents/*') } },
  { name: 'role agent', sending: { scope: ROLE, scopeContext } },
])('events are taken by a scope with $name (23.1)', async ({ sending }) => {
  expect(await send(reviewed(true), sending)).toEqual({ status: 200, refusal: null })
  expect(taken).toEqual(['east events'])
})

describe('nothing is taken, nor read (23.1)', () => {
  // biome-ignore format: a table
  test.each<{ name: string; upstream: Upstream['send']; sending?: Sending; reviews: number; status: number; refusal: string }>([
    { name: 'from a caller whom RBAC does not grant the path', upstream: reviewed(false), reviews: 1, status: 403, refusal: 'agentEventsNotGranted' },
    { name: 'by a scope of another cluster, whatever RBAC says', upstream: reviewed(true), sending: { scope: only('/agents/west/auditevents') }, reviews: 0, status: 403, refusal: 'scopeDenied' },
    { name: 'by a scope of a cluster whose name begins alike', upstream: reviewed(true), sending: { scope: only('/agents/eas/*') }, reviews: 0, status: 403, refusal: 'scopeDenied' },
    { name: 'by a scope of another verb', upstream: reviewed(true), sending: { scope: only('/agents/*', 'get') }, reviews: 0, status: 403, refusal: 'scopeDenied' },
    { name: 'by a scope of the connected cluster', upstream: reviewed(true), sending: { scope: { clusters: [{ cluster: 'east' }] } }, reviews: 0, status: 403, refusal: 'scopeDenied' },
    { name: 'by role agent of a project', upstream: reviewed(true), sending: { scope: { roles: [{ role: 'agent', projects: ['shop'] }] }, scopeContext }, reviews: 0, status: 403, refusal: 'scopeDenied' },
    { name: 'by GET', upstream: reviewed(true), sending: { method: 'GET' }, reviews: 0, status: 405, refusal: 'agentEventsMethod' },
    { name: 'by PUT', upstream: reviewed(true), sending: { method: 'PUT' }, reviews: 0, status: 405, refusal: 'agentEventsMethod' },
    { name: 'where the API server does not answer', upstream: () => Promise.reject(new UpstreamUnavailable('unprocessed', 'down')), reviews: 0, status: 503, refusal: 'apiServerUnreachable' },
  ])('$name', async ({ upstream, sending, reviews, status, refusal }) => {
    expect(await send(upstream, sending)).toEqual({ status, refusal })
    expect(taken).toEqual([])
    expect(sent).toHaveLength(reviews)
  })
})

test('a name that is written in another way is judged by what it means (23.1)', async () => {
  const target = EVENTS_OF('we%73t')
  const scope = only('/agents/east/auditevents')
  expect(await send(reviewed(true), { target, scope })).toMatchObject({ status: 403 })
  expect(taken).toEqual([])
  const ofWest = { target, scope: only('/agents/west/auditevents') }
  expect(await send(reviewed(true), ofWest)).toMatchObject({ status: 200 })
  expect(taken).toEqual(['west events'])
})

test.each([
  EVENTS_OF('EAST'),
  EVENTS_OF('-east'),
  `${EVENTS_OF('east')}/`,
  `${EVENTS_OF('east')}/x`,
  '/kubernetes/management/agents/east',
  '/kubernetes/management/agents/auditevents',
  '/kubernetes/management/apis/agents/east/auditevents',
])('another path is forwarded, or is none: %s (23.1)', async (target) => {
  expect(await send(answering(404, '{}'), { target })).toMatchObject({ status: 404 })
  expect(taken).toEqual([])
})

test.each([1, 2, 3, 4])(
  'a batch is not recorded itself at level %i: it would double what it holds (21.1)',
  async (level) => {
    const { audit, events } = memoryAudit({ level }, manualClock(t0))
    expect(await send(reviewed(true), { audit })).toMatchObject({ status: 200 })
    expect(events()).toEqual([])
    expect(await send(answering(404, '{}'), { audit, method: 'PATCH' })).toMatchObject({
      status: 405,
    })
    expect(events()).toHaveLength(1)
  },
)
