// Streams of a token end by the issuer's time, with the parts as the command composes them (contract 2.9, 13.4).
import { describe, expect, test } from 'vitest'
import { watchRequests } from '../../../../src/commands/direct/wiring.ts'
import { type TestDirect, START_MS, directWorld } from '../../authn/token/direct-world.ts'

const HOUR_MS = 3_600_000

/** The reasons for which a watch with the token was cut, in a world whose clocks the test has set. */
async function watchWith(
  token: string,
  direct: TestDirect,
  clock: Parameters<typeof watchRequests>[0],
): Promise<readonly string[]> {
  const cuts: string[] = []
  const ignore = (): void => undefined
  const metrics = { streamOpened: ignore, streamClosed: ignore, streamCut: ignore }
  const requests = watchRequests(clock, metrics, direct)
  const result = await direct.authenticate(token)
  if (!result.ok) throw new Error(`the token is refused: ${result.because}`)
  const entry = requests.open(result.caller, { mayComplete: () => false, end: ignore })
  entry.flows('watch', (reason) => {
    cuts.push(reason)
    entry.close()
  })
  return cuts
}

describe('a watch ends within a second of its token, while the local clock is an hour behind (13.4)', () => {
  test('the issuer has answered before', async () => {
    const { start, clock, token } = await directWorld()
    clock.setNow(START_MS - HOUR_MS)
    const direct = await start()
    const exp = START_MS / 1000 + 10
    const cuts = await watchWith(token({ exp }).token, direct, clock)
    await clock.advance(9000)
    expect(cuts).toEqual([])
    await clock.advance(2000)
    expect(cuts).toEqual(['expired'])
  })

  test('a poll shows that the time is later than it seemed', async () => {
    const { start, clock, token, platform } = await directWorld()
    const direct = await start()
    const cuts = await watchWith(token().token, direct, clock)
    platform.served.dateMs = () => START_MS + 2 * HOUR_MS
    platform.served.asOfMs = START_MS + 2 * HOUR_MS
    await direct.poll()
    await clock.advance(1000)
    expect(cuts).toEqual(['expired'])
  })
})
