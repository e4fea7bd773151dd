// Faults of the operator itself and of the answers that it gets: killed in the middle of a write,
// refused, stopped while it leads. A proxy between it and the API server picks the moment.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keysOf } from '../cluster/keys/keys.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { type OwnOperator, startOperator } from '../support/operator.ts'
import { startProxy } from '../support/proxy.ts'
import { type Act, first, type Match, refusal, type Rule } from '../support/proxy-rules.ts'
import { rounds } from '../support/rounds.ts'
import { recordKeys } from './history.ts'
import { writesInAMinute } from './quiet.ts'
import { expectSound, isAlive } from './sound.ts'
import { configPoints, isLeaseWrite, keyPoints, type WritePoint } from './write-points.ts'

const plane = await privateControlPlane()
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
const keys = keysOf(plane)
const history = await recordKeys(plane.admin)
const settings = configPoints(plane)

const SOON = { withinMs: 20_000 }
const ELECTION = [
  '--leader-elect',
  '--leader-elect-lease-duration=3s',
  '--leader-elect-renew-deadline=2s',
  '--leader-elect-retry-period=500ms',
]

let operator: OwnOperator
const start = async (flags: readonly string[] = []): Promise<void> => {
  operator = await startOperator({ kubeconfig, flags })
}
beforeAll(() => start())
afterAll(() => operator.stop())

/** Where a write is when the operator is killed, and when the API server gets it. */
interface Position {
  readonly name: string
  readonly act: Act
  /** `late`: after the next operator has done the work. */
  readonly arrives: 'never' | 'late' | 'before'
}

const POSITIONS: readonly Position[] = [
  { name: 'on its way, and lost', act: { kind: 'hold' }, arrives: 'never' },
  { name: 'on its way, and comes late', act: { kind: 'hold' }, arrives: 'late' },
  { name: 'done, and not answered', act: { kind: 'swallow' }, arrives: 'before' },
]

const leasePoint: WritePoint & { readonly flags: readonly string[] } = {
  name: 'acquisition of the Lease',
  isIt: isLeaseWrite,
  flags: ELECTION,
  lead: async () => {
    await operator.stop()
    await start(ELECTION)
  },
  ends: () => eventually('it leads', () => leads(operator), SOON),
}

describe.each(rounds)('round %i: an operator is killed', () => {
  describe.each(POSITIONS)('while its write is $name', (position) => {
    const points = [...keyPoints(keys), ...settings.declared, ...settings.remade, leasePoint]
    test.each(points)('$name (3.1, 5.1, 5.3, 6.5, 8.6)', async (point) => {
      await crash(point, position)
      expect(await history.rewritten()).toEqual([])
      expectSound(operator)
    })
  })
})

async function crash(
  point: WritePoint & { readonly flags?: readonly string[] },
  { act, arrives }: Position,
): Promise<void> {
  const { heir = point } = point
  const rule = proxy.on(first(1, point.isIt), act)
  await point.lead()
  await rule.reached(SOON)
  operator.kill('SIGKILL')
  await operator.exited
  if (arrives === 'never') rule.remove()
  if (arrives === 'before') rule.release()
  await start(point.flags)
  await point.ends()
  if (arrives !== 'late') return
  if (point.heir) await point.heir.lead()
  await heir.ends()
  expect(await lateAnswer(rule)).toBeGreaterThanOrEqual(400)
  await heir.ends()
}

/** Lets a write go that was held, and says how it was answered. */
function lateAnswer(rule: Rule): Promise<number> {
  rule.release()
  return eventually('the late write is answered', () => rule.hits[0]?.status ?? undefined, SOON)
}

const leads = (manager: OwnOperator): true | undefined =>
  manager.logs().some(({ msg }) => msg.startsWith('acquired the lease')) || undefined

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
  { name: '429 with a Retry-After', act: refusal(429, 1), times: 2, retryAfter: 1 },
  { name: '429 with a Retry-After, for longer than a call tries', act: refusal(429, 1), times: 6, retryAfter: 1 },
  { name: '429 with a Retry-After of longer than a call waits', act: refusal(429, 12), times: 1, retryAfter: 12 },
  { name: '429 without one', act: refusal(429), times: 4 },
  { name: '503 with a Retry-After', act: refusal(503, 2), times: 2, retryAfter: 2 },
  { name: '503 without one', act: refusal(503), times: 4 },
  { name: '500', act: refusal(500), times: 4 },
  { name: '409', act: refusal(409), times: 4 },
  { name: 'a connection that breaks', act: { kind: 'destroy' }, times: 4 },
]

describe.each(rounds)('round %i: an operator that is refused', () => {
  beforeAll(async () => {
    await operator.stop()
    await start(['--leader-elect'])
    await eventually('it leads', () => leads(operator), SOON)
  })

  describe.concurrent('does each write to a key in the end', () => {
    test.each(REFUSALS)('$name', async ({ act, times, retryAfter = 0 }) => {
      const points = keyPoints(keys).map((point) => ({ ...point, ...counted(point.isIt, times) }))
      for (const { isRefused } of points) proxy.on(isRefused, act)
      await Promise.all(points.map(({ lead }) => lead()))
      await Promise.all(points.map(({ ends }) => ends()))
      for (const { name, triesMs } of points) {
        const gaps = triesMs.slice(1, times + 1).map((ms, index) => ms - (triesMs[index] ?? 0))
        const tooSoon = gaps.filter((ms) => ms < retryAfter * 1000)
        expect({ name, refused: gaps.length, tooSoon }).toEqual({ name, refused: times, tooSoon: [] })
      }
      expect(await history.rewritten()).toEqual([])
    })
  })
})

/** Matches so many of the requests, and keeps when each of all of them came. */
function counted(
  isIt: Match,
  times: number,
): { readonly isRefused: Match; readonly triesMs: readonly number[] } {
  const triesMs: number[] = []
  const isRefused: Match = (request) => isIt(request) && triesMs.push(performance.now()) <= times
  return { isRefused, triesMs }
}

test('in the end nobody writes but to Leases', async () => {
  expect(await writesInAMinute(plane, () => isAlive(operator))).toEqual([])
  expectSound(operator)
  expect(await operator.stop()).toEqual({ code: 0, signal: null })
})
