/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { NotLeaderError } from '../../../src/kube/client/api-error.ts'
import {
  EXP,
  EXPIRES_MS,
  HOUR,
  HOUR_MS,
  T0,
  entriesByName,
  failNextWrites,
  failure,
  isWrite,
  jtis,
  mostWritesInASecond,
  never,
  requestMethods,
  serverAndManager,
  startManager,
  trackSettled,
} from './test-revocation-list.ts'

describe('a record of a revoked token (7.4)', () => {
  test('is stored at once, found, passed to listeners and counted', async () => {
    const { clock, server, one } = serverAndManager()
    one.records.record('a', EXPIRES_MS)
    expect(one.records.has('a')).toBe(false)
    await clock.advance(30)
    expect(server.data()).toEqual({ [HOUR]: { a: EXP } })
    expect(server.objects.get(HOUR)?.metadata.namespace).toBe('platform-system')
    expect(one.records.has('a')).toBe(true)
    expect([one.notified, one.revoked, one.records.fault()]).toEqual([['a'], 1, null])
  })

  test('counts as stored once the store has it, not before', async () => {
    const { clock, server, one } = serverAndManager()
    one.watchMs = 1000
    one.records.record('a', EXPIRES_MS)
    await clock.advance(500)
    expect(server.data()).toEqual({ [HOUR]: { a: EXP } })
    expect(one.records.has('a')).toBe(false)
    await clock.advance(1000)
    expect([one.records.has('a'), one.notified]).toEqual([true, ['a']])
    expect(requestMethods(one)).toEqual(['create'])
  })

  test('is stored once, however often it is requested', async () => {
    const { clock, server, one } = serverAndManager()
    one.records.record('a', EXPIRES_MS)
    one.records.record('a', EXPIRES_MS + HOUR_MS)
    await clock.advance(5)
    one.records.record('a', EXPIRES_MS)
    await clock.advance(5000)
    one.records.record('a', EXPIRES_MS + HOUR_MS)
    await clock.advance(5000)
    expect([requestMethods(one), one.notified, one.revoked]).toEqual([['create'], ['a'], 1])
    expect(server.data()).toEqual({ [HOUR]: { a: EXP } })
  })

  test('a repeated request for a stored record causes no write', async () => {
    const { clock, one } = serverAndManager()
    one.records.record('a', EXPIRES_MS)
    await clock.advance(1000)
    one.records.record('a', EXPIRES_MS)
    await clock.advance(10)
    one.records.record('b', EXPIRES_MS)
    await clock.advance(30)
    expect(one.records.has('b')).toBe(true)
  })

  test('a record of an earlier manager is known from the first list', async () => {
    const { clock, server, one } = serverAndManager()
    one.records.record('a', EXPIRES_MS)
    await clock.advance(1000)
    const two = startManager(server, clock)
    expect(two.records.has('a')).toBe(true)
    two.records.record('a', EXPIRES_MS)
    await clock.advance(1000)
    expect([two.requests, two.notified]).toEqual([[], []])
  })

  test('leaves the other records of its ConfigMap unchanged', async () => {
    const { clock, server, one } = serverAndManager()
    await server.edit(HOUR, { kept: EXP, odd: 'damaged' })
    await clock.advance(10)
    one.records.record('a', EXPIRES_MS)
    await clock.advance(1000)
    expect(server.data()).toEqual({ [HOUR]: { kept: EXP, odd: 'damaged', a: EXP } })
  })

  test('is not written for an hour that is over', async () => {
    const { clock, server, one } = serverAndManager()
    one.records.record('a', T0 - HOUR_MS - 1)
    await clock.advance(5000)
    expect([server.data(), one.requests]).toEqual([{}, []])
    one.records.record('b', EXPIRES_MS)
    await clock.advance(1000)
    expect(entriesByName(server)).toEqual({ [HOUR]: 1 })
  })

  test('is rejected without a uid', () => {
    const { one } = serverAndManager()
    for (const jti of ['', 'a b', '..', 'x'.repeat(254)])
      expect(() => one.records.record(jti, EXPIRES_MS)).toThrow('has no uid')
  })

  test('ignores ConfigMaps of other owners', async () => {
    const { clock, server, one } = serverAndManager()
    await server.edit('kube-root-ca.crt', { 'ca.crt': 'x' })
    await clock.advance(1000)
    expect([one.records.has('ca.crt'), one.notified]).toEqual([false, []])
  })
})

describe('records are written in batches, at most four writes a second (7.4)', () => {
  const over = (count: number, hours: number): readonly (readonly [string, number])[] =>
    jtis(count).map((jti, index) => [jti, EXPIRES_MS + (index % hours) * HOUR_MS])

  test.each([
    { count: 2000, hours: 1, writes: 1 },
    { count: 2001, hours: 1, writes: 2 },
    { count: 2000, hours: 24, writes: 24 },
    { count: 5000, hours: 1, writes: 3 },
    { count: 5000, hours: 2, writes: 4 },
    { count: 5000, hours: 120, writes: 120 },
  ])('$count at once over $hours hours: $writes writes', async ({ count, hours, writes }) => {
    const { clock, server, one } = serverAndManager()
    const tokens = over(count, hours)
    for (const [jti, expiresMs] of tokens) one.records.record(jti, expiresMs)
    await clock.advance(writes * 270 + 10)
    expect(tokens.filter(([jti]) => !one.records.has(jti))).toEqual([])
    expect(one.requests.filter(isWrite)).toHaveLength(writes)
    expect(mostWritesInASecond(one.requests)).toBeLessThanOrEqual(4)
    expect([one.notified.length, one.revoked]).toEqual([count, count])
    expect(Math.max(...Object.values(entriesByName(server)))).toBeLessThanOrEqual(2000)
  })

  test('records one by one: each write carries all that were requested since the last', async () => {
    const { clock, server, one } = serverAndManager()
    for (const jti of jtis(200)) {
      one.records.record(jti, EXPIRES_MS)
      await clock.advance(10)
    }
    await clock.advance(1000)
    expect(entriesByName(server)).toEqual({ [HOUR]: 200 })
    expect(one.requests.length).toBeLessThanOrEqual(9)
    expect(mostWritesInASecond(one.requests)).toBe(4)
  })

  test('sweeps and failed writes count as writes', async () => {
    const { clock, server, one } = serverAndManager()
    for (const hour of ['00', '01', '02', '03', '04', '05', '06'])
      await server.edit(`platform-revoked-tokens-20261121${hour}`, { old: EXP })
    one.failureOf = failNextWrites(null, { refused: failure(409, 'Conflict') }, null, 'lost')
    await clock.advance(10)
    void one.records.sweep()
    for (const [index, jti] of jtis(8).entries())
      one.records.record(jti, EXPIRES_MS + index * HOUR_MS)
    await clock.advance(10_000)
    expect(mostWritesInASecond(one.requests)).toBe(4)
    expect(jtis(8).every((jti) => one.records.has(jti))).toBe(true)
  })
})

describe('a manager that does not lead writes nothing (8.6)', () => {
  test('reports no fault, and writes once it leads', async () => {
    const { clock, server, one } = serverAndManager()
    one.failureOf = () => ({ refused: new NotLeaderError() })
    one.records.record('a', EXPIRES_MS)
    await clock.advance(60_000)
    expect([one.requests.length, one.records.fault(), one.lines]).toEqual([1, null, []])
    one.failureOf = () => null
    one.records.record('a', EXPIRES_MS)
    await clock.advance(1000)
    expect(entriesByName(server)).toEqual({ [HOUR]: 1 })
  })

  test('ends a sweep without a fault', async () => {
    const { clock, server, one } = serverAndManager()
    await server.edit('platform-revoked-tokens-2026112108', { old: EXP })
    await clock.advance(10)
    one.failureOf = () => ({ refused: new NotLeaderError() })
    void one.records.sweep()
    await clock.advance(1000)
    expect([entriesByName(server), one.lines]).toEqual([
      { 'platform-revoked-tokens-2026112108': 1 },
      [],
    ])
  })

  test('stops at once', async () => {
    const { one, clock } = serverAndManager()
    one.failureOf = () => ({ refused: new NotLeaderError() })
    one.records.record('a', EXPIRES_MS)
    const stopped = trackSettled(one.records.stop(never))
    await clock.advance(500)
    expect(stopped()).toBe(true)
  })
})
