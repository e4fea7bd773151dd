import { expect, test } from 'vitest'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'

const soon = { withinMs: 5_000 }
const never = { withinMs: 60 }

test('eventually returns the first value, after probes that returned nothing or failed', async () => {
  let looks = 0
  const probe = () => {
    looks += 1
    if (looks === 1) throw new Error('not there')
    return looks === 2 ? undefined : looks
  }
  expect(await eventually('the third look', probe, soon)).toBe(3)
})

test('eventually accepts null and false as values', async () => {
  expect(await eventually('gone', () => null, never)).toBe(null)
  expect(await eventually('off', async () => false, never)).toBe(false)
})

test('eventually fails with what it waited for and the last value', async () => {
  const refused = new Error('ECONNREFUSED')
  await expect(eventually('a port', () => Promise.reject(refused), never)).rejects.toThrow(
    'a port: not within 60 ms; last seen: ECONNREFUSED',
  )
  await expect(eventually('a key', () => undefined, never)).rejects.toThrow('last seen: undefined')
})

test('waits for an assertion to pass', async () => {
  let count = 0
  await eventuallyPasses('three', () => expect((count += 1)).toBe(3), soon)
  await expect(eventuallyPasses('four', () => expect(count).toBe(4), never)).rejects.toThrow(
    'expected 3 to be 4',
  )
})

test('eventuallyPasses fails with the first assertion that no longer holds', async () => {
  let count = 0
  await staysTrue('below three', () => expect((count += 1)).toBeLessThan(3), { forMs: 10 })
  const grows = staysTrue('below three', () => expect((count += 1)).toBeLessThan(3), {
    forMs: 10_000,
  })
  await expect(grows).rejects.toThrow(/below three: no longer so after \d+ ms: expected 3 to be/)
})
