import { describe, expect, test } from 'vitest'
import { LEASES } from '../../../../src/api/names.ts'
import { NotLeaderError } from '../../../../src/kube/client/api-error.ts'
import { runLeaderElection } from '../../../../src/kube/leader-election/elector.ts'
import type { LeaseSpec } from '../../../../src/kube/leader-election/rules.ts'
import { type Line, memoryApi, silence } from '../../../support/fake-kube-client.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const timing = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 }
/** The longest pause of a standby candidate between two reads of the Lease. */
const SLOWEST_LOOK_MS = 2.2 * timing.retryPeriodMs
const T0 = Date.parse('2026-11-21T10:00:00Z')

function leaseWithCandidates() {
  const clock = manualClock(T0)
  const api = memoryApi()
  const { log, lines } = memoryLog()
  const join = (identity: string, line: Line = {}) => {
    const ref = { namespace: 'platform-system', name: 'lease' }
    const election = runLeaderElection({
      ...timing,
      client: api.client(line),
      clock,
      log,
      ref,
      identity,
    })
    const ends = { acquired: false, lost: false }
    void election.acquired.then(() => (ends.acquired = true))
    void election.lost.then(() => (ends.lost = true))
    return { election, ends, line, mayWrite: () => mayWrite(election) }
  }
  const lease = () => api.objects.get('lease')?.spec as LeaseSpec | undefined
  /** Writes to the Lease as another client, such as kubectl. */
  const touch = async (spec: LeaseSpec = {}): Promise<void> => {
    const found = api.objects.get('lease')
    if (!found) throw new Error('no Lease yet')
    await api.client().replace(LEASES, { ...found, spec: { ...lease(), ...spec } }, 'test')
  }
  return { clock, api, join, lease, touch, lines }
}

const mayWrite = (election: ReturnType<typeof runLeaderElection>): boolean => {
  try {
    election.mayWrite()
    return true
  } catch (error) {
    if (error instanceof NotLeaderError) return false
    throw error
  }
}

describe('acquisition of the Lease', () => {
  test('a candidate creates a missing Lease, and may write', async () => {
    const { clock, join, lease } = leaseWithCandidates()
    const a = join('a')
    expect(a.mayWrite()).toBe(false)
    await clock.advance(0)
    expect(a.ends).toEqual({ acquired: true, lost: false })
    expect(a.mayWrite()).toBe(true)
    expect(lease()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-11-21T10:00:00.000000Z',
      renewTime: '2026-11-21T10:00:00.000000Z',
      leaseTransitions: 0,
    })
  })

  test('one of two candidates leads', async () => {
    const { clock, join } = leaseWithCandidates()
    const both = [join('a'), join('b')]
    await clock.advance(60_000)
    expect(both.filter(({ ends }) => ends.acquired)).toHaveLength(1)
  })

  test('a leader keeps the Lease while it renews, whatever the wall clock does', async () => {
    const { clock, join, lease } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    const b = join('b')
    for (const stepMs of [0, 86_400_000, -2 * 86_400_000]) {
      clock.setNow(clock.nowMs() + stepMs)
      await clock.advance(60_000)
    }
    expect([a.mayWrite(), b.mayWrite()]).toEqual([true, false])
    expect(lease()).toMatchObject({
      leaseTransitions: 0,
      acquireTime: '2026-11-21T10:00:00.000000Z',
    })
  })

  test('a candidate finds its own write, whose answer was lost, at the next read', async () => {
    const { clock, join, lease } = leaseWithCandidates()
    const a = join('a', { back: () => Promise.reject(new Error('connection reset')) })
    await clock.advance(0)
    expect(a.ends.acquired).toBe(false)
    delete a.line.back
    await clock.advance(SLOWEST_LOOK_MS)
    expect(a.mayWrite()).toBe(true)
    expect(lease()).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 })
  })

  test('a candidate tries again when the API server is silent', async () => {
    const { clock, join } = leaseWithCandidates()
    const a = join('a', { there: silence })
    await clock.advance(1000)
    delete a.line.there
    await clock.advance(timing.renewDeadlineMs / 2 + SLOWEST_LOOK_MS)
    expect(a.mayWrite()).toBe(true)
  })

  test('an answer that a suspended process reads late makes no leader', async () => {
    const { clock, join } = leaseWithCandidates()
    const a = join('a', {
      back: () => {
        clock.setMonotonic(clock.monotonicMs() + timing.renewDeadlineMs)
        return Promise.resolve()
      },
    })
    await clock.advance(0)
    expect(a.ends.acquired).toBe(false)
  })
})

describe('failover', () => {
  test.each([
    { name: 'nothing arrives', line: { there: silence } },
    { name: 'nothing comes back', line: { back: silence } },
    { name: 'every request fails', line: { there: () => Promise.reject(new Error('refused')) } },
  ])('$name: the old leader stops before the next one starts', async ({ line }) => {
    const { clock, join, lease } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    const b = join('b')
    await clock.advance(30_000)
    Object.assign(a.line, line)
    const cutMs = clock.monotonicMs()
    const seen: string[] = []
    while (!b.mayWrite()) {
      expect(clock.monotonicMs() - cutMs).toBeLessThan(40_000)
      seen.push(a.mayWrite() ? 'a' : '-')
      expect(a.ends.lost).toBe(!a.mayWrite())
      await clock.advance(100)
    }
    expect(a.mayWrite()).toBe(false)
    // The gap between them is at least the lease duration minus the renew deadline.
    expect(seen.join('')).toMatch(/^a{60,}-{50,}$/)
    expect(lease()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
  })

  test('never lets two candidates write during 200 s of broken connections', async () => {
    const { clock, join } = leaseWithCandidates()
    const everybody = ['a', 'b', 'c'].map((identity) => join(identity))
    for (let tick = 0; tick < 2000; tick += 1) {
      const cut = everybody[Math.floor(tick / 250) % 3]
      for (const { line } of everybody) delete line.there
      if (cut && tick % 250 > 50) cut.line.there = silence
      await clock.advance(100)
      expect(everybody.filter((one) => one.mayWrite()).length).toBeLessThan(2)
    }
    expect(everybody.filter(({ ends }) => ends.acquired).length).toBeGreaterThan(1)
  })

  test('a process that was suspended may not write, even before its timers run', async () => {
    const { clock, join, api } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(1000)
    const before = api.objects.get('lease')
    clock.setMonotonic(timing.renewDeadlineMs)
    expect(a.mayWrite()).toBe(false)
    await clock.advance(60_000)
    expect(a.ends.lost).toBe(true)
    expect(a.mayWrite()).toBe(false)
    expect(api.objects.get('lease')).toBe(before)
  })

  test('a renewal counts from the time when it was sent', async () => {
    const { clock, join } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    const answer = Promise.withResolvers<void>()
    a.line.back = () => answer.promise
    await clock.advance(6000)
    delete a.line.back
    answer.resolve()
    await clock.advance(0)
    a.line.there = silence
    // Sent at 2 s, answered at 6 s.
    await clock.advance(5999)
    expect(a.mayWrite()).toBe(true)
    await clock.advance(1)
    expect(a.mayWrite()).toBe(false)
    expect(a.ends.lost).toBe(true)
  })

  test('one request that hangs does not end the leadership', async () => {
    const { clock, join } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    a.line.there = silence
    await clock.advance(timing.retryPeriodMs)
    delete a.line.there
    await clock.advance(60_000)
    expect(a.mayWrite()).toBe(true)
  })

  test('an edit of the Lease without a new holder does not end the leadership', async () => {
    const { clock, join, touch, lease } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(1000)
    await touch()
    await clock.advance(60_000)
    expect(a.mayWrite()).toBe(true)
    expect(lease()?.renewTime).toBe('2026-11-21T10:01:00.000000Z')
  })

  test.each([
    { name: 'taken by another', spec: { holderIdentity: 'them' } },
    { name: 'freed by hand', spec: { holderIdentity: '' } },
  ])('$name: the leader stops at its next renewal, and leads no more', async ({ spec }) => {
    const { clock, join, touch, lease, lines } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(1000)
    await touch(spec)
    await clock.advance(1000)
    expect(a.ends.lost).toBe(true)
    await clock.advance(120_000)
    expect(a.mayWrite()).toBe(false)
    expect(lease()).toMatchObject(spec)
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1)
  })
})

describe('release', () => {
  test('lets the next candidate lead at its next read', async () => {
    const { clock, join, lease } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    const b = join('b')
    await clock.advance(20_000)
    const released = a.election.release()
    expect(a.mayWrite()).toBe(false)
    await released
    expect(lease()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 })
    await clock.advance(SLOWEST_LOOK_MS)
    expect(b.mayWrite()).toBe(true)
    expect(a.ends.lost).toBe(false)
  })

  test('by a standby candidate ends its candidacy without a write', async () => {
    const { clock, join, api } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    const b = join('b')
    await clock.advance(1000)
    const before = api.objects.get('lease')
    await b.election.release()
    expect(api.objects.get('lease')).toBe(before)
    await a.election.release()
    await clock.advance(60_000)
    expect(b.ends.acquired).toBe(false)
  })

  test('frees a Lease that was edited meanwhile', async () => {
    const { clock, join, touch, lease } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    await touch()
    await a.election.release()
    expect(lease()?.holderIdentity).toBe('')
  })

  test('leaves a Lease alone that another candidate holds meanwhile', async () => {
    const { clock, join, touch, lease } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    await touch({ holderIdentity: 'them' })
    await a.election.release()
    expect(lease()?.holderIdentity).toBe('them')
  })

  test('frees a Lease that an acquisition in flight has won', async () => {
    const { clock, join, lease } = leaseWithCandidates()
    const answer = Promise.withResolvers<void>()
    const a = join('a', { back: () => answer.promise })
    await clock.advance(0)
    delete a.line.back
    answer.resolve()
    await a.election.release()
    expect(a.ends.acquired).toBe(false)
    expect(lease()?.holderIdentity ?? '').toBe('')
  })

  test('ends in bounded time when nothing answers, and logs it', async () => {
    const { clock, join, lease, lines } = leaseWithCandidates()
    const a = join('a')
    await clock.advance(0)
    a.line.there = silence
    let ended = false
    void a.election.release().then(() => (ended = true))
    await clock.advance(timing.renewDeadlineMs)
    expect(ended).toBe(true)
    expect(lease()?.holderIdentity).toBe('a')
    expect(lines.at(-1)).toMatchObject({ level: 'warn', sentence: 'could not release the lease' })
  })
})

test('failures in a row give one warning, and another one after a success (8.5)', async () => {
  const { clock, join, lines } = leaseWithCandidates()
  const warned = () => lines.filter(({ level }) => level === 'warn').length
  const a = join('a', { there: () => Promise.reject(new Error('refused')) })
  await clock.advance(60_000)
  expect(warned()).toBe(1)
  delete a.line.there
  await clock.advance(SLOWEST_LOOK_MS)
  expect(a.ends.acquired).toBe(true)
  a.line.there = () => Promise.reject(new Error('refused'))
  await clock.advance(2 * timing.retryPeriodMs)
  expect(warned()).toBe(2)
})

test('the log names the Lease and the leader', async () => {
  const { clock, join, lines } = leaseWithCandidates()
  join('a')
  await clock.advance(0)
  join('b')
  await clock.advance(20_000)
  const lease = { namespace: 'platform-system', name: 'lease' }
  expect(lines).toEqual([
    { level: 'info', fields: { lease }, sentence: 'acquired the lease, this process leads' },
    { level: 'info', fields: { lease, holder: 'a' }, sentence: 'another process leads' },
  ])
})
