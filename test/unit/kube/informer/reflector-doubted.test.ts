import { expect, test } from 'vitest'
import { inTurn, stall } from './scripted-server.ts'
import { added, closing, end, open, page, watch, withoutWatchList } from './watched.ts'

const b2 = { metadata: { name: 'b', uid: 'b-uid', resourceVersion: '2' } }

test('a watch that is doubted lists anew, and what is not there is gone (10.4, C4)', async () => {
  const it = await watch(inTurn(open(added('a', 50), end(50)), open(added('b', 2), end(20)), stall))
  await it.becomes({ world: ['a@50'], requests: ['stream'] })
  it.relist()
  await it.becomes({ world: ['b@2'], requests: ['stream', 'stream'] })
  expect(it.restarts).toEqual(['expired'])
})

test('so does one that was opened anew where it was', async () => {
  const it = await watch(
    inTurn(closing(added('a', 50), end(50)), open(added('c', 51)), open(end(20)), stall),
  )
  await it.becomes({ world: ['a@50', 'c@51'], requests: ['stream', 'follow 50'] })
  it.relist()
  await it.becomes({ world: [], requests: ['stream', 'follow 50', 'stream'] })
  expect(it.restarts).toEqual(['closed', 'expired'])
})

test('and one of a server without WatchList, in pages', async () => {
  const it = await watch(inTurn(withoutWatchList, page(50, []), open(), page(20, [b2]), open()))
  await it.becomes({ world: [], requests: ['stream', 'list', 'follow 50'] })
  it.relist()
  const requests = ['stream', 'list', 'follow 50', 'list', 'follow 20']
  await it.becomes({ world: ['b@2'], requests })
  expect(it.restarts).toEqual(['refused', 'expired'])
})

test('a listing under way takes its time, whoever doubts', async () => {
  const it = await watch(inTurn(open(added('a', 1)), stall))
  await it.becomes({ world: ['a@1'], requests: ['stream'] })
  it.relist()
  await it.clock.advance(10_000)
  expect(it.requests()).toEqual(['stream'])
  expect(it.restarts).toEqual([])
})
