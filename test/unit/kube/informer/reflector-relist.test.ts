import { expect, test } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { answersInTurn, neverAnswer } from './scripted-server.ts'
import {
  added,
  closedWatch,
  initialEventsEnd,
  openWatch,
  listPage,
  startReflector,
  withoutWatchList,
} from './reflector-builder.ts'

const SOON = { withinMs: 10_000 }
const b2 = { metadata: { name: 'b', uid: 'b-uid', resourceVersion: '2' } }

test('a requested relist removes objects that the API server no longer has (10.4, C4)', async () => {
  const reflector = await startReflector(
    answersInTurn(
      openWatch(added('a', 50), initialEventsEnd(50)),
      openWatch(added('b', 2), initialEventsEnd(20)),
      neverAnswer,
    ),
  )
  await reflector.waitForState({ objects: ['a@50'], requests: ['stream'] })
  reflector.relist()
  await reflector.waitForState({ objects: ['b@2'], requests: ['stream', 'stream'] })
  expect(reflector.restarts).toEqual(['expired'])
})

test('a requested relist works after the watch was resumed', async () => {
  const reflector = await startReflector(
    answersInTurn(
      closedWatch(added('a', 50), initialEventsEnd(50)),
      openWatch(added('c', 51)),
      openWatch(initialEventsEnd(20)),
      neverAnswer,
    ),
  )
  await reflector.waitForState({ objects: ['a@50', 'c@51'], requests: ['stream', 'follow 50'] })
  reflector.relist()
  await reflector.waitForState({ objects: [], requests: ['stream', 'follow 50', 'stream'] })
  expect(reflector.restarts).toEqual(['closed', 'expired'])
})

test('a relist that is requested during the back-off of a watch follows it', async () => {
  const reflector = await startReflector(
    answersInTurn(
      closedWatch(added('a', 50), initialEventsEnd(50)),
      closedWatch(),
      openWatch(added('b', 2), initialEventsEnd(20)),
      neverAnswer,
    ),
  )
  await eventually('it backs off', () => reflector.waits.length === 1 || undefined, SOON)
  reflector.relist()
  await reflector.waitForState({ objects: ['b@2'], requests: ['stream', 'follow 50', 'stream'] })
  expect(reflector.restarts).toEqual(['closed', 'closed'])
})

test('a requested relist uses pages where the server has no WatchList', async () => {
  const reflector = await startReflector(
    answersInTurn(withoutWatchList, listPage(50, []), openWatch(), listPage(20, [b2]), openWatch()),
  )
  await reflector.waitForState({ objects: [], requests: ['stream', 'list', 'follow 50'] })
  reflector.relist()
  const requests = ['stream', 'list', 'follow 50', 'list', 'follow 20']
  await reflector.waitForState({ objects: ['b@2'], requests })
  expect(reflector.restarts).toEqual(['refused', 'expired'])
})

test('a requested relist does not interrupt a list in progress', async () => {
  const reflector = await startReflector(answersInTurn(openWatch(added('a', 1)), neverAnswer))
  await reflector.waitForState({ objects: ['a@1'], requests: ['stream'] })
  reflector.relist()
  await reflector.clock.advance(10_000)
  expect(reflector.requests()).toEqual(['stream'])
  expect(reflector.restarts).toEqual([])
})
