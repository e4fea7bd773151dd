// A watch in a namespace that may be made later than the process, or never (contract 6.8).
import { expect, onTestFinished, test } from 'vitest'
import { startWhenAllowed } from '../../../../src/kube/informer/allowed-informer.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

/** A wait whose question is answered by the given answers, the last one for ever; an error rejects. */
function waiting(...answers: readonly (boolean | Error)[]) {
  const clock = manualClock(0)
  const ending = new AbortController()
  onTestFinished(() => ending.abort())
  const { log, lines } = memoryLog()
  const seen = { asked: 0, started: 0, lines }
  const isAllowed = async (): Promise<boolean> => {
    const answer = answers[Math.min(seen.asked, answers.length - 1)]
    seen.asked += 1
    if (answer instanceof Error) throw answer
    return answer === true
  }
  const start = (): void => void (seen.started += 1)
  const ended = startWhenAllowed({ isAllowed, start, clock, log, signal: ending.signal })
  return { clock, seen, ending, ended }
}

test('a watch that is allowed starts at once, and the question ends', async () => {
  const { clock, seen, ended } = waiting(true)
  await ended
  await clock.advance(60_000)
  expect(seen).toMatchObject({ asked: 1, started: 1 })
})

test('a watch starts within ten seconds of its right, also where the question had no answer', async () => {
  const { clock, seen } = waiting(false, new Error('no answer'), true)
  await clock.advance(9999)
  expect(seen).toMatchObject({ asked: 1, started: 0 })
  await clock.advance(10_001)
  expect(seen).toMatchObject({ asked: 3, started: 1 })
  expect(seen.lines.map(({ level }) => level)).toEqual(['debug'])
})

test('a process that stops asks no more', async () => {
  const { clock, seen, ending, ended } = waiting(false)
  await clock.advance(10_000)
  ending.abort()
  await ended
  await clock.advance(60_000)
  expect(seen).toMatchObject({ asked: 2, started: 0 })
})

test('an answer after the end of the process starts nothing', async () => {
  const ending = new AbortController()
  const answer = Promise.withResolvers<boolean>()
  const started: string[] = []
  const ended = startWhenAllowed({
    isAllowed: () => answer.promise,
    start: () => void started.push('started'),
    clock: manualClock(0),
    log: memoryLog().log,
    signal: ending.signal,
  })
  ending.abort()
  answer.resolve(true)
  await ended
  expect(started).toEqual([])
})
