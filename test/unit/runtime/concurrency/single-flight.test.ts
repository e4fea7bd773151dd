import { expect, test } from 'vitest'
import { shareRun, singleFlight } from '../../../../src/runtime/concurrency/single-flight.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const LIMITS = { reuseForMs: 1000, timeoutMs: 2000 }

/** Reads whose answers a test gives. */
function reads() {
  const clock = manualClock(t0)
  const asked: { name: string; signal: AbortSignal; answer: (text: string) => void }[] = []
  const read = singleFlight(
    clock,
    (name, signal) =>
      new Promise<string>((resolve) => asked.push({ name, signal, answer: resolve })),
    LIMITS,
  )
  return { clock, asked, read }
}

test('callers within a second share one read for each name (10.4)', async () => {
  const { clock, asked, read } = reads()
  const answers = [read('a'), read('a'), read('b')]
  await clock.advance(900)
  asked[0]?.answer('one')
  asked[1]?.answer('two')
  expect(await Promise.all([...answers, read('a')])).toEqual(['one', 'one', 'two', 'one'])
  expect(asked.map(({ name }) => name)).toEqual(['a', 'b'])
})

test('a second after the start of a read another one starts, answered or not (10.4)', async () => {
  const { clock, asked, read } = reads()
  const first = read('a')
  await clock.advance(1000)
  const second = read('a')
  asked[0]?.answer('before')
  asked[1]?.answer('after')
  expect(await Promise.all([first, second])).toEqual(['before', 'after'])
})

test('callers share the error of a failed read in the same way', async () => {
  const clock = manualClock(t0)
  let asked = 0
  const read = singleFlight(
    clock,
    async () => {
      asked += 1
      throw new Error('refused')
    },
    LIMITS,
  )
  await expect(read('a')).rejects.toThrow('refused')
  await expect(read('a')).rejects.toThrow('refused')
  expect(asked).toBe(1)
  await clock.advance(1000)
  await expect(read('a')).rejects.toThrow('refused')
  expect(asked).toBe(2)
})

test('a read fails after two seconds, and its signal aborts', async () => {
  const { clock, asked, read } = reads()
  const failure = read('a').catch(String)
  await clock.advance(1999)
  expect(asked[0]?.signal.aborted).toBe(false)
  await clock.advance(1)
  expect(await failure).toContain('no answer within 2000 ms')
  expect(asked[0]?.signal.aborted).toBe(true)
  expect(clock.pending()).toBe(0)
})

test('a shared run has one result for all callers during it, and a call after its end starts another', async () => {
  const begun: { caller: string; finish: (text: string) => void; fail: (error: Error) => void }[] =
    []
  const run = shareRun(
    (caller: string) => new Promise<string>((finish, fail) => begun.push({ caller, finish, fail })),
  )
  const shared = [run('a'), run('b')]
  begun[0]?.finish('one')
  expect(await Promise.all(shared)).toEqual(['one', 'one'])
  const failed = [run('c'), run('d')].map((result) => result.catch(String))
  begun[1]?.fail(new Error('refused'))
  expect(await Promise.all(failed)).toEqual(['Error: refused', 'Error: refused'])
  expect(begun.map(({ caller }) => caller)).toEqual(['a', 'c'])
})
