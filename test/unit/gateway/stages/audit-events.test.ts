// Who may ask the audit log: scope first, then RBAC as the caller (contract 22.4).
import { beforeEach, describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { parseScope } from '../../../../src/domain/scope/authorize.ts'
import type { GatewayHandlerOptions } from '../../../../src/gateway/handler.ts'
import { type Upstream, UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { CALLER, handlerFor } from '../handler-builder.ts'
import { callTo } from '../request-builder.ts'
import { answering, forgetSent, reviewed, sent } from './reviewing-server.ts'

const EVENTS = '/kubernetes/management/audit/events'

let asked: unknown[] = []
beforeEach(() => {
  forgetSent()
  asked = []
})

const eventQueries: GatewayHandlerOptions['eventQueries'] = {
  answer: async (parameters) => {
    asked.push(parameters)
    return { status: 200, headers: {}, body: Buffer.from('events') }
  },
}

async function ask(
  send: Upstream['send'],
  { target = EVENTS, method = 'GET', scope = null as Scope | null } = {},
) {
  const respond = handlerFor({ ...CALLER, scope: parseScope(scope) }, send, { eventQueries })
  const answer = await respond(callTo(target, { method }))
  return { status: answer.status, refusal: answer.refusal ?? null }
}

test('a caller whom RBAC grants the path gets an answer to the decoded question (22.4)', async () => {
  const target = `${EVENTS}?since=24h&user=ada%20%26%20co&namespace=`
  expect(await ask(reviewed(true), { target })).toEqual({ status: 200, refusal: null })
  expect(asked).toEqual([
    [
      ['since', '24h'],
      ['user', 'ada & co'],
      ['namespace', ''],
    ],
  ])
  expect(sent).toHaveLength(1)
  expect(sent[0]).toMatchObject({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    impersonation: { 'impersonate-user': 'ada' },
  })
  const { body = null } = sent[0] ?? {}
  const review = Buffer.isBuffer(body) ? body.toString() : 'null'
  expect(JSON.parse(review)).toMatchObject({
    spec: { nonResourceAttributes: { path: '/audit/events', verb: 'get' } },
  })
})

describe('nothing is asked (22.4)', () => {
  const only = (path: string): Scope => ({
    rules: [{ verbs: ['get'], nonResourceURLs: [path] }],
  })

  // biome-ignore format: a table
  test.each<{ name: string; send: Upstream['send']; target?: string; method?: string; scope?: Scope; reviews: number; status: number; refusal: string | null }>([
    { name: 'by a caller whom RBAC does not grant the path', send: reviewed(false), reviews: 1, status: 403, refusal: 'eventsNotGranted' },
    { name: 'where the review is refused', send: answering(403, '{"kind":"Status"}'), reviews: 1, status: 403, refusal: 'eventsNotGranted' },
    { name: 'where the review is no JSON', send: answering(500, 'no'), reviews: 1, status: 503, refusal: 'apiServerUnreachable' },
    { name: 'by a scope without the path, whatever RBAC says', send: reviewed(true), scope: only('/healthz'), reviews: 0, status: 403, refusal: 'scopeDenied' },
    { name: 'by a scope of a cluster', send: reviewed(true), scope: { clusters: [{ cluster: '*' }] }, reviews: 0, status: 403, refusal: 'scopeDenied' },
    { name: 'by POST', send: reviewed(true), method: 'POST', reviews: 0, status: 405, refusal: 'onlyReads' },
    { name: 'by DELETE', send: reviewed(true), method: 'DELETE', reviews: 0, status: 405, refusal: 'onlyReads' },
    { name: 'where the API server does not answer', send: () => Promise.reject(new UpstreamUnavailable('unprocessed', 'down')), reviews: 0, status: 503, refusal: 'apiServerUnreachable' },
    { name: 'where the answer to the review has no end', send: answering(201, `{"status":{"allowed":true},"x":"${'x'.repeat(70_000)}"}`), reviews: 1, status: 503, refusal: 'apiServerUnreachable' },
  ])('$name', async ({ send, target, method, scope, reviews, status, refusal }) => {
    const options = { ...(target && { target }), ...(method && { method }), ...(scope && { scope }) }
    expect(await ask(send, options)).toEqual({ status, refusal })
    expect(asked).toEqual([])
    expect(sent).toHaveLength(reviews)
  })

  test('by a scope that names it, and RBAC (22.4)', async () => {
    expect(await ask(reviewed(true), { scope: only('/audit/events') })).toMatchObject({
      status: 200,
    })
    expect(asked).toHaveLength(1)
  })
})

test.each([
  '/kubernetes/management/audit',
  `${EVENTS}/x`,
  `${EVENTS}/`,
  '/kubernetes/management/apis/audit/events',
])('another path is forwarded: %s (22.4)', async (target) => {
  expect(await ask(answering(404, '{}'), { target })).toEqual({ status: 404, refusal: null })
  expect(sent.map(({ method }) => method)).toEqual(['GET'])
  expect(asked).toEqual([])
})
