/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { type RequestFailure, type Request, failure } from './fake-config-map-server.ts'
import {
  EXP,
  EXPIRES_MS,
  HOUR,
  HOUR_MS,
  NEXT_HOUR,
  entriesByName,
  jtis,
  startManager,
  requestMethods,
  failNextWrites,
  serverAndManager,
} from './test-manager.ts'

describe('nothing is lost (7.4)', () => {
  test.each<{
    readonly name: string
    readonly befalls: readonly RequestFailure[]
    readonly fault: string | null
    readonly sent: readonly Request['method'][]
    readonly withinMs: number
  }>([
    {
      name: 'a 500',
      befalls: [{ refused: failure(500, 'InternalError') }],
      fault: 'the API server answered 500 InternalError',
      sent: ['create', 'create'],
      withinMs: 300,
    },
    {
      name: 'a 429 with Retry-After',
      befalls: [{ refused: failure(429, 'TooManyRequests', 20_000) }],
      fault: 'the API server answered 429 TooManyRequests',
      sent: ['create', 'create'],
      withinMs: 20_050,
    },
    {
      name: 'no answer to a write that happened',
      befalls: ['lost'],
      // The watch tells before anybody asks again.
      fault: 'no answer from the API server',
      sent: ['create'],
      withinMs: 100,
    },
    {
      name: 'no answer to a write that did not happen',
      befalls: [{ refused: new Error('connect ECONNREFUSED 10.0.0.1:6443') }],
      fault: 'no answer from the API server',
      sent: ['create', 'create'],
      withinMs: 300,
    },
    {
      name: 'a 404: the namespace is not there',
      befalls: [{ refused: failure(404, 'NotFound') }],
      fault: 'the API server answered 404 NotFound',
      sent: ['create', 'create'],
      withinMs: 300,
    },
    {
      name: 'a conflict, which is no fault',
      befalls: [{ refused: failure(409, 'AlreadyExists') }],
      fault: null,
      sent: ['create', 'get', 'create'],
      withinMs: 300,
    },
    {
      name: 'one failure after the other',
      befalls: [
        { refused: failure(500, 'InternalError') },
        { refused: failure(503, 'ServiceUnavailable') },
        { refused: failure(403, 'Forbidden') },
      ],
      fault: 'the API server answered 500 InternalError',
      sent: ['create', 'create', 'create', 'create'],
      withinMs: 250 + 500 + 1000 + 100,
    },
  ])('by $name', async ({ befalls, fault, sent, withinMs }) => {
    const { clock, server, one } = serverAndManager()
    one.mishap = failNextWrites(...befalls)
    one.records.record('a', EXPIRES_MS)
    await clock.advance(50)
    expect(one.records.fault()).toBe(fault)
    await clock.advance(withinMs - 50)
    expect([one.records.has('a'), server.data()]).toEqual([true, { [HOUR]: { a: EXP } }])
    await clock.advance(60_000)
    expect(requestMethods(one)).toEqual(sent)
    expect([one.notified, one.revoked]).toEqual([['a'], 1])
    one.records.record('b', EXPIRES_MS)
    await clock.advance(1000)
    expect(one.records.fault()).toBeNull()
  })

  test('Retry-After is obeyed: nothing is sent before', async () => {
    const { clock, one } = serverAndManager()
    one.mishap = failNextWrites({ refused: failure(429, 'TooManyRequests', 20_000) })
    one.records.record('a', EXPIRES_MS)
    await clock.advance(19_000)
    one.records.record('b', EXPIRES_MS + HOUR_MS)
    await clock.advance(1000)
    expect(one.requests).toHaveLength(1)
    await clock.advance(1000)
    expect([one.records.has('a'), one.records.has('b')]).toEqual([true, true])
  })

  test('while the API server is down the write is tried every 5 s, and the fault keeps its words', async () => {
    const { clock, one } = serverAndManager()
    one.mishap = () => ({ refused: failure(500, 'InternalError') })
    one.records.record('a', EXPIRES_MS)
    one.records.record('b', EXPIRES_MS + HOUR_MS)
    await clock.advance(10_000)
    const sent = one.requests.length
    const faults = new Set<string | null>()
    for (let second = 0; second < 50; second += 1) {
      await clock.advance(1000)
      faults.add(one.records.fault())
    }
    expect(one.requests.length - sent).toBeLessThanOrEqual(10)
    expect([...faults]).toEqual(['the API server answered 500 InternalError'])
    one.mishap = () => null
    await clock.advance(6000)
    expect([one.records.has('a'), one.records.has('b')]).toEqual([true, true])
    one.mishap = failNextWrites({ refused: failure(500, 'InternalError') })
    one.records.record('c', EXPIRES_MS)
    await clock.advance(300)
    expect(one.records.has('c')).toBe(true)
  })

  test('an hour that can not be written keeps no other waiting', async () => {
    const { clock, server, one } = serverAndManager()
    await server.edit(HOUR, {})
    await clock.advance(10)
    one.mishap = (method) => (method === 'replace' ? { refused: failure(422, 'Invalid') } : null)
    one.records.record('a', EXPIRES_MS)
    one.records.record('b', EXPIRES_MS + HOUR_MS)
    await clock.advance(1000)
    expect([one.records.has('a'), one.records.has('b')]).toEqual([false, true])
    one.mishap = () => null
    await clock.advance(6000)
    expect(one.records.has('a')).toBe(true)
  })

  test('after the write of another client that the watch has not delivered, the ConfigMap is read', async () => {
    const { clock, server, one } = serverAndManager()
    one.watchMs = 2000
    await server.edit(HOUR, { theirs: EXP })
    one.records.record('a', EXPIRES_MS)
    await clock.advance(1000)
    expect(server.data()).toEqual({ [HOUR]: { theirs: EXP, a: EXP } })
    expect(requestMethods(one)).toEqual(['create', 'get', 'replace'])
    await clock.advance(5000)
    expect([one.records.has('a'), requestMethods(one).length, one.revoked]).toEqual([true, 3, 1])
  })

  test('a write after a create does not wait for the watch, nor stand on an old view', async () => {
    const { clock, server, one } = serverAndManager()
    one.watchMs = 900
    for (const jti of jtis(6)) {
      one.records.record(jti, EXPIRES_MS)
      await clock.advance(250)
    }
    await clock.advance(250)
    expect(entriesByName(server)).toEqual({ [HOUR]: 6 })
    await clock.advance(5000)
    expect(requestMethods(one)).toEqual(['create', ...Array.from({ length: 5 }, () => 'replace')])
    expect(jtis(6).every((jti) => one.records.has(jti))).toBe(true)
  })

  test('while the watch is broken, our last answer stands', async () => {
    const { clock, server, one } = serverAndManager()
    one.watchMs = null
    one.records.record('a', EXPIRES_MS)
    await clock.advance(4000)
    one.records.record('b', EXPIRES_MS)
    await clock.advance(2000)
    one.records.record('c', EXPIRES_MS)
    await clock.advance(1000)
    expect(requestMethods(one)).toEqual(['create', 'replace', 'replace'])
    await server.edit(HOUR, undefined)
    one.records.record('d', EXPIRES_MS)
    await clock.advance(1000)
    expect(server.data()).toEqual({ [HOUR]: { a: EXP, b: EXP, c: EXP, d: EXP } })
  })

  test('a watch that is broken for minutes', async () => {
    const { clock, server, one } = serverAndManager()
    one.watchMs = null
    for (const jti of jtis(4)) {
      one.records.record(jti, EXPIRES_MS)
      await clock.advance(60_000)
    }
    expect(entriesByName(server)).toEqual({ [HOUR]: 4 })
    expect(one.records.has('jti-0')).toBe(false)
    one.watchMs = 5
    one.relist()
    expect(jtis(4).every((jti) => one.records.has(jti))).toBe(true)
    expect(one.revoked).toBe(4)
  })

  test('a ConfigMap that was deleted before the watch had shown it', async () => {
    const { clock, server, one } = serverAndManager()
    one.watchMs = null
    one.records.record('a', EXPIRES_MS)
    await clock.advance(1000)
    await server.edit(HOUR, undefined)
    one.watchMs = 5
    one.relist()
    await clock.advance(10_000)
    expect([server.data(), one.records.has('a')]).toEqual([{ [HOUR]: { a: EXP } }, true])
  })

  test('a ConfigMap that is gone while the watch is behind', async () => {
    const { clock, server, one } = serverAndManager()
    await server.edit(HOUR, { old: EXP })
    await clock.advance(10)
    one.watchMs = 3000
    await server.edit(HOUR, undefined)
    one.records.record('a', EXPIRES_MS)
    one.records.record('b', EXPIRES_MS + HOUR_MS)
    await clock.advance(1000)
    expect([one.records.fault(), one.requests.length > 2]).toEqual([null, true])
    expect(server.data()).toEqual({ [NEXT_HOUR]: { b: '2026-11-21T11:30:00Z' } })
    await clock.advance(20_000)
    expect(server.data()[HOUR]).toEqual({ old: EXP, a: EXP })
    expect(one.records.has('a')).toBe(true)
  })

  test('a record that a user deletes while it is needed is stored again', async () => {
    const { clock, server, one } = serverAndManager()
    for (const jti of jtis(3)) one.records.record(jti, EXPIRES_MS)
    await clock.advance(1000)
    await server.edit(HOUR, undefined)
    await clock.advance(1000)
    expect(entriesByName(server)).toEqual({ [HOUR]: 3 })
    await server.edit(HOUR, { 'jti-0': 'garbage', other: 'garbage' })
    await clock.advance(1000)
    expect(server.data()).toEqual({
      [HOUR]: { 'jti-0': 'garbage', other: 'garbage', 'jti-1': EXP, 'jti-2': EXP },
    })
    expect(jtis(3).every((jti) => one.records.has(jti))).toBe(true)
  })

  test('a copy by hand is not missed when it goes', async () => {
    const { clock, server, one } = serverAndManager()
    one.records.record('a', EXPIRES_MS)
    await clock.advance(1000)
    await server.edit(`${HOUR}-1`, { a: EXP })
    await clock.advance(1000)
    await server.edit(`${HOUR}-1`, undefined)
    await clock.advance(1000)
    expect([one.records.has('a'), one.notified]).toEqual([true, ['a']])
    expect(server.data()).toEqual({ [HOUR]: { a: EXP } })
  })

  test('a crash between: the next manager stores what is asked for again', async () => {
    const { clock, server, one } = serverAndManager()
    for (const [index, jti] of jtis(5000).entries())
      one.records.record(jti, EXPIRES_MS + (index % 3) * HOUR_MS)
    await clock.advance(300)
    one.die()
    await clock.advance(15_000)
    const two = startManager(server, clock)
    const missing = jtis(5000).filter((jti) => !two.records.has(jti))
    expect(missing.length).toBeGreaterThan(0)
    expect(missing.length).toBeLessThan(5000)
    for (const [index, jti] of jtis(5000).entries())
      two.records.record(jti, EXPIRES_MS + (index % 3) * HOUR_MS)
    await clock.advance(3000)
    expect(jtis(5000).every((jti) => two.records.has(jti))).toBe(true)
    expect(Object.values(entriesByName(server)).reduce((sum, count) => sum + count)).toBe(5000)
    expect(two.revoked).toBe(missing.length)
  })
})

describe('the backlog of records (8.4)', () => {
  test('is what is asked for and not stored, and grows older while it fails', async () => {
    const { clock, one } = serverAndManager()
    one.mishap = () => ({ refused: failure(500, 'InternalError') })
    expect(one.records.backlog()).toEqual({ count: 0, longestMs: 0 })
    one.records.record('jti-0', EXPIRES_MS)
    await clock.advance(20_000)
    one.records.record('jti-0', EXPIRES_MS)
    one.records.record('jti-1', EXPIRES_MS)
    await clock.advance(10_000)
    expect(one.records.backlog()).toEqual({ count: 2, longestMs: 30_000 })
    expect(['jti-0', 'jti-1', 'jti-2'].map((jti) => one.records.requestedForMs(jti))).toEqual([
      30_000,
      10_000,
      null,
    ])
    one.mishap = () => null
    await clock.advance(10_000)
    expect(one.records.backlog()).toEqual({ count: 0, longestMs: 0 })
    expect(one.records.requestedForMs('jti-0')).toBeNull()
  })

  test('what no server takes any more is no part of it', async () => {
    const { clock, one } = serverAndManager()
    one.mishap = () => ({ refused: failure(500, 'InternalError') })
    one.records.record('jti-0', EXPIRES_MS)
    await clock.advance(2 * HOUR_MS)
    expect(one.records.backlog()).toEqual({ count: 0, longestMs: 0 })
  })
})
