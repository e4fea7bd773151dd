import { describe, expect, test } from 'vitest'
import { SECRETS } from '../../../../src/api/names.ts'
import { StatusError } from '../../../../src/kube/client/api-error.ts'
import { type KubeClient, pathOf } from '../../../../src/kube/client/client.ts'
import {
  type Answer,
  type ReceivedRequest,
  THINGS,
  connectTo,
  json,
  refuse,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

/** The outcome of one call with one answer. */
async function call(answer: Answer, act: (client: KubeClient) => Promise<unknown>) {
  const server = await startScriptedServer(answer)
  const { client, observed } = await connectTo(await writeKubeconfig({ server: server.url }))
  const outcome = await act(client).then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  )
  return { outcome, requests: server.received, observed }
}

const a = thing('a', 5)
const { signal } = new AbortController()
const conditions = { uid: 'a-uid', resourceVersion: '5' }
const applied = { apiVersion: 'g.io/v1', kind: 'Thing', metadata: { name: 'a', uid: 'a-uid' } }
const SELECTOR = 'spec.user=ann b,spec.type!='
const JSON_TYPE = 'application/json'

interface Verb {
  readonly name: string
  readonly act: (client: KubeClient) => Promise<unknown>
  readonly asks: string
  readonly query?: ReceivedRequest['query']
  readonly type?: string
  readonly body?: unknown
  readonly answer?: unknown
  readonly result: unknown
  readonly observed: readonly string[]
}

describe('each verb', () => {
  test.each<Verb>([
    {
      name: 'get',
      act: (client) => client.get(THINGS, { name: 'a' }),
      asks: 'GET /apis/g.io/v1/things/a',
      result: a,
      observed: ['GET 200'],
    },
    {
      name: 'get of a core object in a namespace',
      act: (client) => client.get(SECRETS, { name: 'a', namespace: 'n' }),
      asks: 'GET /api/v1/namespaces/n/secrets/a',
      result: a,
      observed: ['GET 200'],
    },
    {
      name: 'list, first page',
      act: (client) => client.list(THINGS, { fieldSelector: SELECTOR }, 500),
      asks: 'GET /apis/g.io/v1/things',
      query: { limit: '500', fieldSelector: SELECTOR },
      answer: { metadata: { resourceVersion: '7', continue: 'x+/=&y' }, items: [a] },
      result: { items: [a], resourceVersion: '7', next: 'x+/=&y' },
      observed: ['GET 200'],
    },
    {
      name: 'list, by a label',
      act: (client) => client.list(THINGS, { namespace: 'n', labelSelector: 'g.io/a' }, 500),
      asks: 'GET /apis/g.io/v1/namespaces/n/things',
      query: { limit: '500', labelSelector: 'g.io/a' },
      answer: { metadata: { resourceVersion: '7' }, items: [] },
      result: { items: [], resourceVersion: '7' },
      observed: ['GET 200'],
    },
    {
      name: 'list, last page',
      act: (client) => client.list(THINGS, { namespace: 'n' }, 2, 'x+/=&y', signal),
      asks: 'GET /apis/g.io/v1/namespaces/n/things',
      query: { limit: '2', continue: 'x+/=&y' },
      answer: { metadata: { resourceVersion: '7', continue: '' }, items: [] },
      result: { items: [], resourceVersion: '7' },
      observed: ['GET 200'],
    },
    {
      name: 'create',
      act: (client) => client.create(THINGS, applied, 'because'),
      asks: 'POST /apis/g.io/v1/things',
      type: JSON_TYPE,
      body: applied,
      result: a,
      observed: ['POST 200', 'Thing because'],
    },
    {
      name: 'create in a namespace',
      act: (client) =>
        client.create(SECRETS, { ...applied, metadata: { name: 'a', namespace: 'n' } }, 'because'),
      asks: 'POST /api/v1/namespaces/n/secrets',
      type: JSON_TYPE,
      body: { ...applied, metadata: { name: 'a', namespace: 'n' } },
      result: a,
      observed: ['POST 200', 'Secret because'],
    },
    {
      name: 'replace',
      act: (client) => client.replace(THINGS, a, 'because'),
      asks: 'PUT /apis/g.io/v1/things/a',
      type: JSON_TYPE,
      body: a,
      result: a,
      observed: ['PUT 200', 'Thing because'],
    },
    {
      name: 'apply',
      act: (client) => client.apply(THINGS, applied, 'because'),
      asks: 'PATCH /apis/g.io/v1/things/a',
      query: { fieldManager: 'tester', force: 'true' },
      type: 'application/apply-patch+yaml',
      body: applied,
      result: a,
      observed: ['PATCH 200', 'Thing because'],
    },
    {
      name: 'apply of status',
      act: (client) => client.apply(THINGS, applied, 'because', 'status'),
      asks: 'PATCH /apis/g.io/v1/things/a/status',
      query: { fieldManager: 'tester', force: 'true' },
      type: 'application/apply-patch+yaml',
      body: applied,
      result: a,
      observed: ['PATCH 200', 'Thing because'],
    },
    {
      name: 'patch',
      act: (client) =>
        client.patch(THINGS, a.metadata, [{ op: 'test', path: '/x', value: null }], 'because'),
      asks: 'PATCH /apis/g.io/v1/things/a',
      type: 'application/json-patch+json',
      body: [{ op: 'test', path: '/x', value: null }],
      result: a,
      observed: ['PATCH 200', 'Thing because'],
    },
    {
      name: 'patch of status',
      act: (client) =>
        client.patch(
          THINGS,
          a.metadata,
          [{ op: 'test', path: '/x', value: null }],
          'because',
          'status',
          signal,
        ),
      asks: 'PATCH /apis/g.io/v1/things/a/status',
      type: 'application/json-patch+json',
      body: [{ op: 'test', path: '/x', value: null }],
      result: a,
      observed: ['PATCH 200', 'Thing because'],
    },
    {
      name: 'delete',
      act: (client) => client.delete(THINGS, { name: 'a' }, conditions, 'because'),
      asks: 'DELETE /apis/g.io/v1/things/a',
      type: JSON_TYPE,
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: conditions },
      result: a,
      observed: ['DELETE 200', 'Thing because'],
    },
    {
      name: 'delete of an object without finalizers',
      act: (client) => client.delete(THINGS, { name: 'a' }, conditions, 'because'),
      asks: 'DELETE /apis/g.io/v1/things/a',
      type: JSON_TYPE,
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: conditions },
      answer: { apiVersion: 'v1', kind: 'Status', status: 'Success' },
      result: null,
      observed: ['DELETE 200', 'Thing because'],
    },
  ])('$name', async ({ act, asks, query = {}, type, body, answer = a, result, observed }) => {
    const made = await call(json(200, answer), act)
    expect(made.outcome).toEqual({ result })
    expect(made.observed).toEqual(observed)
    const [request, ...more] = made.requests
    expect(more).toEqual([])
    expect(`${request?.method} ${request?.path}`).toBe(asks)
    expect(request?.query).toEqual(query)
    expect(request?.headers).toMatchObject({ accept: JSON_TYPE, 'user-agent': 'tester/1' })
    expect(request?.headers['content-type']).toBe(type)
    expect(request?.body).toBe(body === undefined ? '' : JSON.stringify(body))
  })

  test('watch gives the bytes as they arrive', async () => {
    const query = { watch: 'true', resourceVersion: '5' }
    const made = await call(
      (response) => response.end('{"a":1}\n{"b"'),
      async (client) => {
        const stream = await client.watch(THINGS, query, 'n', signal)
        return Buffer.concat(await stream.toArray()).toString()
      },
    )
    expect(made.outcome).toEqual({ result: '{"a":1}\n{"b"' })
    expect(made.requests).toMatchObject([{ path: '/apis/g.io/v1/namespaces/n/things', query }])
  })
})

describe('an object that does not exist', () => {
  const gone = refuse(404, { reason: 'NotFound', message: 'things "a" not found' })
  const missing = { code: 404, reason: 'NotFound' }
  test.each<Pick<Verb, 'name' | 'act'> & { readonly outcome: unknown }>([
    {
      name: 'get: null',
      act: (client) => client.get(THINGS, { name: 'a' }),
      outcome: { result: null },
    },
    {
      name: 'delete: null, nothing is written',
      act: (client) => client.delete(THINGS, { name: 'a' }, conditions, 'because'),
      outcome: { result: null },
    },
    {
      name: 'list: a failure',
      act: (client) => client.list(THINGS, {}, 5),
      outcome: { error: missing },
    },
    {
      name: 'watch: a failure',
      act: (client) => client.watch(THINGS, {}, undefined, signal),
      outcome: { error: missing },
    },
    {
      name: 'apply: a failure',
      act: (client) => client.apply(THINGS, applied, 'because'),
      outcome: { error: missing },
    },
    {
      name: 'patch: a failure',
      act: (client) => client.patch(THINGS, { name: 'a' }, [], 'because'),
      outcome: { error: missing },
    },
  ])('$name', async ({ act, outcome }) => {
    const made = await call(gone, act)
    expect(made.outcome).toMatchObject(outcome as object)
    expect(made.observed).toHaveLength(1)
  })

  test('a failure names the call', async () => {
    const { outcome } = await call(gone, (client) => client.list(THINGS, {}, 5))
    expect(outcome).toMatchObject({
      error: { message: 'GET /apis/g.io/v1/things: 404 NotFound: things "a" not found' },
    })
  })

  test('a delete that conflicts is a failure, not a deletion', async () => {
    const { outcome } = await call(refuse(409, { reason: 'Conflict' }), (client) =>
      client.delete(THINGS, { name: 'a' }, conditions, 'because'),
    )
    expect(outcome).toMatchObject({ error: expect.any(StatusError) as unknown })
  })
})

describe('a path', () => {
  test.each([
    { name: 'of a collection', ref: {}, path: '/apis/g.io/v1/things' },
    {
      name: 'of a collection in a namespace',
      ref: { namespace: 'n' },
      path: '/apis/g.io/v1/namespaces/n/things',
    },
    {
      name: 'with special characters',
      ref: { name: 'a/b?c#d%2f é' },
      path: '/apis/g.io/v1/things/a%2Fb%3Fc%23d%252f%20%C3%A9',
    },
  ])('$name', ({ ref, path }) => {
    expect(pathOf(THINGS, ref)).toBe(path)
  })

  test.each([
    { name: 'name', ref: { name: '' } },
    { name: 'namespace', ref: { name: 'a', namespace: '' } },
  ])('with an empty $name is refused: it would name the whole collection', async ({ ref }) => {
    const made = await call(json(200, {}), (client) =>
      client.delete(THINGS, ref, conditions, 'because'),
    )
    expect(made.outcome).toMatchObject({
      error: { message: 'a name or namespace of things is empty' },
    })
    expect(made.requests).toEqual([])
  })
})
