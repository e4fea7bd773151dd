// A listing that no longer holds thousands of objects: they are taken out in many turns of the event loop, and
// nothing is taken for complete before all of them are.
import { expect, test } from 'vitest'
import { countPerTurn } from '../../../support/event-loop-turns.ts'
import { type Answer, inTurn } from './scripted-server.ts'
import {
  EXPIRED,
  added,
  closing,
  end,
  modified,
  open,
  page,
  watch,
  withoutWatchList,
} from './watched.ts'

const COUNT = 20_000
const names = Array.from({ length: COUNT }, (_, n) => `a-${n}`)
const item = (name: string) => ({ metadata: { name, uid: `${name}-uid`, resourceVersion: '1' } })
const all = [...names.map((name) => added(name, 1)), end(5)]
const allInPages = page(5, names.map(item))

test.each<{ readonly name: string; readonly answers: readonly Answer[] }>([
  {
    name: 'by a stream',
    answers: [closing(...all, EXPIRED), open(added('b', 1), end(7), modified('b', 8))],
  },
  {
    name: 'by pages',
    answers: [
      withoutWatchList,
      allInPages,
      closing(EXPIRED),
      page(7, [item('b')]),
      open(modified('b', 8)),
    ],
  },
])(
  `${COUNT} are gone, listed $name: no turn takes out more than a thousand`,
  async ({ answers }) => {
    const it = await watch(inTurn(...answers))
    const removed = countPerTurn()
    it.store.subscribe(({ after }) => after ?? removed.count())
    await it.until('the last event is taken in', () => it.store.get('b')?.resourceVersion === '8')
    expect(removed.all()).toBe(COUNT)
    expect(removed.most()).toBeLessThanOrEqual(1000)
    expect(it.progress.map((world) => world.length)).toEqual([COUNT, 1, 1])
  },
)
