import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { NotLeaderError } from '../../../../src/kube/client/api-error.ts'
import type { KubeClient } from '../../../../src/kube/client/client.ts'
import { plantCanary, findCanaries } from '../../../support/canary.ts'
import { eventually } from '../../../support/eventually.ts'
import type { ManualClock } from '../../../support/manual-clock.ts'
import {
  type Answer,
  type ReceivedRequest,
  THINGS,
  dropConnection,
  connectTo,
  answersInTurn,
  json,
  refuse,
  neverAnswer,
  startScriptedServer,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const SOON = { withinMs: 20_000 }
/** Size of the pool for calls. */
const CONNECTIONS = 32
const a = thing('a', 5)
const applied = { apiVersion: 'g.io/v1', kind: 'Thing', metadata: { name: 'a', uid: 'a-uid' } }
const good = json(200, a)
const busy = (seconds: string): Answer => refuse(429, {}, { 'retry-after': seconds })

const read = (client: KubeClient): Promise<unknown> => client.get(THINGS, { name: 'a' })
const write = (client: KubeClient): Promise<unknown> => client.apply(THINGS, applied, 'because')

/** A client of one server; `writeChecks` counts the calls of `mayWrite`. */
async function clientOf(answer: Answer, mayWrite: (checks: number) => void = () => undefined) {
  const server = await startScriptedServer(answer)
  let checks = 0
  const connected = await connectTo(await writeKubeconfig({ server: server.url }), () => {
    checks += 1
    mayWrite(checks)
  })
  return { ...connected, server, checks: () => checks }
}

/** The result or error of a call, while the clock advances. */
async function outcomeOf(clock: ManualClock, call: Promise<unknown>): Promise<unknown> {
  let outcome: object | undefined
  void call.then(
    (result) => (outcome = { result }),
    (error: unknown) => (outcome = { error }),
  )
  const finished = async (): Promise<object | undefined> => {
    await clock.advance(1000)
    return outcome
  }
  return eventually('the call ends', finished, SOON)
}

describe('a server that answers 429', () => {
  test('gets the request again after its Retry-After, and not before', async () => {
    const { client, clock, server } = await clientOf(answersInTurn(busy('7'), good))
    const call = read(client)
    await eventually('it waits', () => (clock.pending() > 0 ? true : undefined), SOON)
    await clock.advance(6999)
    expect(server.received).toHaveLength(1)
    await clock.advance(1)
    expect(await call).toEqual(a)
    expect(server.received).toHaveLength(2)
  })

  test.each<{ name: string; answers: readonly Answer[]; requests: number; outcome: unknown }>([
    {
      name: 'is retried three times',
      answers: [busy('1'), busy('2'), busy('3'), good],
      requests: 4,
      outcome: { result: a },
    },
    {
      name: 'fails the call at the fourth 429, so that the queue retries',
      answers: Array.from({ length: 9 }, () => busy('1')),
      requests: 4,
      outcome: { error: { code: 429, retryAfterMs: 1000 } },
    },
    {
      name: 'fails the call at once when Retry-After exceeds ten seconds',
      answers: [busy('11'), good],
      requests: 1,
      outcome: { error: { code: 429, retryAfterMs: 11_000 } },
    },
    {
      name: 'fails the call at once without Retry-After',
      answers: [refuse(429), good],
      requests: 1,
      outcome: { error: { code: 429, retryAfterMs: null } },
    },
    {
      name: 'is retried when only its Status has the time',
      answers: [refuse(429, { details: { retryAfterSeconds: 1 } }), good],
      requests: 2,
      outcome: { result: a },
    },
    {
      name: 'is not retried after a 503, since the write may have been done',
      answers: [refuse(503, {}, { 'retry-after': '1' }), good],
      requests: 1,
      outcome: { error: { code: 503, retryAfterMs: 1000 } },
    },
  ])('$name', async ({ answers, requests, outcome }) => {
    const { client, clock, server } = await clientOf(answersInTurn(...answers))
    expect(await outcomeOf(clock, write(client))).toMatchObject(outcome as object)
    expect(server.received).toHaveLength(requests)
    expect(new Set(server.received.map(({ body }) => body))).toEqual(
      new Set([JSON.stringify(applied)]),
    )
  })

  test('an abort ends the wait', async () => {
    const { client, clock, server } = await clientOf(answersInTurn(busy('7'), good))
    const abort = new AbortController()
    const call = client.list(THINGS, {}, 5, undefined, abort.signal)
    await eventually('it waits', () => (clock.pending() > 0 ? true : undefined), SOON)
    abort.abort()
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
    expect(server.received).toHaveLength(1)
  })
})

describe('mayWrite is called before each write is sent', () => {
  test.each([
    { name: 'a read: never', act: read, answers: [good], checks: 0 },
    {
      name: 'a read after Retry-After: never',
      act: read,
      answers: [busy('1'), good],
      checks: 0,
    },
    { name: 'a write: once', act: write, answers: [good], checks: 1 },
    {
      name: 'a write after Retry-After: again',
      act: write,
      answers: [busy('1'), good],
      checks: 2,
    },
    {
      name: 'a write refused by 401: again',
      act: write,
      answers: [refuse(401), good],
      checks: 2,
    },
    {
      name: 'create',
      act: (client: KubeClient) => client.create(THINGS, applied, 'because'),
      answers: [good],
      checks: 1,
    },
    {
      name: 'replace',
      act: (client: KubeClient) => client.replace(THINGS, a, 'because'),
      answers: [good],
      checks: 1,
    },
    {
      name: 'patch',
      act: (client: KubeClient) => client.patch(THINGS, { name: 'a' }, [], 'because'),
      answers: [good],
      checks: 1,
    },
    {
      name: 'delete',
      act: (client: KubeClient) =>
        client.delete(THINGS, { name: 'a' }, { uid: 'u', resourceVersion: '1' }, 'because'),
      answers: [good],
      checks: 1,
    },
  ])('$name', async ({ act, answers, checks }) => {
    const connected = await clientOf(answersInTurn(...answers))
    await outcomeOf(connected.clock, act(connected.client))
    expect(connected.checks()).toBe(checks)
  })

  test.each([
    { name: 'before the first attempt', answers: [good], lostAt: 1, requests: 0 },
    { name: 'during Retry-After', answers: [busy('1'), good], lostAt: 2, requests: 1 },
    {
      name: 'while credentials are read',
      answers: [refuse(401), good],
      lostAt: 2,
      requests: 1,
    },
  ])('a lease lost $name: no write is sent', async ({ answers, lostAt, requests }) => {
    const lost = new Error('not the leader')
    const { client, clock, server, observed } = await clientOf(
      answersInTurn(...answers),
      (checks) => {
        if (checks === lostAt) throw lost
      },
    )
    expect(await outcomeOf(clock, write(client))).toEqual({ error: lost })
    expect(server.received).toHaveLength(requests)
    expect(observed).not.toContain('Thing because')
    expect(await outcomeOf(clock, read(client))).toEqual({ result: a })
  })
})

test('a lease lost while all connections are in use: no waiting write is sent (8.6)', async () => {
  const held: ServerResponse[] = []
  const lost = new NotLeaderError()
  let leads = true
  const { client, server, observed } = await clientOf(
    (response) => void held.push(response),
    () => {
      if (!leads) throw lost
    },
  )
  const first = Array.from({ length: CONNECTIONS }, () => write(client))
  await eventually('all are taken', () => held.length === CONNECTIONS || undefined, SOON)
  const waiting = Promise.allSettled([write(client), write(client)])
  const reading = read(client)
  // The call has done all steps that need no connection.
  await new Promise(setImmediate)
  leads = false
  for (const response of held.splice(0)) good(response, {} as ReceivedRequest)
  await Promise.all(first)
  expect(await waiting).toEqual(
    Array.from({ length: 2 }, () => ({ status: 'rejected', reason: lost })),
  )
  const response = await eventually('the read is asked', () => held[0], SOON)
  good(response, {} as ReceivedRequest)
  expect(await reading).toEqual(a)
  expect(server.received.map(({ method }) => method)).toEqual([
    ...Array.from({ length: CONNECTIONS }, () => 'PATCH'),
    'GET',
  ])
  expect(observed).not.toContain('PATCH <error>')
})

describe('an unusable answer', () => {
  test.each<{ name: string; answer: Answer; error: unknown; observed: string }>([
    {
      name: 'a success without JSON',
      answer: (response) => response.end('<html>'),
      error: { code: 200, message: 'PATCH /apis/g.io/v1/things/a: 200' },
      observed: 'PATCH 200',
    },
    {
      name: 'a failure with plain text',
      answer: (response) => response.writeHead(404).end('404 page not found'),
      error: { code: 404, reason: '' },
      observed: 'PATCH 404',
    },
    {
      name: 'a redirect is not followed',
      answer: (response) => response.writeHead(302, { location: '/elsewhere' }).end('{}'),
      error: { code: 302 },
      observed: 'PATCH 302',
    },
    {
      name: 'a connection that breaks before the answer',
      answer: dropConnection,
      error: { name: 'NoResponseError', cause: { name: 'SocketError', code: 'UND_ERR_SOCKET' } },
      observed: 'PATCH <error>',
    },
    {
      name: 'a connection that breaks within the answer',
      answer: (response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"a":')
        setImmediate(() => response.destroy())
      },
      error: { name: 'NoResponseError', cause: expect.any(Error) as unknown },
      observed: 'PATCH 200',
    },
  ])('$name', async ({ answer, error, observed }) => {
    const connected = await clientOf(answer)
    expect(await outcomeOf(connected.clock, write(connected.client))).toMatchObject({ error })
    expect(connected.observed).toEqual([observed])
    expect(connected.server.received).toHaveLength(1)
  })

  test('without a listening server the circuit breaker opens, until any answer', async () => {
    const { client, clock, observed, outage } = await connectTo(
      await writeKubeconfig({ server: 'http://127.0.0.1:1' }),
    )
    expect(await outcomeOf(clock, write(client))).toMatchObject({
      error: { name: 'NoResponseError', cause: { code: 'ECONNREFUSED' } },
    })
    expect(observed).toEqual(['PATCH <error>'])
    expect(outage.admit()).toBe(null)
  })

  test('any answer closes the circuit breaker, even a failure', async () => {
    const { client, clock, outage } = await clientOf(answersInTurn(dropConnection, refuse(500)))
    await outcomeOf(clock, write(client))
    expect(outage.admit()).not.toBe('freely')
    await outcomeOf(clock, write(client))
    expect(outage.admit()).toBe('freely')
  })

  test('an abort ends a call in flight', async () => {
    const { client, server } = await clientOf(neverAnswer)
    const abort = new AbortController()
    const call = client.list(THINGS, {}, 5, undefined, abort.signal)
    await eventually('it is asked', () => server.received[0], SOON)
    abort.abort()
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('an error quotes neither request nor answer', () => {
  test.each([400, 413, 422, 500, 502])('%i', async (code) => {
    const sent = plantCanary('sent')
    const received = plantCanary('received')
    const { client, clock, observed } = await clientOf(
      refuse(code, {
        reason: 'Invalid',
        message: `spec.key: Invalid value: "${received.secret}"`,
        details: { causes: [{ reason: 'FieldValueInvalid', message: received.secret }] },
      }),
    )
    const call = client.apply(THINGS, { ...applied, spec: { key: sent.secret } }, 'because')
    const outcome = (await outcomeOf(clock, call)) as { readonly error: Error }
    expect(outcome).toMatchObject({ error: { code } })
    const { error } = outcome
    const sinks = {
      text: String(error.stack),
      cause: String(error.cause),
      fields: JSON.stringify(error),
      observed: observed.join(),
    }
    expect(findCanaries(sinks, [sent, received])).toEqual([])
  })
})

describe('the observer of a client gets', () => {
  test('the date of each answer', async () => {
    const date = 'Sat, 21 Nov 2026 10:00:07 GMT'
    const { client, dates } = await clientOf(
      answersInTurn(json(200, a, { date }), json(200, a, { date: '?' })),
    )
    await read(client)
    await read(client)
    expect(dates).toEqual([Date.parse(date), null])
  })

  test('each attempt, and one write', async () => {
    const { client, clock, observed } = await clientOf(answersInTurn(refuse(401), busy('1'), good))
    await outcomeOf(clock, write(client))
    expect(observed).toEqual(['PATCH 401', 'PATCH 429', 'PATCH 200', 'Thing because'])
  })
})
