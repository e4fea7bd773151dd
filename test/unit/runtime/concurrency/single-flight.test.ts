import { expect, test } from 'vitest'
import { singleFlight } from '../../../../src/runtime/concurrency/single-flight.ts'
import { t0 } from '../../../support/access-key.ts'
import { manualClock } from '../../../support/clock.ts'

/** Reads that are answered when the test says so. */
function reads() {
  const clock = manualClock(t0)
  const asked: { name: string; signal: AbortSignal; answer: (text: string) => void }[] = []
  const read = singleFlight(
    clock,
    (name, signal) =>
      new Promise<string>((resolve) => asked.push({ name, signal, answer: resolve })),
  )
  return { clock, asked, read }
}

test('many who ask within a second share one read for each name (10.4)', async () => {
  const { clock, asked, read } = reads()
  const answers = [read('a'), read('a'), read('b')]
  await clock.advance(900)
  asked[0]?.answer('one')
  asked[1]?.answer('two')
  expect(await Promise.all([...answers, read('a')])).toEqual(['one', 'one', 'two', 'one'])
  expect(asked.map(({ name }) => name)).toEqual(['a', 'b'])
})

test('a second after a read has left, another one leaves, answered or not (10.4)', async () => {
  const { clock, asked, read } = reads()
  const first = read('a')
  await clock.advance(1000)
  const second = read('a')
  asked[0]?.answer('before')
  asked[1]?.answer('after')
  expect(await Promise.all([first, second])).toEqual(['before', 'after'])
})

test('what fails is shared in the same way', async () => {
  const clock = manualClock(t0)
  let asked = 0
  const read = singleFlight(clock, async () => {
    asked += 1
    throw new Error('refused')
  })
  await expect(read('a')).rejects.toThrow('refused')
  await expect(read('a')).rejects.toThrow('refused')
  expect(asked).toBe(1)
  await clock.advance(1000)
  await expect(read('a')).rejects.toThrow('refused')
  expect(asked).toBe(2)
})

test('nobody waits for longer than two seconds, and the read is told', async () => {
  const { clock, asked, read } = reads()
  const failure = read('a').catch(String)
  await clock.advance(1999)
  expect(asked[0]?.signal.aborted).toBe(false)
  await clock.advance(1)
  expect(await failure).toContain('did not answer within 2000 ms')
  expect(asked[0]?.signal.aborted).toBe(true)
  expect(clock.pending()).toBe(0)
})
