// How old a kept list is, when nothing of it changes.
import { expect, test } from 'vitest'
import { POLL_MS, directWorld, stateDirectory } from './direct-world.ts'

test('a restart knows the age of a list that does not change, without a write at each poll (9.2)', async () => {
  const { start, platform } = await directWorld()
  const stateDir = await stateDirectory()
  const direct = await start({ stateDir })
  const pollWithAge = async (ms: number): Promise<number> => {
    platform.served.asOfMs += ms
    await direct.poll(ms)
    await direct.stateSettled()
    return direct.counts['state kept'] ?? 0
  }
  const before = await pollWithAge(POLL_MS)
  expect(await pollWithAge(POLL_MS)).toBe(before)
  expect(await pollWithAge(60_000)).toBe(before + 1)
  direct.stop()
  await platform.stop()
  expect((await start({ stateDir })).gauges().listAgeMs).toBe(0)
})
