// A relist that lacks thousands of objects: the store removes them over many turns of the event loop, and
// the reflector reports progress only when all of them are removed.
import { expect, test } from 'vitest'
import { countPerTurn } from '../../../support/manual-clock.ts'
import {
  EXPIRED_EVENT,
  added,
  closedWatch,
  initialEventsEnd,
  modified,
  openWatch,
  listPage,
  startReflector,
  withoutWatchList,
} from './reflector-builder.ts'
import { type Answer, answersInTurn } from './scripted-server.ts'

const COUNT = 20_000
const names = Array.from({ length: COUNT }, (_, n) => `a-${n}`)
const item = (name: string) => ({ metadata: { name, uid: `${name}-uid`, resourceVersion: '1' } })
const all = [...names.map((name) => added(name, 1)), initialEventsEnd(5)]
const allInPages = listPage(5, names.map(item))

test.each<{ readonly name: string; readonly answers: readonly Answer[] }>([
  {
    name: 'a WatchList stream',
    answers: [
      closedWatch(...all, EXPIRED_EVENT),
      openWatch(added('b', 1), initialEventsEnd(7), modified('b', 8)),
    ],
  },
  {
    name: 'pages',
    answers: [
      withoutWatchList,
      allInPages,
      closedWatch(EXPIRED_EVENT),
      listPage(7, [item('b')]),
      openWatch(modified('b', 8)),
    ],
  },
])(
  `a relist by $name that lacks ${COUNT} objects removes at most 1000 in one turn`,
  async ({ answers }) => {
    const reflector = await startReflector(answersInTurn(...answers))
    const removed = countPerTurn()
    reflector.store.subscribe(({ after }) => after ?? removed.count())
    await reflector.waitUntil(
      'the store has the last event',
      () => reflector.store.get('b')?.resourceVersion === '8',
    )
    expect(removed.all()).toBe(COUNT)
    expect(removed.most()).toBeLessThanOrEqual(1000)
    expect(reflector.progress.map((objects) => objects.length)).toEqual([COUNT, 1, 1])
  },
)
