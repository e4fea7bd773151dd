// Several managers at once, and managers that die between two writes (contract 7.3, 8.6).
import { describe, expect, test } from 'vitest'
import { ROTATE_ANNOTATION, WITHDRAW_ANNOTATION } from '../../../../src/api/names.ts'
import { isConflict } from '../../../../src/kube/client/api-error.ts'
import { DAY_MS, type Manager, T0, type World, world } from './signing-key-cluster.ts'

/** One step of each on views of the same age; an old view is no failure. */
async function stepTogether(managers: readonly Manager[]): Promise<void> {
  for (const { sync } of managers) sync()
  const steps = await Promise.allSettled(managers.map(({ step }) => step()))
  for (const step of steps) {
    if (step.status === 'rejected' && !isConflict(step.reason)) throw step.reason
  }
}

const writesOf = (managers: readonly Manager[]) => managers.flatMap(({ writes }) => writes).sort()

test('two that start on an empty cluster agree on one key (7.3, 8.6)', async () => {
  const w = world()
  const both = [w.manager(), w.manager()]
  for (let round = 0; round < 10; round += 1) await stepTogether(both)
  expect(writesOf(both)).toEqual([
    'create ConfigMap platform-jwks',
    'create Secret platform-signing-key-1',
  ])
  expect([w.published(), w.held()]).toEqual([[1], [1]])
  expect(both.map(({ signs }) => signs())).toEqual([1, 1])
})

test.each([
  { name: 'half life', annotation: null },
  { name: 'rotate', annotation: ROTATE_ANNOTATION },
  { name: 'withdraw', annotation: WITHDRAW_ANNOTATION },
])(
  'two that see the same at $name make one key, and tell it once (7.3, 4.5, 8.6)',
  async ({ annotation }) => {
    const w = world()
    const both = [w.manager(), w.manager()]
    for (let round = 0; round < 5; round += 1) await stepTogether(both)
    if (annotation === null) w.clock.setNow(T0 + 15 * DAY_MS)
    else w.annotate({ [annotation]: w.kid(1) })
    for (let round = 0; round < 10; round += 1) await stepTogether(both)
    const isWithdrawn = annotation === WITHDRAW_ANNOTATION
    expect(w.published()).toEqual(isWithdrawn ? [2] : [1, 2])
    expect(w.held()).toEqual(isWithdrawn ? [2] : [1, 2])
    expect(both.map(({ signs }) => signs())).toEqual(isWithdrawn ? [2, 2] : [1, 1])
    const told = both.flatMap((m) =>
      m.told.map(({ reason, discriminator }) => `${reason} ${discriminator}`),
    )
    expect(told).toHaveLength(isWithdrawn ? 2 : 1)
    expect(new Set(told).size).toBe(told.length)
  },
)

test('one that has not seen all yet takes no key for lost (7.3)', async () => {
  const w = world()
  const early = w.manager()
  expect(await early.step()).toEqual({ result: 'done' })
  expect(early.writes).toEqual([])
  await early.settle()
  expect(early.signs()).toBe(1)
})

test('one whose view is old wins no write, and signs nothing unpublished (7.3, 8.6)', async () => {
  const w = world()
  const old = w.manager()
  await old.settle()
  const current = w.manager()
  w.annotate({ [WITHDRAW_ANNOTATION]: w.kid(1) })
  await current.settle()
  const after = structuredClone({ record: w.record(), held: w.held() })
  w.clock.setNow(T0 + 15 * DAY_MS)
  old.writes.length = 0
  // It thinks that the next key is missing, and finds that the number is gone.
  await Promise.allSettled([old.step(), old.step()])
  expect(old.writes).toEqual([])
  expect(structuredClone({ record: w.record(), held: w.held() })).toEqual(after)
})

interface Story {
  readonly name: string
  /** Brings the world to where the writes begin. */
  readonly begin: (w: World) => Promise<void>
  readonly writes: number
  readonly ends: { readonly published: number[]; readonly held: number[]; readonly signs: number }
}

const stories: readonly Story[] = [
  {
    name: 'the first key',
    writes: 2,
    begin: () => Promise.resolve(),
    ends: { published: [1], held: [1], signs: 1 },
  },
  {
    name: 'the next key',
    writes: 2,
    begin: async (w) => {
      await w.manager().settle()
      w.clock.setNow(T0 + 15 * DAY_MS)
    },
    ends: { published: [1, 2], held: [1, 2], signs: 1 },
  },
  {
    name: 'retirement',
    writes: 2,
    begin: async (w) => {
      for (const day of [0, 15, 26]) {
        w.clock.setNow(T0 + day * DAY_MS)
        await w.manager().settle()
      }
      w.clock.setNow(T0 + 27 * DAY_MS)
    },
    ends: { published: [2], held: [2], signs: 2 },
  },
  {
    name: 'rotation',
    writes: 2,
    begin: async (w) => {
      await w.manager().settle()
      w.annotate({ [ROTATE_ANNOTATION]: '' })
    },
    ends: { published: [1, 2], held: [1, 2], signs: 1 },
  },
  {
    name: 'withdrawal',
    writes: 4,
    begin: async (w) => {
      await w.manager().settle()
      w.annotate({ [WITHDRAW_ANNOTATION]: w.kid(1) })
    },
    ends: { published: [2], held: [2], signs: 2 },
  },
]

describe.each(stories)('$name', ({ begin, writes, ends }) => {
  test.each(['there', 'back'] as const)('a death at each write, %s (7.3, 8.6)', async (way) => {
    let deaths = 0
    for (let isOver = false; !isOver; ) {
      const w = world()
      await begin(w)
      const doomed = w.manager()
      let count = 0
      doomed.line[way] = () => {
        if (count === deaths) throw new Error('killed')
        count += 1
      }
      isOver = await doomed.settle().then(
        () => true,
        () => false,
      )
      const next = w.manager()
      await next.settle()
      expect({ published: w.published(), held: w.held(), signs: next.signs() }).toEqual(ends)
      next.writes.length = 0
      await next.settle()
      expect(next.writes).toEqual([])
      if (!isOver) deaths += 1
    }
    expect(deaths).toBe(writes)
  })
})
