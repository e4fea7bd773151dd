// Faults of the operator itself: killed during a write, suspended while it leads, and answered with errors. A proxy
// between it and the API server times them.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS } from '../../src/api/names.ts'
import { type StoredKey, keyClientOf } from '../cluster/keys/key-client.ts'
import { auditOf } from '../support/audit-log.ts'
import { type OwnOperator, startOperator } from '../support/command-process.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import {
  type Act,
  type Match,
  first,
  isWrite,
  refusal,
  startProxy,
} from '../support/fault-proxy.ts'
import { OPERATOR_USER } from '../support/installed-control-plane.ts'
import { inWhole, rounds, sampled } from '../support/tier.ts'
import {
  SHORT_LEASE,
  LONG_LEASE,
  isLeaseWrite,
  readLease,
  startManager,
  untilItLeads,
} from './competing-managers.ts'
import { recordKeys } from './object-history.ts'
import { isWatchOf, writesAtRest } from './operator-observations.ts'
import {
  POSITIONS,
  crashOf,
  expectCleanExit,
  expectNoUncaughtErrors,
  keysStuckInDeletion,
  expectHealthy,
  lateAnswer,
} from './operator-crash.ts'
import { type WritePoint, configPoints, keyPoints } from './write-points.ts'

const plane = await ownControlPlane()
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const own = await plane.operatorKubeconfig()
const kubeconfig = await proxy.kubeconfig(own)
const keys = keyClientOf(plane)
const history = await recordKeys(plane.admin)
const settings = configPoints(plane)
const audit = auditOf(plane)

const SOON = { withinMs: 20_000 }
let operator: OwnOperator
const start = async (flags: readonly string[] = []): Promise<void> => {
  operator = await startOperator({ kubeconfig, flags })
}
beforeAll(() => start())
afterAll(() => operator.stop())

const leasePoint: WritePoint & { readonly flags: readonly string[] } = {
  name: 'acquisition of the Lease',
  matches: isLeaseWrite,
  flags: SHORT_LEASE,
  trigger: async () => {
    await expectCleanExit(operator)
    await start(SHORT_LEASE)
  },
  completed: () => untilItLeads(operator),
}

describe.each(rounds)(
  'round %i: after a kill the next operator completes (3.1, 5.1, 5.3, 6.5, 8.6)',
  () => {
    describe.each(POSITIONS)('a write that is $name', (position) => {
      const points = [...keyPoints(keys), ...settings.declared, ...settings.remade, leasePoint]
      test.each(sampled(points, 6, POSITIONS.indexOf(position)))('$name', async (point) => {
        await crash(point, position)
        expect(await history.rewritten()).toEqual([])
        expectNoUncaughtErrors(operator)
      })
    })
  },
)

const crash = crashOf({ proxy, operator: () => operator, start })

describe.each(rounds)('round %i: the standby takes over', () => {
  beforeAll(() => expectCleanExit(operator))
  const startLeader = (flags: readonly string[]) => startManager(plane, own, flags, 'leader')
  const startStandby = (flags: readonly string[]) => startManager(plane, own, flags, 'standby')

  test.each(
    inWhole(
      'from a leader suspended beyond its lease, whose pending write fails with 409 (8.1, 8.6)',
    ),
  )('%s', async () => {
    const mark = await audit.mark()
    await using leader = await startLeader(SHORT_LEASE)
    await using next = await startStandby(SHORT_LEASE)
    const expiring = await keys.shown(await keys.create({ ttl: 12 }), 'Active')
    const adoption = leader.proxy.on(first(1, isPatch), { kind: 'hold' })
    const key = await keys.create()
    await adoption.reached(SOON)
    // When resumed, its timer for this expiry fires before the one for its renew deadline.
    await eventually(
      'the expiry is near',
      () => Date.now() > endMs(expiring) - 30 || undefined,
      SOON,
    )
    leader.operator.kill('SIGSTOP')
    // Once another client has a response, the proxy has all requests of the suspended leader.
    await readLease(plane)
    const sentBefore = leader.proxy.requests.length

    await untilItLeads(next.operator)
    await keys.shown(expiring, 'Expired')
    await keys.shown(key, 'Active')
    expect(await lateAnswer(adoption)).toBe(409)
    leader.operator.kill('SIGCONT')
    expect(await leader.operator.exited).toEqual({ code: 1, signal: null })

    const sent = leader.proxy.requests.slice(sentBefore).filter(isWrite)
    expect(sent.filter((request) => !isLeaseWrite(request))).toEqual([])
    expect(sent.filter(isDone)).toEqual([])
    const areWritesOfLeaders = async (): Promise<void> => {
      const audited = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
      const leading = [...leader.proxy.requests.slice(0, sentBefore), ...next.proxy.requests]
      const writes = leading.filter((one) => isWrite(one) && !isLeaseWrite(one))
      expect(audited.filter(({ code }) => code < 300)).toHaveLength(writes.filter(isDone).length)
    }
    await eventuallyPasses(
      'all writes are those of the leader at the time',
      areWritesOfLeaders,
      SOON,
    )
    expect(await history.rewritten()).toEqual([])
    expectNoUncaughtErrors(leader.operator)
    await expectCleanExit(next.operator)
  })

  test('from a killed leader when the lease expires (8.1)', async () => {
    await using leader = await startLeader(SHORT_LEASE)
    await using next = await startStandby(SHORT_LEASE)
    leader.operator.kill('SIGKILL')
    await leader.operator.exited
    const renewed = await readLease(plane)
    await untilItLeads(next.operator)
    const taken = await readLease(plane)
    expect(taken.leaseTransitions).toBe(renewed.leaseTransitions + 1)
    const waitedMs = Date.parse(taken.acquireTime) - Date.parse(renewed.renewTime)
    expect(waitedMs).toBeGreaterThanOrEqual(renewed.leaseDurationSeconds * 1000)
    await keys.shown(await keys.create(), 'Active')
    await expectCleanExit(next.operator)
  })

  test('from a leader that exits cleanly, without waiting for the lease (8.3)', async () => {
    await using leader = await startLeader(LONG_LEASE)
    const standbys = await Promise.all([startStandby(LONG_LEASE), startStandby(LONG_LEASE)])
    await using next = standbys[0]
    await using third = standbys[1]
    await expectCleanExit(third.operator)
    await expectCleanExit(leader.operator)
    await untilItLeads(next.operator)
    await keys.shown(await keys.create(), 'Active')
    await expectCleanExit(next.operator)
    expect(await readLease(plane)).toMatchObject({ holderIdentity: '' })
  })
})

const endMs = ({ status }: StoredKey): number => Date.parse(status.expirationTimestamp ?? '')
const isPatch: Match = ({ method }) => method === 'PATCH'
const isDone: Match = ({ status }) => status !== null && status < 300

/** A response that the proxy gives in place of the API server's, and how often. */
interface Refusal {
  readonly name: string
  readonly act: Act
  readonly times: number
  /** The value of Retry-After in seconds; absent = no such header. */
  readonly retryAfter?: number
}

// biome-ignore format: a table
const REFUSALS: readonly Refusal[] = [
  { name: '429 with a Retry-After longer than a request waits', act: refusal(429, 11), times: 1, retryAfter: 11 },
  { name: '429 with a Retry-After, more often than a request retries', act: refusal(429, 1), times: 6, retryAfter: 1 },
  { name: '429 with a Retry-After', act: refusal(429, 1), times: 2, retryAfter: 1 },
  { name: '429 without a Retry-After', act: refusal(429), times: 4 },
  { name: '503 with a Retry-After', act: refusal(503, 2), times: 2, retryAfter: 2 },
  { name: '503 without a Retry-After', act: refusal(503), times: 4 },
  { name: '500', act: refusal(500), times: 4 },
  { name: '409', act: refusal(409), times: 4 },
  { name: 'a broken connection', act: { kind: 'destroy' }, times: 4 },
]

const OUTAGES: readonly Pick<Refusal, 'name' | 'act' | 'retryAfter'>[] = [
  { name: '429', act: refusal(429, 1), retryAfter: 1 },
  { name: '503', act: refusal(503) },
  { name: '500', act: refusal(500) },
  { name: '409', act: refusal(409) },
  { name: 'a broken connection', act: { kind: 'destroy' } },
]

describe.each(rounds)('round %i: the operator retries', () => {
  beforeAll(async () => {
    await expectCleanExit(operator)
    await start(LONG_LEASE)
    await untilItLeads(operator)
  })

  describe.concurrent('each write to a key after', () => {
    test.each(sampled(REFUSALS, 3, 2))('$name', async ({ act, times, retryAfter = 0 }) => {
      const points = keyPoints(keys).map((point) => ({
        ...point,
        ...counted(point.matches, times),
      }))
      for (const { matchesFirst } of points) proxy.on(matchesFirst, act)
      await Promise.all(points.map(({ trigger }) => trigger()))
      await Promise.all(points.map(({ completed }) => completed()))
      for (const { name, pausesMs } of points) {
        // The clock of the operator has a resolution of 1 ms.
        const tooShort = pausesMs().filter((ms) => ms < retryAfter * 1000 - 1)
        expect({ name, tries: pausesMs().length, tooShort }).toEqual({
          name,
          tries: times,
          tooShort: [],
        })
      }
      expect(await history.rewritten()).toEqual([])
    })
  })

  test('each write to a key whose response is lost (3.1)', async () => {
    const points = keyPoints(keys)
    const rules = points.map(({ matches }) => proxy.on(first(1, matches), { kind: 'swallow' }))
    await Promise.all(points.map(({ trigger }) => trigger()))
    for (const rule of rules) {
      await rule.reached(SOON)
      rule.release()
    }
    await Promise.all(points.map(({ completed }) => completed()))
    expect(await history.rewritten()).toEqual([])
  })

  test('the writes of settings after 429, 500 and 409 (6.6)', async () => {
    for (const { matches } of settings.declared)
      for (const act of [refusal(429, 1), refusal(500), refusal(409)])
        proxy.on(first(1, matches), act)
    const { trigger, completed } = settings.declared[0]
    await trigger()
    await completed()
    expect(await history.rewritten()).toEqual([])
  })

  test.each(sampled(OUTAGES, 5))(
    'after an outage in which every response is $name (8.2)',
    async ({ act, retryAfter = 0 }) => {
      const watches = [ACCESS_KEYS, CONFIGS].map(({ plural }) =>
        counted(isWatchOf(plural), Infinity),
      )
      const matches = [...watches.map(({ matchesFirst }) => matchesFirst), () => true]
      const rules = matches.map((match) => proxy.on(match, act))
      const release = (): void => rules.forEach((rule) => rule.release())
      onTestFinished(release)
      proxy.cut(() => true)
      const key = await keys.create()
      const areRetried = () => watches.every(({ pausesMs }) => pausesMs().length > 0) || undefined
      await eventually('each watch is retried', areRetried, SOON)
      const pausesMs = watches.flatMap((watch) => watch.pausesMs())
      expect(pausesMs.filter((ms) => ms < retryAfter * 1000)).toEqual([])
      await expectHealthy(operator)
      release()
      const { trigger, completed } = settings.declared[0]
      await trigger()
      await Promise.all([keys.shown(key, 'Active'), completed()])
      expectNoUncaughtErrors(operator)
    },
  )
})

/** Matches the first `times` of the requests that `matches` accepts; records the pauses between all of them. */
function counted(
  matches: Match,
  times: number,
): { readonly matchesFirst: Match; readonly pausesMs: () => readonly number[] } {
  const atMs: number[] = []
  const matchesFirst: Match = (request) => matches(request) && atMs.push(performance.now()) <= times
  return { matchesFirst, pausesMs: () => atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0)) }
}

test('only Leases are written after all faults, and no key is stuck in deletion', async () => {
  expect(await writesAtRest(plane, () => expectHealthy(operator))).toEqual([])
  expect(await keysStuckInDeletion(plane.admin)).toEqual([])
  await expectCleanExit(operator)
})
