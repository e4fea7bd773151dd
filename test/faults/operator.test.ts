// Faults of the operator itself and of the answers that it gets: killed in the middle of a write,
// refused, stopped while it leads. A proxy between it and the API server picks the moment.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS } from '../../src/api/names.ts'
import { type StoredKey, keyClientOf } from '../cluster/keys/key-client.ts'
import { auditOf } from '../support/audit-log.ts'
import { type OwnOperator, startOperator } from '../support/command-process.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../support/eventually.ts'
import { type Act, type Match, first, isWrite, refusal } from '../support/fault-proxy-rules.ts'
import { startProxy } from '../support/fault-proxy.ts'
import { OPERATOR_USER } from '../support/installed-control-plane.ts'
import { inWhole, rounds, sampled } from '../support/tier.ts'
import {
  BRIEFLY,
  PATIENTLY,
  isLeaseWrite,
  readLease,
  startManager,
  untilItLeads,
} from './competing-managers.ts'
import { recordKeys } from './object-history.ts'
import { isWatchOf, writesInAMinute } from './observed-writes.ts'
import {
  POSITIONS,
  crashOf,
  expectGoodEnd,
  expectSound,
  keysStuckInDeletion,
  expectAlive,
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
  isIt: isLeaseWrite,
  flags: BRIEFLY,
  lead: async () => {
    await expectGoodEnd(operator)
    await start(BRIEFLY)
  },
  ends: () => untilItLeads(operator),
}

describe.each(rounds)('round %i: an operator is killed (3.1, 5.1, 5.3, 6.5, 8.6)', () => {
  describe.each(POSITIONS)('while a write is $name', (position) => {
    const points = [...keyPoints(keys), ...settings.declared, ...settings.remade, leasePoint]
    test.each(sampled(points, 6, POSITIONS.indexOf(position)))('$name', async (point) => {
      await crash(point, position)
      expect(await history.rewritten()).toEqual([])
      expectSound(operator)
    })
  })
})

const crash = crashOf({ proxy, operator: () => operator, start })

describe.each(rounds)('round %i: two managers, and the leader', () => {
  beforeAll(() => expectGoodEnd(operator))
  const startLeader = (flags: readonly string[]) => startManager(plane, own, flags, 'leader')
  const startStandby = (flags: readonly string[]) => startManager(plane, own, flags, 'standby')

  test.each(inWhole('is stopped for longer than its lease, with a write on its way (8.1, 8.6)'))(
    '%s',
    async () => {
      const mark = await audit.mark()
      await using leader = await startLeader(BRIEFLY)
      await using next = await startStandby(BRIEFLY)
      const ending = await keys.shown(await keys.create({ ttl: 12 }), 'Active')
      const adoption = leader.line.on(first(1, isPatch), { kind: 'hold' })
      const key = await keys.create()
      await adoption.reached(SOON)
      // Resumed, it is told of this end first, and only then that its time to renew is over.
      await eventually('an end is near', () => Date.now() > endMs(ending) - 30 || undefined, SOON)
      leader.operator.kill('SIGSTOP')
      // What it had sent has come to its line by the time another client is answered.
      await readLease(plane)
      const sentBefore = leader.line.requests.length

      await untilItLeads(next.operator)
      await keys.shown(ending, 'Expired')
      await keys.shown(key, 'Active')
      expect(await lateAnswer(adoption)).toBe(409)
      leader.operator.kill('SIGCONT')
      expect(await leader.operator.exited).toEqual({ code: 1, signal: null })

      const sent = leader.line.requests.slice(sentBefore).filter(isWrite)
      expect(sent.filter((request) => !isLeaseWrite(request))).toEqual([])
      expect(sent.filter(isDone)).toEqual([])
      const areThoseOfTheirTime = async (): Promise<void> => {
        const audited = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
        const leading = [...leader.line.requests.slice(0, sentBefore), ...next.line.requests]
        const writes = leading.filter((one) => isWrite(one) && !isLeaseWrite(one))
        expect(audited.filter(({ code }) => code < 300)).toHaveLength(writes.filter(isDone).length)
      }
      await eventuallyPasses('each wrote only while it led', areThoseOfTheirTime, SOON)
      expect(await history.rewritten()).toEqual([])
      expectSound(leader.operator)
      await expectGoodEnd(next.operator)
    },
  )

  test('is killed: the other one leads when its lease is over (8.1)', async () => {
    await using leader = await startLeader(BRIEFLY)
    await using next = await startStandby(BRIEFLY)
    leader.operator.kill('SIGKILL')
    await leader.operator.exited
    const renewed = await readLease(plane)
    await untilItLeads(next.operator)
    const taken = await readLease(plane)
    expect(taken.leaseTransitions).toBe(renewed.leaseTransitions + 1)
    const waitedMs = Date.parse(taken.acquireTime) - Date.parse(renewed.renewTime)
    expect(waitedMs).toBeGreaterThanOrEqual(renewed.leaseDurationSeconds * 1000)
    await keys.shown(await keys.create(), 'Active')
    await expectGoodEnd(next.operator)
  })

  test('ends in order: the other one leads without waiting for the lease (8.3)', async () => {
    await using leader = await startLeader(PATIENTLY)
    await using next = await startStandby(PATIENTLY)
    await using third = await startStandby(PATIENTLY)
    await expectGoodEnd(third.operator)
    await expectGoodEnd(leader.operator)
    await untilItLeads(next.operator)
    await keys.shown(await keys.create(), 'Active')
    await expectGoodEnd(next.operator)
    expect(await readLease(plane)).toMatchObject({ holderIdentity: '' })
  })
})

const endMs = ({ status }: StoredKey): number => Date.parse(status.expirationTimestamp ?? '')
const isPatch: Match = ({ method }) => method === 'PATCH'
const isDone: Match = ({ status }) => status !== null && status < 300

/** An answer in place of the real one, and how often it is given. */
interface Refusal {
  readonly name: string
  readonly act: Act
  readonly times: number
  /** What Retry-After says, in seconds. */
  readonly retryAfter?: number
}

// biome-ignore format: a table
const REFUSALS: readonly Refusal[] = [
  { name: '429 with a Retry-After of longer than a call waits', act: refusal(429, 11), times: 1, retryAfter: 11 },
  { name: '429 with a Retry-After, for longer than a call tries', act: refusal(429, 1), times: 6, retryAfter: 1 },
  { name: '429 with a Retry-After', act: refusal(429, 1), times: 2, retryAfter: 1 },
  { name: '429 without one', act: refusal(429), times: 4 },
  { name: '503 with a Retry-After', act: refusal(503, 2), times: 2, retryAfter: 2 },
  { name: '503 without one', act: refusal(503), times: 4 },
  { name: '500', act: refusal(500), times: 4 },
  { name: '409', act: refusal(409), times: 4 },
  { name: 'a connection that breaks', act: { kind: 'destroy' }, times: 4 },
]

const OUTAGES: readonly Pick<Refusal, 'name' | 'act' | 'retryAfter'>[] = [
  { name: '429', act: refusal(429, 1), retryAfter: 1 },
  { name: '503', act: refusal(503) },
  { name: '500', act: refusal(500) },
  { name: '409', act: refusal(409) },
  { name: 'a broken connection', act: { kind: 'destroy' } },
]

describe.each(rounds)('round %i: an operator that is refused', () => {
  beforeAll(async () => {
    await expectGoodEnd(operator)
    await start(PATIENTLY)
    await untilItLeads(operator)
  })

  describe.concurrent('makes each write to a key in the end', () => {
    test.each(sampled(REFUSALS, 3, 2))('$name', async ({ act, times, retryAfter = 0 }) => {
      const points = keyPoints(keys).map((point) => ({ ...point, ...counted(point.isIt, times) }))
      for (const { isCounted } of points) proxy.on(isCounted, act)
      await Promise.all(points.map(({ lead }) => lead()))
      await Promise.all(points.map(({ ends }) => ends()))
      for (const { name, pausesMs } of points) {
        // The operator's clock has whole milliseconds.
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

  test('loses the answer to each write of a key (3.1)', async () => {
    const points = keyPoints(keys)
    const rules = points.map(({ isIt }) => proxy.on(first(1, isIt), { kind: 'swallow' }))
    await Promise.all(points.map(({ lead }) => lead()))
    for (const rule of rules) {
      await rule.reached(SOON)
      rule.release()
    }
    await Promise.all(points.map(({ ends }) => ends()))
    expect(await history.rewritten()).toEqual([])
  })

  test('puts settings in force in the end (6.6)', async () => {
    for (const { isIt } of settings.declared)
      for (const act of [refusal(429, 1), refusal(500), refusal(409)]) proxy.on(first(1, isIt), act)
    const { lead, ends } = settings.declared[0]
    await lead()
    await ends()
    expect(await history.rewritten()).toEqual([])
  })

  test.each(sampled(OUTAGES, 5))(
    'gets nothing but $name for a while (8.2)',
    async ({ act, retryAfter = 0 }) => {
      const watches = [ACCESS_KEYS, CONFIGS].map(({ plural }) =>
        counted(isWatchOf(plural), Infinity),
      )
      const matches = [...watches.map(({ isCounted }) => isCounted), () => true]
      const rules = matches.map((match) => proxy.on(match, act))
      const release = (): void => rules.forEach((rule) => rule.release())
      onTestFinished(release)
      proxy.cut(() => true)
      const key = await keys.create()
      const isTriedAgain = () => watches.every(({ pausesMs }) => pausesMs().length > 0) || undefined
      await eventually('each watch is tried again', isTriedAgain, SOON)
      const pausesMs = watches.flatMap((watch) => watch.pausesMs())
      expect(pausesMs.filter((ms) => ms < retryAfter * 1000)).toEqual([])
      await expectAlive(operator)
      release()
      const { lead, ends } = settings.declared[0]
      await lead()
      await Promise.all([keys.shown(key, 'Active'), ends()])
      expectSound(operator)
    },
  )
})

/** Matches so many of the requests, and keeps the pauses between all of them. */
function counted(
  isIt: Match,
  times: number,
): { readonly isCounted: Match; readonly pausesMs: () => readonly number[] } {
  const atMs: number[] = []
  const isCounted: Match = (request) => isIt(request) && atMs.push(performance.now()) <= times
  return { isCounted, pausesMs: () => atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0)) }
}

test('in the end nothing hangs, and nobody writes but to Leases', async () => {
  expect(await writesInAMinute(plane, () => expectAlive(operator))).toEqual([])
  expect(await keysStuckInDeletion(plane.admin)).toEqual([])
  await expectGoodEnd(operator)
})
