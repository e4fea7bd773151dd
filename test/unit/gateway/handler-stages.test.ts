// The stages of an authenticated request in their order: the first refusal is the response, and a refused
// request reaches no later stage (contract 11.1, 11.3, 13.3, 14.1).
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../src/api/scope.gen.ts'
import type { KeyCaller } from '../../../src/authn/caller.ts'
import { parseScope } from '../../../src/domain/scope/authorize.ts'
import { accessLog } from '../../../src/gateway/access-log.ts'
import type { RecordResult } from '../../../src/gateway/activity/recorder.ts'
import { answerMetrics } from '../../../src/gateway/answer-metrics.ts'
import { createMaxInFlight } from '../../../src/gateway/streams/max-in-flight.ts'
import {
  ArrivedAnswer,
  type Upstream,
  type UpstreamHeaders,
} from '../../../src/kube/proxy/types.ts'
import type { Answer } from '../../../src/serving/http/answer.ts'
import type { HttpRequest } from '../../../src/serving/http/request.ts'
import { t0, viewOf } from '../../support/key-builder.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { EXPIRES, handlerFor } from './handler-builder.ts'
import { callTo } from './request-builder.ts'

const CONFIG_MAPS: Scope = {
  rules: [{ verbs: ['get', 'list', 'watch', 'patch'], resources: [{ resources: ['configmaps'] }] }],
}

interface Inputs {
  readonly scope?: Scope
  readonly noted?: RecordResult
  readonly isKnown?: boolean
  readonly upstream?: (headers: UpstreamHeaders) => Answer
}

const OK: Answer = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from('{}'),
}

function handlerWith({ scope, noted = 'later', isKnown = true, upstream = () => OK }: Inputs = {}) {
  const trace: string[] = []
  const { log, lines } = memoryLog()
  const caller: KeyCaller = {
    key: viewOf({ metadata: { name: 'ci', uid: 'uid-ci' } }),
    identity: { user: 'ada', groups: [] },
    scope: parseScope(scope ?? null),
    expiresMs: null,
  }
  const limits = createMaxInFlight(() => undefined)
  const verbs: string[] = []
  const send: Upstream['send'] = async ({ headers }) => {
    trace.push('forwarded')
    const { status, headers: given, body } = upstream(headers)
    const answered = given as UpstreamHeaders
    return Buffer.isBuffer(body)
      ? new ArrivedAnswer(status, answered, body)
      : { status, headers: answered, body }
  }
  const handle = handlerFor(caller, send, {
    scopeContext: () => (isKnown ? { projectNamespacePrefix: 'p-', roleRules: () => [] } : null),
    limits: {
      admit: (uid, kind) => {
        const admission = limits.admit(uid, kind)
        if (!admission.ok) return admission
        trace.push(`admitted ${kind}`)
        return { ok: true, release: () => (trace.push('released'), admission.release()) }
      },
    },
    activity: {
      started: async () => (trace.push('used'), noted),
      flowed: () => void trace.push('flowed'),
      flush: async () => undefined,
    },
    selfService: {
      answer: async () => (trace.push('own kinds'), OK),
      rights: () => ({ reasonFor: async () => null, rules: [] }),
    },
    scopeDenied: () => void trace.push('denied'),
    observers: [
      answerMetrics((_, verb) => verbs.push(verb), manualClock(t0)),
      accessLog(log, manualClock(t0)),
    ],
    log,
  })
  const ask = async (rest: string, given: Partial<HttpRequest> = {}) => {
    const answer = await handle(callTo(`/kubernetes/management${rest}`, given))
    return {
      verbs,
      answer,
      use: String(answer.headers[EXPIRES] ?? 'ended').replace('ci ', ''),
      said: Buffer.isBuffer(answer.body) ? answer.body.toString() : await text(answer.body),
    }
  }
  return { ask, trace, limits, lines }
}

describe('a request', () => {
  test('passes every stage once', async () => {
    const { ask, trace } = handlerWith()
    const { answer, verbs } = await ask('/api/v1/configmaps')
    expect({ status: answer.status, verbs }).toEqual({ status: 200, verbs: ['list'] })
    expect(trace).toEqual(['admitted request', 'used', 'forwarded', 'released'])
  })

  test("that can't be parsed is refused and does not count as a use of the key (11.6, 14.1)", async () => {
    const { ask, trace } = handlerWith()
    const { answer, verbs } = await ask('/api//v1')
    expect({ status: answer.status, verbs }).toEqual({ status: 400, verbs: ['GET'] })
    expect(trace).toEqual([])
  })

  test('with an unknown method gets a 405', async () => {
    const { answer } = await handlerWith().ask('/api', { method: 'QUERY' })
    expect(answer.status).toBe(405)
  })

  test('gets a 503 before the settings in force are known (10.4)', async () => {
    const { ask, trace } = handlerWith({ isKnown: false })
    expect((await ask('/api')).answer.status).toBe(503)
    expect(trace).toEqual([])
  })

  test('that the scope does not grant gets a 403, is counted, and does not count as a use (11.1, 14.1)', async () => {
    const { ask, trace } = handlerWith({ scope: CONFIG_MAPS })
    const { answer, said } = await ask('/api/v1/secrets')
    expect(answer.status).toBe(403)
    expect(said).toContain('does not grant \\"list\\" on \\"secrets\\"')
    expect(trace).toEqual(['denied'])
  })

  test("whose use can't be recorded is refused (14.1)", async () => {
    const { ask, trace } = handlerWith({ noted: 'unavailable' })
    expect((await ask('/api')).answer.status).toBe(503)
    expect(trace).toEqual(['admitted request', 'used', 'released'])
  })

  test('for a kind of the platform is answered by self-service (12.1)', async () => {
    const { ask, trace } = handlerWith()
    await ask('/apis/management.platform.sh/v1/ownedaccesskeys')
    expect(trace).toEqual(['admitted request', 'used', 'own kinds', 'released'])
  })

  test('that writes a kind of the platform is logged with the key of its caller', async () => {
    const { ask, lines } = handlerWith()
    const path = '/apis/management.platform.sh/v1/ownedaccesskeys/a'
    await ask(path)
    await ask(path, { method: 'DELETE' })
    expect(lines).toMatchObject([
      {
        level: 'info',
        fields: { keyName: 'ci', user: 'ada', verb: 'delete', name: 'a', status: 200 },
      },
    ])
  })

  test('over the limit gets a 429 and does not count as a use (13.3)', async () => {
    const { ask, trace, limits } = handlerWith()
    for (let at = 0; at < 400; at += 1)
      limits.admit({ credential: 'uid-ci', user: 'ada' }, 'request')
    const { answer } = await ask('/api')
    expect(answer.status).toBe(429)
    expect(answer.headers['retry-after']).toBe('1')
    expect(trace).toEqual([])
  })

  test('that fails upstream frees its place (13.3)', async () => {
    const { ask, trace, lines } = handlerWith({
      upstream: () => {
        throw new Error('broken')
      },
    })
    expect((await ask('/api')).answer.status).toBe(500)
    expect(lines.map(({ sentence }) => sentence)).toEqual(['request failed'])
    expect(trace.at(-1)).toBe('released')
  })

  test('that streams holds its place until it ends (13.3)', async () => {
    const body = Readable.from([Buffer.from('{"items":['), Buffer.from(']}')])
    const { ask, trace } = handlerWith({ upstream: () => ({ ...OK, body }) })
    expect((await ask('/api/v1/pods')).said).toBe('{"items":[]}')
    expect(trace).toEqual(['admitted request', 'used', 'forwarded', 'released'])
  })

  test('for a watch is admitted as a watch and counts as a use while events flow (13.3, 14.1)', async () => {
    const body = Readable.from([Buffer.from('{"type":"ADDED"}\n')])
    const { ask, trace } = handlerWith({ upstream: () => ({ ...OK, body }) })
    expect((await ask('/api/v1/pods?watch=1')).said).toBe('{"type":"ADDED"}\n')
    expect(trace).toEqual(['admitted stream', 'used', 'forwarded', 'flowed', 'released'])
  })
})

const MAPS_PATH = '/api/v1/configmaps'

test.each<Inputs & { rest: string; method?: string; status: number; use: string }>([
  { rest: '/api//v1', status: 400, use: 'unused' },
  { rest: '/api', method: 'QUERY', status: 405, use: 'unused' },
  { rest: '/api/v1/secrets', status: 403, use: 'unused' },
  { rest: MAPS_PATH, isKnown: false, status: 503, use: 'unused' },
  { rest: MAPS_PATH, noted: 'unavailable', status: 503, use: 'unused' },
  { rest: MAPS_PATH, noted: 'later', status: 200, use: 'used' },
  { rest: MAPS_PATH, upstream: () => ({ ...OK, status: 403 }), status: 403, use: 'used' },
])('$status for $rest leaves its key $use (13.5, 14.1)', async ({ rest, method, ...row }) => {
  const { answer, use } = await handlerWith({ scope: CONFIG_MAPS, ...row }).ask(
    rest,
    method === undefined ? {} : { method },
  )
  expect({ status: answer.status, use }).toEqual({ status: row.status, use: row.use })
})

describe('a request that may create needs the verb create as well (11.6; threats B5)', () => {
  const PATH = '/api/v1/namespaces/a/configmaps/x'

  test.each([
    { name: 'an apply', method: 'PATCH', type: 'application/apply-patch+yaml', status: 403 },
    {
      name: 'an apply in CBOR',
      method: 'PATCH',
      type: 'application/apply-patch+cbor',
      status: 403,
    },
    { name: 'a merge patch', method: 'PATCH', type: 'application/merge-patch+json', status: 200 },
    { name: 'a JSON patch', method: 'PATCH', type: 'application/json-patch+json', status: 200 },
  ])('$name with a scope that patches: $status', async ({ method, type, status }) => {
    const { ask } = handlerWith({ scope: CONFIG_MAPS })
    const { answer } = await ask(PATH, { method, headers: { 'content-type': type } })
    expect(answer.status).toBe(status)
  })

  test('a patch whose type stays with the gateway needs the right to create', async () => {
    const { ask } = handlerWith({ scope: CONFIG_MAPS })
    const headers = { 'content-type': 'application/merge-patch+json', connection: 'Content-Type' }
    expect((await ask(PATH, { method: 'PATCH', headers })).answer.status).toBe(403)
  })
})

describe.each([
  { form: 'a stream', bodyOf: (bytes: Buffer) => Readable.from([bytes]) },
  { form: 'bytes that came with its head', bodyOf: (bytes: Buffer) => bytes },
])('a self review whose answer is $form (11.3)', ({ bodyOf }) => {
  const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const answered =
    (spec: object) =>
    (headers: UpstreamHeaders): Answer => {
      const review = {
        kind: 'SelfSubjectAccessReview',
        spec,
        status: { allowed: true, reason: 'RBAC' },
      }
      expect(headers).toMatchObject({ accept: 'application/json', 'accept-encoding': 'identity' })
      return { ...OK, status: 201, body: bodyOf(Buffer.from(JSON.stringify(review))) }
    }
  const asks = async (spec: object) => {
    const { ask } = handlerWith({ scope: CONFIG_MAPS, upstream: answered(spec) })
    const { said } = await ask(REVIEW, {
      method: 'POST',
      headers: { accept: 'application/vnd.kubernetes.protobuf' },
    })
    return (JSON.parse(said) as { readonly status: object }).status
  }

  test.each([
    {
      name: 'what the scope grants',
      spec: { resourceAttributes: { verb: 'list', resource: 'configmaps' } },
    },
    { name: 'discovery', spec: { nonResourceAttributes: { verb: 'get', path: '/api' } } },
  ])("of $name gets the API server's response", async ({ spec }) => {
    expect(await asks(spec)).toEqual({ allowed: true, reason: 'RBAC' })
  })

  test.each([
    {
      name: 'another resource',
      spec: { resourceAttributes: { verb: 'list', resource: 'secrets' } },
    },
    {
      name: 'another verb',
      spec: { resourceAttributes: { verb: 'delete', resource: 'configmaps' } },
    },
    {
      name: 'a subresource',
      spec: { resourceAttributes: { verb: 'get', resource: 'configmaps', subresource: 'x' } },
    },
    { name: 'everything', spec: { resourceAttributes: { verb: '*', resource: '*', group: '*' } } },
    { name: 'a path', spec: { nonResourceAttributes: { verb: 'get', path: '/metrics' } } },
    { name: 'no attributes', spec: {} },
    { name: 'malformed attributes', spec: { resourceAttributes: [{ verb: 'list' }] } },
  ])('of $name is denied with a reason', async ({ spec }) => {
    expect(await asks(spec)).toEqual({
      allowed: false,
      denied: true,
      reason: expect.stringContaining('the scope does not grant'),
    })
  })

  test.each([
    { name: 'as a text', body: 'no' },
    { name: 'without a spec', body: '{}' },
    { name: 'as a list', body: '[]' },
  ])(
    'allows nothing where the answer of the API server cannot be read: $name',
    async ({ body }) => {
      const upstream = (): Answer => ({
        ...OK,
        status: 201,
        body: bodyOf(Buffer.from(body)),
      })
      const { answer } = await handlerWith({ scope: CONFIG_MAPS, upstream }).ask(REVIEW, {
        method: 'POST',
      })
      expect(answer.status).toBe(503)
    },
  )

  test('passes a refusal of the API server on', async () => {
    const upstream = (): Answer => ({
      ...OK,
      status: 403,
      body: bodyOf(Buffer.from('{"code":403}')),
    })
    const { said } = await handlerWith({ scope: CONFIG_MAPS, upstream }).ask(REVIEW, {
      method: 'POST',
    })
    expect(said).toBe('{"code":403}')
  })

  test('is forwarded for a key without a scope', async () => {
    const upstream = (headers: UpstreamHeaders): Answer => {
      expect(headers).toMatchObject({ accept: 'a/b' })
      return OK
    }
    await handlerWith({ upstream }).ask(REVIEW, { method: 'POST', headers: { accept: 'a/b' } })
  })
})
