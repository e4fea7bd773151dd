/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import type { ManualClock } from '../../support/manual-clock.ts'
import {
  EXP,
  EXPIRES_MS,
  type FakeConfigMapServer,
  HOUR,
  HOUR_MS,
  NEXT_HOUR,
  T0,
  failNextWrites,
  failure,
  jtis,
  never,
  requestMethods,
  serverAndManager,
  trackSettled,
} from './test-revocation-list.ts'

describe('stopping the revocation list (8.3)', () => {
  test('stores pending records first', async () => {
    const { clock, server, one } = serverAndManager()
    for (const [index, jti] of jtis(5).entries())
      one.records.record(jti, EXPIRES_MS + index * HOUR_MS)
    // The watches end when the stop begins.
    one.watchMs = null
    const stopped = trackSettled(one.records.stop(never))
    await clock.advance(1000)
    expect(stopped()).toBe(false)
    await clock.advance(500)
    expect(stopped()).toBe(true)
    expect(Object.keys(server.data())).toHaveLength(5)
    expect(clock.pending()).toBe(0)
  })

  test('waits no longer than its deadline', async () => {
    const { clock, one } = serverAndManager()
    one.failureOf = () => ({ refused: failure(500, 'InternalError') })
    one.records.record('a', EXPIRES_MS)
    const enough = new AbortController()
    const stopped = trackSettled(one.records.stop(enough.signal))
    await clock.advance(5000)
    expect(stopped()).toBe(false)
    const sent = one.requests.length
    enough.abort()
    await clock.advance(60_000)
    expect([stopped(), one.requests.length, clock.pending()]).toEqual([true, sent, 0])
  })

  test('takes no more records', async () => {
    const { clock, server, one } = serverAndManager()
    one.records.record('a', EXPIRES_MS)
    const stopped = trackSettled(one.records.stop(never))
    one.records.record('b', EXPIRES_MS)
    await clock.advance(1000)
    expect(server.data()).toEqual({ [HOUR]: { a: EXP } })
    one.records.record('c', EXPIRES_MS)
    await server.edit(HOUR, undefined)
    await clock.advance(1000)
    expect([stopped(), server.data(), one.requests.length]).toEqual([true, {}, 1])
  })

  test('ends at once without pending records', async () => {
    const { clock, one } = serverAndManager()
    const stopped = trackSettled(one.records.stop(AbortSignal.abort()))
    await clock.advance(0)
    expect(stopped()).toBe(true)
  })

  test('ends a sweep after the delete under way', async () => {
    const { clock, server, one } = serverAndManager()
    for (const hour of ['00', '01', '02', '03'])
      await server.edit(`platform-revoked-tokens-20261121${hour}`, { old: EXP })
    await clock.advance(10)
    void one.records.sweep()
    await clock.advance(275)
    const stopped = trackSettled(one.records.stop(never))
    await clock.advance(5)
    expect(stopped()).toBe(false)
    await clock.advance(1000)
    expect([stopped(), Object.keys(server.data()).length]).toEqual([true, 2])
  })
})

describe('a sweep of ended records (7.4)', () => {
  const present = async (
    server: FakeConfigMapServer,
    clock: ManualClock,
    names: readonly string[],
  ) => {
    for (const name of names) await server.edit(name, { a: EXP })
    await clock.advance(10)
  }

  test.each([
    { name: 'during its hour', nowMs: T0, left: [HOUR, `${HOUR}-1`, NEXT_HOUR] },
    { name: 'at the end of its hour', nowMs: T0 + HOUR_MS, left: [HOUR, `${HOUR}-1`, NEXT_HOUR] },
    {
      name: 'in the minute after its hour',
      nowMs: T0 + HOUR_MS + 58_000,
      left: [HOUR, `${HOUR}-1`, NEXT_HOUR],
    },
    { name: 'a minute after its hour', nowMs: T0 + HOUR_MS + 60_000, left: [NEXT_HOUR] },
    { name: 'much later', nowMs: T0 + 48 * HOUR_MS, left: [] },
  ])('$name', async ({ nowMs, left }) => {
    const { clock, server, one } = serverAndManager()
    const others = ['kube-root-ca.crt', 'platform-revoked-tokens-2026112110-0']
    await present(server, clock, [HOUR, `${HOUR}-1`, NEXT_HOUR, ...others])
    clock.setNow(nowMs)
    void one.records.sweep()
    await clock.advance(1500)
    expect(Object.keys(server.data())).toEqual([...left, ...others])
  })

  test('drops pending records of an hour that is over', async () => {
    const { clock, server, one } = serverAndManager()
    one.records.record('a', EXPIRES_MS)
    await clock.advance(HOUR_MS + 60_000)
    void one.records.sweep()
    await clock.advance(5000)
    expect([server.data(), one.records.has('a')]).toEqual([{}, false])
  })

  test('keeps a ConfigMap that was written since it was read, until the next sweep', async () => {
    const { clock, server, one } = serverAndManager()
    await present(server, clock, [HOUR, `${HOUR}-1`])
    clock.setNow(T0 + 2 * HOUR_MS)
    one.watchMs = 5000
    await server.edit(HOUR, { a: EXP, b: EXP })
    void one.records.sweep()
    await clock.advance(1000)
    expect([Object.keys(server.data()), one.lines.length]).toEqual([[HOUR], 1])
    await clock.advance(5000)
    void one.records.sweep()
    await clock.advance(1000)
    expect(server.data()).toEqual({})
  })

  test('skips a ConfigMap that was deleted meanwhile', async () => {
    const { clock, server, one } = serverAndManager()
    await present(server, clock, [HOUR, `${HOUR}-1`, `${HOUR}-2`])
    clock.setNow(T0 + 2 * HOUR_MS)
    void one.records.sweep()
    await clock.advance(100)
    await server.edit(`${HOUR}-1`, undefined)
    await clock.advance(1000)
    expect([server.data(), requestMethods(one)]).toEqual([{}, ['delete', 'delete']])
  })

  test('leaves a failed delete to the next sweep', async () => {
    const { clock, server, one } = serverAndManager()
    await present(server, clock, [HOUR, NEXT_HOUR])
    clock.setNow(T0 + 3 * HOUR_MS)
    one.failureOf = failNextWrites({ refused: failure(500, 'InternalError') })
    void one.records.sweep()
    await clock.advance(1000)
    expect(Object.keys(server.data())).toEqual([HOUR, NEXT_HOUR])
    expect(one.lines.map(({ level }) => level)).toEqual(['warn'])
    void one.records.sweep()
    await clock.advance(1000)
    expect(server.data()).toEqual({})
  })

  test('does not run twice at a time', async () => {
    const { clock, server, one } = serverAndManager()
    await present(server, clock, [HOUR, NEXT_HOUR])
    clock.setNow(T0 + 3 * HOUR_MS)
    void one.records.sweep()
    void one.records.sweep()
    await clock.advance(5000)
    expect(requestMethods(one)).toEqual(['delete', 'delete'])
    expect(server.data()).toEqual({})
  })
})
