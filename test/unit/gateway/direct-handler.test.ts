import { NO_AUDIT } from '../../../src/gateway/stages/audit.ts'
// The stages of a direct endpoint: the webhook without a caller, and requests with a token (contract 9.2, 9.6, 13.4).
import { answerMetrics } from '../../../src/gateway/answer-metrics.ts'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { TokenCaller } from '../../../src/authn/caller.ts'
import {
  DIRECT_STAGES,
  type DirectHandlerOptions,
  createHandler,
} from '../../../src/gateway/handler.ts'
import { TOKEN_ANSWERS } from '../../../src/gateway/stages/authentication.ts'
import { withTokenExpiryHeaders } from '../../../src/gateway/stages/expiry-headers.ts'
import { createMaxInFlight } from '../../../src/gateway/streams/max-in-flight.ts'
import { DIRECT_PUBLIC_ROUTES } from '../../../src/gateway/stages/public-routes.ts'
import { InFlightRequests } from '../../../src/gateway/streams/in-flight.ts'
import { createTargetRegistry } from '../../../src/gateway/targets/resolver.ts'
import { directRoutesOf } from '../../../src/gateway/targets/routes.ts'
import type { Upstream, UpstreamHeaders } from '../../../src/kube/proxy/types.ts'
import { WEBHOOK_PATH } from '../../../src/gateway/webhook/handler.ts'
import type { HttpRequest } from '../../../src/serving/http/request.ts'
import type { Answer } from '../../../src/serving/http/answer.ts'
import { t0, textAfter } from '../../support/key-builder.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { NO_TARGETS, NO_UPSTREAM, page } from './handler-builder.ts'
import { callTo } from './request-builder.ts'
import { TOKEN_CALLER } from './token-caller.ts'
import { ForwardBuffer } from '../../../src/gateway/streams/forward-buffer.ts'

type Ending = 'expired' | 'revoked' | 'changed' | 'stale'

const REVIEWED: Answer = { status: 200, headers: {}, body: Buffer.from('reviewed') }
const JSON_TYPE = { 'content-type': 'application/json' }
const OK = { status: 200, headers: JSON_TYPE }

/** A direct endpoint that authenticates requests with any credential as the caller, and what it did. */
function directEndpoint(send: Upstream['send'] = NO_UPSTREAM.send) {
  const clock = manualClock(t0)
  const counted: string[] = []
  const reviewed: string[] = []
  let because: Ending | null = null
  const inFlight = new InFlightRequests({
    clock,
    reauthenticate: (caller) => (because === null ? { ok: true, caller } : { ok: false, because }),
    observer: { opened: () => undefined, closed: () => undefined, cut: () => undefined },
  })
  const options: DirectHandlerOptions = {
    routeOf: directRoutesOf('c1'),
    pages: Object.fromEntries(DIRECT_PUBLIC_ROUTES.map((route) => [route, page(route)])),
    version: page('/version'),
    isVersionGuarded: () => true,
    delegatedRoutes: [
      {
        path: WEBHOOK_PATH,
        target: 'Webhook',
        answer: async ({ method }) => (reviewed.push(method), REVIEWED),
      },
    ],
    authenticate: async ({ headers }) =>
      headers.authorization === undefined
        ? {
            ok: false,
            answer: TOKEN_ANSWERS.refused,
            refusal: { because: 'none', key: null },
          }
        : { ok: true, caller: TOKEN_CALLER },
    scopeContext: () => ({ projectNamespacePrefix: 'p-', roleRules: () => [] }),
    scopeDenied: () => undefined,
    limits: createMaxInFlight(() => undefined),
    inFlight,
    forwardBuffer: new ForwardBuffer(2 ** 28),
    audit: NO_AUDIT,
    targets: createTargetRegistry(
      { target: { kind: 'Cluster', cluster: 'c1' }, upstream: { ...NO_UPSTREAM, send } },
      NO_TARGETS,
    ),
    expiryHeaders: (headers, caller) =>
      withTokenExpiryHeaders(headers, (caller as TokenCaller).token, clock.nowMs()),
    observers: [
      answerMetrics((target, verb, code) => counted.push(`${target} ${verb} ${code}`), clock),
    ],
    log: memoryLog().log,
  }
  const handler = createHandler(DIRECT_STAGES, options)
  const respond = async (http: HttpRequest): Promise<Answer> => {
    const { ended: _, ...answer } = await handler.respond(http)
    return answer
  }
  return {
    counted,
    reviewed,
    ask: (target: string, method = 'GET', headers = {}) =>
      respond(callTo(target, { method, headers })),
    askAsBearer: (target: string) =>
      respond(callTo(target, { headers: { authorization: 'Bearer x' } })),
    cut: (reason: Ending) => {
      because = reason
      inFlight.look(TOKEN_CALLER.token.jti)
    },
  }
}

describe('the webhook', () => {
  test.each([
    { target: '/authorize', method: 'POST', counts: 'Webhook POST 200' },
    { target: '/authorize?timeout=3s', method: 'POST', counts: 'Webhook POST 200' },
    { target: '/authorize', method: 'QUERY', counts: 'Webhook QUERY 200' },
  ])('answers $method $target itself, without a token (9.6)', async (row) => {
    const { ask, counted, reviewed } = directEndpoint()
    expect(await ask(row.target, row.method)).toEqual(REVIEWED)
    expect({ counted, reviewed }).toEqual({ counted: [row.counts], reviewed: [row.method] })
  })

  test('gets no caller, so that its answer has no header of a token (9.6, 13.5)', async () => {
    const { askAsBearer } = directEndpoint()
    expect(await askAsBearer('/authorize')).toEqual(REVIEWED)
  })

  test.each(['/authorize/', '/authorize/x', '/Authorize', '//authorize', '/%61uthorize', '/'])(
    'does not answer %s, where a token is needed (9.6)',
    async (target) => {
      const { ask, askAsBearer, counted, reviewed } = directEndpoint()
      expect((await ask(target, 'POST')).status).toBe(401)
      expect((await askAsBearer(target)).status).toBe(404)
      expect({ counted, reviewed }).toEqual({
        counted: ['Other POST 401', 'Other GET 404'],
        reviewed: [],
      })
    },
  )
})

describe('a path', () => {
  test.each([
    { target: '/healthz', without: 200, bearer: 200 },
    { target: '/readyz', without: 200, bearer: 200 },
    { target: '/version', without: 401, bearer: 200 },
    { target: '/oidc/keys', without: 401, bearer: 404 },
    { target: '/oidc/revoked', without: 401, bearer: 404 },
    { target: '/kubernetes/management/api', without: 401, bearer: 404 },
    { target: '/kubernetes/project/p/space/s/api', without: 401, bearer: 404 },
    { target: '/metrics', without: 401, bearer: 404 },
  ])('$target is a $without without a token, and a $bearer with one (9.2)', async (row) => {
    const { ask, askAsBearer } = directEndpoint()
    expect([(await ask(row.target)).status, (await askAsBearer(row.target)).status]).toEqual([
      row.without,
      row.bearer,
    ])
  })
})

test('a request of a token is sent to the cluster as its user, with its three extras (9.2)', async () => {
  const sent: (UpstreamHeaders | null)[] = []
  const { askAsBearer, counted } = directEndpoint(async ({ impersonation }) => {
    sent.push(impersonation)
    return { ...OK, body: Readable.from([Buffer.from('{}')]) }
  })
  const { headers } = await askAsBearer('/kubernetes/cluster/api/v1/pods')
  expect(sent).toEqual([
    {
      'impersonate-user': 'platform:user:ada',
      'impersonate-group': ['platform:authenticated'],
      'impersonate-extra-platform.sh%2faccess-key': 'ci',
      'impersonate-extra-platform.sh%2ftoken-id': TOKEN_CALLER.token.jti,
      'impersonate-extra-platform.sh%2fscope': '*',
    },
  ])
  expect(headers['x-platform-key-expires']).toBe(textAfter(100))
  expect(counted).toEqual(['Cluster list 200'])
})

describe('a watch of a token', () => {
  const NOT_ACCEPTED = 'the token is not accepted. Please get a new one'
  test.each<{ reason: Ending; code: number; says: string }>([
    { reason: 'expired', code: 401, says: 'the token expired. Please get a new one' },
    { reason: 'revoked', code: 401, says: NOT_ACCEPTED },
    { reason: 'changed', code: 401, says: NOT_ACCEPTED },
    {
      reason: 'stale',
      code: 503,
      says: 'the direct endpoint cannot tell now which tokens are revoked. Please try again, or use the gateway',
    },
  ])('that is cut ends with the text that the next request gets: $reason (13.4)', async (row) => {
    const source = new PassThrough()
    const { askAsBearer, cut } = directEndpoint(async () => ({ ...OK, body: source }))
    const { body } = await askAsBearer('/kubernetes/cluster/api/v1/pods?watch=1')
    source.write('{"type":"ADDED"}\n')
    const said = text(body as Readable)
    await setImmediate()
    cut(row.reason)
    const [added, ended = ''] = (await said).split('\n')
    expect(added).toBe('{"type":"ADDED"}')
    expect(JSON.parse(ended)).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', code: row.code, message: row.says },
    })
  })
})
