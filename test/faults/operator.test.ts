// What happens to the operator itself: killed in the middle of a write, refused by the API server,
// stopped while it leads. A proxy between it and the API server picks the moment.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { keysOf } from '../cluster/keys/keys.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { type OwnOperator, startOperator } from '../support/operator.ts'
import { startProxy } from '../support/proxy.ts'
import { type Act, first, type Rule } from '../support/proxy-rules.ts'
import { rounds } from '../support/rounds.ts'
import { recordKeys } from './history.ts'
import { expectQuiet } from './quiet.ts'
import { configPoints, keyPoints, type WritePoint } from './write-points.ts'

const plane = await privateControlPlane()
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
const keys = keysOf(plane)
const history = await recordKeys(plane.admin)

const SOON = { withinMs: 20_000 }
const settings = configPoints(plane)

/** Where a write is when the operator is killed, and what becomes of it. */
interface Position {
  readonly name: string
  readonly act: Act
  /** When the API server gets it, as far as it ever does: `late` is after the next operator's. */
  readonly arrives: 'never' | 'before' | 'late'
}

const POSITIONS: readonly Position[] = [
  { name: 'on its way and lost', act: { kind: 'hold' }, arrives: 'never' },
  { name: 'on its way and comes late', act: { kind: 'hold' }, arrives: 'late' },
  { name: 'done but not answered', act: { kind: 'swallow' }, arrives: 'before' },
]

let operator: OwnOperator
beforeAll(async () => {
  operator = await startOperator({ kubeconfig })
})

describe.each(rounds)('round %i: the operator is killed', () => {
  describe.each(POSITIONS)('while its write is $name', (position) => {
    test('each write of a key at once (3.1, 5.1, 5.3, 8.6)', async () => {
      await crash(position, keyPoints(keys))
    })
    test.each(settings)('$name (6.5, 8.6)', async (point) => {
      await crash(position, [point])
    })
  })
  afterEach(async () => {
    expect(await history.rewritten()).toEqual([])
  })
})

async function crash({ act, arrives }: Position, points: readonly WritePoint[]): Promise<void> {
  const rules = points.map(({ isIt }) => proxy.on(first(1, isIt), act))
  await Promise.all(points.map(({ lead }) => lead()))
  await Promise.all(rules.map((rule) => rule.reached(SOON)))
  operator.kill('SIGKILL')
  await operator.exited
  if (arrives === 'never') for (const rule of rules) rule.remove()
  if (arrives === 'before') for (const rule of rules) rule.release()
  operator = await startOperator({ kubeconfig })
  await Promise.all(points.map(({ ends }) => ends()))
  if (arrives !== 'late') return
  await Promise.all(rules.map(expectRefused))
  await Promise.all(points.map(({ ends }) => ends()))
}

async function expectRefused(rule: Rule): Promise<void> {
  rule.release()
  const status = await eventually(
    'the late write is answered',
    () => rule.hits[0]?.status ?? undefined,
    SOON,
  )
  expect(status).toBeGreaterThanOrEqual(400)
}

test('in the end nobody writes but to Leases', async () => {
  await expectQuiet(plane)
})
