/** @module-tag no-retry */
// A request whose body is incomplete, or that the API server has not answered, ends with its key: nothing
// is stored for it, and it is answered at once (contract 10.2, 13.4; threats C3).
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { asAbortSignal } from '../../../src/runtime/concurrency/end-signal.ts'
import type { Answer } from '../../../src/serving/http/answer.ts'
import { eventually } from '../../support/eventually.ts'
import { CONFIGS, KEYS, MAPS, TOKENS, createStage } from './ended-key-stage.ts'

const LOGS = '/api/v1/namespaces/default/pods/a/log?follow=true'
const NOT_FOUND = 'platform access key not found. Please login again'
const WHYS = [
  { because: 'revoked', status: 401, says: NOT_FOUND },
  { because: 'expired', status: 401, says: 'platform access key expired. Please login again' },
  { because: 'changed', status: 401, says: 'the platform access key changed. Please try again' },
  { because: 'stale', status: 503, says: 'the gateway cannot tell now' },
] as const

const WRITES = [
  { name: 'a forwarded create', method: 'POST', path: MAPS },
  { name: 'a forwarded patch', method: 'PATCH', path: `${MAPS}/a` },
  { name: 'the creation of a key', method: 'POST', path: KEYS },
  { name: 'the change of a key', method: 'PATCH', path: `${KEYS}/a` },
  { name: 'the replacement of a key', method: 'PUT', path: `${KEYS}/a` },
  { name: 'the deletion of a key', method: 'DELETE', path: `${KEYS}/a` },
  { name: 'the deletion of keys', method: 'DELETE', path: KEYS },
  { name: 'the creation of a token', method: 'POST', path: TOKENS },
  { name: 'the creation of settings', method: 'POST', path: CONFIGS },
  { name: 'the apply of settings', method: 'PATCH', path: `${CONFIGS}/missing?fieldManager=a` },
  { name: 'the change of settings', method: 'PATCH', path: `${CONFIGS}/a` },
  { name: 'the deletion of settings', method: 'DELETE', path: CONFIGS },
]

const saidIn = async ({ body }: Answer): Promise<string> =>
  (JSON.parse(Buffer.isBuffer(body) ? body.toString() : await text(body)) as { message: string })
    .message

describe('a write whose client holds back the last byte', () => {
  test.each(WRITES)('$name: is answered once its key ends, and stores nothing', async (row) => {
    const { begin, end, stored, counted, underWay } = createStage()
    const held = begin(row.method, row.path, '{"spec":{}')
    await turn()
    await end('revoked')
    const answer = await held.answer
    expect({ status: answer.status, says: await saidIn(answer) }).toEqual({
      status: 401,
      says: NOT_FOUND,
    })
    // The client can still read the response on its connection.
    expect(held.body.destroyed).toBe(false)
    held.rest('}')
    await turn()
    await turn()
    expect({ stored, counted, left: underWay() }).toEqual({ stored: [], counted: [], left: 0 })
  })

  test.each(WHYS)(
    'gets a response with the reason and without expiry headers: $because (10.2, 13.5)',
    async (row) => {
      const { begin, end } = createStage()
      const held = begin('POST', MAPS, '{')
      await turn()
      await end(row.because)
      const answer = await held.answer
      const { status } = answer
      expect({ status, says: await saidIn(answer), use: await held.use() }).toEqual({
        status: row.status,
        says: expect.stringContaining(row.says),
        use: 'ended',
      })
    },
  )

  test('is logged when it writes a kind of the platform', async () => {
    const { begin, end, lines } = createStage()
    const held = begin('POST', KEYS, '{')
    await turn()
    await end('revoked')
    await held.answer
    expect(lines).toMatchObject([{ fields: { keyName: 'ada', verb: 'create', status: 401 } }])
  })

  test('with a valid key is stored', async () => {
    const { begin, stored } = createStage()
    const held = begin('POST', MAPS, '{"data":{}')
    await turn()
    held.rest('}')
    expect((await held.answer).status).toBe(201)
    expect(stored).toEqual([`POST ${MAPS}`])
  })
})

describe('the last check of the key before a write, when the watch has not delivered its end yet', () => {
  const ours = WRITES.filter(({ path }) => path !== MAPS && !path.startsWith(`${MAPS}/`))

  test.each(ours)(
    'refuses a key that ended while the body came: $name',
    async ({ method, path }) => {
      const { begin, endQuietly, stored, asked } = createStage()
      const held = begin(method, path, '{"spec":{}')
      await turn()
      endQuietly()
      held.rest('}')
      expect({ status: (await held.answer).status, stored }).toEqual({ status: 401, stored: [] })
      const tried = asked.filter((call) => call.method !== 'GET')
      expect(tried).toEqual([])
    },
  )

  const looking = ours.filter(({ path, method }) => path !== CONFIGS || method === 'PATCH')
  test.each(looking)(
    'refuses a key that ended during the dry run or the read of the object: $name',
    async (row) => {
      const given = createStage({
        act: ({ method, path }) => {
          if (method === 'GET' || path.includes('dryRun')) given.endQuietly()
        },
      })
      const held = given.begin(row.method, row.path, '{"spec":{"user":"ada"}')
      held.rest('}')
      expect({ status: (await held.answer).status, stored: given.stored }).toEqual({
        status: 401,
        stored: [],
      })
    },
  )

  test.each(ours)('lets a valid key store: $name', async ({ method, path }) => {
    const { begin, stored } = createStage()
    // Tokens have no `spec.user`, and self-service stores no field that it does not know.
    const held = begin(method, path, path === TOKENS ? '{"spec":{}' : '{"spec":{"user":"ada"}')
    held.rest('}')
    await eventually('it is stored', () => stored.length > 0 || undefined, { withinMs: 20_000 })
  })
})

describe('a request without a response yet', () => {
  const never = () => new Promise<void>(() => undefined)

  test.each([
    { name: 'a read', path: MAPS },
    { name: 'a watch', path: `${MAPS}?watch=true` },
    { name: 'following logs', path: LOGS },
    { name: 'a read of keys', path: KEYS },
    { name: 'a watch of keys', path: `${KEYS}?watch=true` },
  ])('$name: is answered at once and aborted at the API server', async ({ path }) => {
    let ended = 0
    const { begin, end, counted, underWay } = createStage({
      act: async ({ signal }) => {
        await once(asAbortSignal(signal), 'abort')
        ended += 1
      },
    })
    const { answer } = begin('GET', path)
    await turn()
    await end('revoked')
    expect((await answer).status).toBe(401)
    await turn()
    expect({ ended, counted, left: underWay() }).toEqual({ ended: 1, counted: [], left: 0 })
  })

  test.each([
    { name: 'a forwarded one', path: `${MAPS}/a` },
    { name: 'of a key', path: `${KEYS}/a` },
  ])(
    'has half a second to complete when it is a write that was sent, which may have ended its own key: $name',
    async ({ path }) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const { begin, end, clock, asked } = createStage({
        act: ({ method }) => (method === 'DELETE' ? promise : undefined),
      })
      const { answer, use, rest } = begin('DELETE', path)
      rest()
      await eventually(
        'it is sent',
        () => asked.some(({ method }) => method === 'DELETE') || undefined,
        { withinMs: 20_000 },
      )
      await end('revoked')
      await clock.advance(499)
      resolve()
      const { status } = await answer
      expect({ status, use: await use() }).toEqual({ status: 200, use: 'used' })
    },
  )

  test.each([
    { when: 'the key that it made', at: 'POST' },
    { when: 'the names of its fields', at: 'PATCH' },
    { when: 'the deletion of an ended key', at: 'DELETE' },
  ])(
    'completes what belongs to a write: its key ends while the API server stores $when',
    async ({ at }) => {
      const ended = ['x', 'y'].map((name) => ({
        name,
        uid: `uid-${name}`,
        resourceVersion: '1',
        endedMs: 0,
      }))
      let isFirst = true
      const { begin, end, stored } = createStage({
        beyond: ended,
        act: async ({ method, path }) => {
          if (method !== at || path.includes('dryRun') || !isFirst) return
          isFirst = false
          await end('expired')
        },
      })
      const held = begin('POST', KEYS, '{"spec":{"user":"ada"}')
      held.rest('}')
      expect((await held.answer).status).toBe(201)
      expect(stored).toEqual([
        `POST ${KEYS}`,
        `PATCH ${KEYS}/a`,
        `DELETE ${KEYS}/x`,
        `DELETE ${KEYS}/y`,
      ])
    },
  )

  test('is cut after that half second', async () => {
    const { begin, end, clock } = createStage({ act: never })
    const { answer } = begin('DELETE', `${MAPS}/a`)
    await turn()
    await end('revoked')
    await clock.advance(500)
    expect((await answer).status).toBe(401)
  })

  test('has no such time when its response has no time limit', async () => {
    const { begin, end } = createStage({ act: never })
    const { answer } = begin('POST', '/api/v1/namespaces/default/pods/a/proxy/x')
    await turn()
    await end('revoked')
    expect((await answer).status).toBe(401)
  })

  test.each([
    { method: 'DELETE', path: `${MAPS}/a` },
    { method: 'GET', path: MAPS },
    { method: 'GET', path: KEYS },
    { method: 'DELETE', path: `${KEYS}/a` },
  ])(
    'is not sent where its key ends while its use is recorded: $method $path (14.1)',
    async (row) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const { begin, end, asked } = createStage({ started: () => promise })
      const { answer, rest } = begin(row.method, row.path)
      rest()
      await turn()
      await end('revoked')
      expect((await answer).status).toBe(401)
      resolve()
      await turn()
      expect(asked).toEqual([])
    },
  )

  test('leaves no stream open when its response arrives later', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { begin, end, answers } = createStage({ act: () => promise, isDeaf: true })
    const { answer } = begin('GET', MAPS)
    await turn()
    await end('revoked')
    expect((await answer).status).toBe(401)
    resolve()
    await turn()
    expect(answers.map(({ body }) => body.destroyed)).toEqual([true])
  })

  test.each([{ goes: 'before' }, { goes: 'meanwhile' }])(
    'is aborted at the API server when its client disconnects: $goes (13.3)',
    async ({ goes }) => {
      const gone = new AbortController()
      const { begin, asked } = createStage({ act: never })
      if (goes === 'before') gone.abort()
      const { answer } = begin('GET', MAPS, '', gone)
      answer.catch(() => undefined)
      await turn()
      gone.abort()
      await turn()
      expect(asked.every(({ signal }) => signal.aborted)).toBe(true)
      expect(asked).toHaveLength(goes === 'before' ? 0 : 1)
    },
  )
})
