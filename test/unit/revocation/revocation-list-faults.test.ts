/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import {
  EXP,
  EXPIRES_MS,
  HOUR,
  HOUR_MS,
  NEXT_HOUR,
  type Request,
  type RequestFailure,
  entriesByName,
  failNextWrites,
  failure,
  jtis,
  requestMethods,
  serverAndManager,
  startManager,
} from './test-revocation-list.ts'

describe('a failed write loses no record (7.4)', () => {
  test.each<{
    readonly name: string
    readonly failures: readonly RequestFailure[]
    readonly fault: string | null
    readonly sent: readonly Request['method'][]
    readonly withinMs: number
  }>([
    {
      name: 'a 500',
      failures: [{ refused: failure(500, 'InternalError') }],
      fault: 'the API server answered 500 InternalError',
      sent: ['create', 'create'],
      withinMs: 300,
    },
    {
      name: 'a 429 with Retry-After',
      failures: [{ refused: failure(429, 'TooManyRequests', 20_000) }],
      fault: 'the API server answered 429 TooManyRequests',
      sent: ['create', 'create'],
      withinMs: 20_050,
    },
    {
      name: 'a lost response to a write that was stored',
      failures: ['lost'],
      // The watch delivers it before the next attempt.
      fault: 'no answer from the API server',
      sent: ['create'],
      withinMs: 100,
    },
    {
      name: 'a lost response to a write that was not stored',
      failures: [{ refused: new Error('connect ECONNREFUSED 10.0.0.1:6443') }],
      fault: 'no answer from the API server',
      sent: ['create', 'create'],
      withinMs: 300,
    },
    {
      name: 'a 404 without the namespace',
      failures: [{ refused: failure(404, 'NotFound') }],
      fault: 'the API server answered 404 NotFound',
      sent: ['create', 'create'],
      withinMs: 300,
    },
    {
      name: 'a conflict, which is not reported as a fault',
      failures: [{ refused: failure(409, 'AlreadyExists') }],
      fault: null,
      sent: ['create', 'get', 'create'],
      withinMs: 300,
    },
    {
      name: 'several failures in a row',
      failures: [
        { refused: failure(500, 'InternalError') },
        { refused: failure(503, 'ServiceUnavailable') },
        { refused: failure(403, 'Forbidden') },
      ],
      fault: 'the API server answered 500 InternalError',
      sent: ['create', 'create', 'create', 'create'],
      withinMs: 250 + 500 + 1000 + 100,
    },
  ])('after $name', async ({ failures, fault, sent, withinMs }) => {
    const { clock, server, one } = serverAndManager()
    one.failureOf = failNextWrites(...failures)
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

  test('nothing is sent before the time of Retry-After', async () => {
    const { clock, one } = serverAndManager()
    one.failureOf = failNextWrites({ refused: failure(429, 'TooManyRequests', 20_000) })
    one.records.record('a', EXPIRES_MS)
    await clock.advance(19_000)
    one.records.record('b', EXPIRES_MS + HOUR_MS)
    await clock.advance(1000)
    expect(one.requests).toHaveLength(1)
    await clock.advance(1000)
    expect([one.records.has('a'), one.records.has('b')]).toEqual([true, true])
  })

  test('the write is retried every 5 s while the API server is down, and the same fault stays reported', async () => {
    const { clock, one } = serverAndManager()
    one.failureOf = () => ({ refused: failure(500, 'InternalError') })
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
    one.failureOf = () => null
    await clock.advance(6000)
    expect([one.records.has('a'), one.records.has('b')]).toEqual([true, true])
    one.failureOf = failNextWrites({ refused: failure(500, 'InternalError') })
    one.records.record('c', EXPIRES_MS)
    await clock.advance(300)
    expect(one.records.has('c')).toBe(true)
  })

  test("a ConfigMap that can't be written does not delay that of another hour", async () => {
    const { clock, server, one } = serverAndManager()
    await server.edit(HOUR, {})
    await clock.advance(10)
    one.failureOf = (method) => (method === 'replace' ? { refused: failure(422, 'Invalid') } : null)
    one.records.record('a', EXPIRES_MS)
    one.records.record('b', EXPIRES_MS + HOUR_MS)
    await clock.advance(1000)
    expect([one.records.has('a'), one.records.has('b')]).toEqual([false, true])
    one.failureOf = () => null
    await clock.advance(6000)
    expect(one.records.has('a')).toBe(true)
  })

  test('reads the ConfigMap after a conflict with a write that the watch has not delivered', async () => {
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

  test('a write after a create uses the response to the create, not the store', async () => {
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

  test('while the watch is broken, the latest response counts as the state', async () => {
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

  test('a watch that is broken for minutes loses no record', async () => {
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

  test('creates again a ConfigMap that was deleted before the watch delivered it', async () => {
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

  test('creates again a ConfigMap that was deleted while the watch lags', async () => {
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

  test('a record that a user deleted before its token ended is stored again', async () => {
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

  test('a manual copy that is deleted is not stored again', async () => {
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

  test('after a crash the next manager stores the pending records', async () => {
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
  test('counts requested records that are not stored, and ages while writes fail', async () => {
    const { clock, one } = serverAndManager()
    one.failureOf = () => ({ refused: failure(500, 'InternalError') })
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
    one.failureOf = () => null
    await clock.advance(10_000)
    expect(one.records.backlog()).toEqual({ count: 0, longestMs: 0 })
    expect(one.records.requestedForMs('jti-0')).toBeNull()
  })

  test('leaves out records that the API server rejects for good', async () => {
    const { clock, one } = serverAndManager()
    one.failureOf = () => ({ refused: failure(500, 'InternalError') })
    one.records.record('jti-0', EXPIRES_MS)
    await clock.advance(2 * HOUR_MS)
    expect(one.records.backlog()).toEqual({ count: 0, longestMs: 0 })
  })
})
