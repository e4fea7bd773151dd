/** @module-tag no-retry */
// The wall clock of a running gateway is stepped an hour ahead and an hour back: no key lives longer by that, and other
// replicas are not affected (contract 2.9, 10.4, 14.1; threats F11, invariants I1, I7).
import { afterAll, describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { valueOf } from '../../support/metrics-page.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { steppedClock } from '../../support/stepped-clock.ts'
import { createdMs } from '../keys/key-client.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'
import {
  UPSTREAM_PATH,
  codesOf,
  isAccepted,
  pollGateway,
  allowWatch,
  openWatch,
  askTimed,
  startAnotherGateway,
} from './timed-requests.ts'

const setup = await startTestGateway(await privateControlPlane())
const { keys } = setup
await allowWatch(setup)
const [neighbour] = setup.gateways
if (!neighbour) throw new Error('there is no gateway')
const clock = steppedClock()
const stepped = await startAnotherGateway(setup, { env: clock.env })
afterAll(() => stepped.stop())

const HOUR_MS = 3_600_000
/** The watch counts as fresh for 15 s after a heartbeat (10.4), with a margin. */
const FRESH_FOR_MS = 15_000 + 2000
/** A key that was read is reused for 1 s (10.4), with a margin. */
const READ_REUSED_MS = 1000 + 1000
/** A request that took this long waited for a read that timed out, and is refused for that (10.4). */
const READ_TIMEOUT_MS = 1000
/** A use recorded up to this far in the future counts as now (2.9). */
const TOLERATED_MS = 60_000
/** How far the API server's clock, as the gateway knows it, may be behind on a busy machine. */
const CLOCK_DELAY_MS = 6000
const EXPIRED = 'platform access key expired. Please login again'

const unknownToken = uniqueName('k'.repeat(32))

type UnusedKey = Pick<UsableKey, 'object' | 'token'>

/** A key that both gateways accept. */
async function newKey(spec: OwnedAccessKeySpec = {}): Promise<UsableKey> {
  const key = await setup.key(spec)
  const isKnown = async () => isAccepted(await askTimed(setup, stepped, key.token)) || undefined
  await eventually('the other gateway accepts the key', isKnown, SOON)
  return key
}

/** A key without a forwarded request yet, accepted by the gateway with the stepped clock. */
async function newUnusedKey(spec: OwnedAccessKeySpec = {}): Promise<UnusedKey> {
  const token = uniqueName('k'.repeat(32))
  const object = await keys.create({ key: token, ...spec })
  const isKnown = async () => isAccepted(await askTimed(setup, stepped, token)) || undefined
  await eventually('the gateway accepts the key', isKnown, SOON)
  return { object, token }
}

/** The recorded last use of the key, in epoch milliseconds. */
const lastUse = (key: UnusedKey): Promise<number> =>
  eventually(
    'the use is recorded',
    async () => Date.parse((await keys.read(key.object))?.status.lastActivity ?? '') || undefined,
    SOON,
  )

describe('a wall clock one hour ahead', () => {
  test('ends keys early at most, and does not stop authentication (2.9, 10.4)', async () => {
    const [lasting, half, sliding] = [
      await newKey(),
      await newKey({ ttl: 1800 }),
      await newKey({ ttl: 7200, ttlAfterLastActivity: true }),
    ]
    const watch = await openWatch(setup, stepped, half.token)
    await using here = pollGateway(setup, stepped, lasting.token)
    await using upstream = pollGateway(setup, stepped, sliding.token, UPSTREAM_PATH)
    await using elsewhere = pollGateway(setup, neighbour, half.token)
    await using asUnknown = pollGateway(setup, neighbour, unknownToken)
    await clock.step(stepped, HOUR_MS)
    const steppedMs = Date.now()
    await eventuallyPasses(
      'the key counts as expired',
      async () => expect((await askTimed(setup, stepped, half.token)).body).toContain(EXPIRED),
      SOON,
    )
    await eventuallyPasses('its watch ends', () => expect(watch.endedMs()).not.toBeNull(), {
      withinMs: TOLERATED_MS,
    })
    console.log(`measured: ahead, to the end of a watch: ${(watch.endedMs() ?? 0) - steppedMs} ms`)
    // By that clock the key has expired (401) and the watch is stale (503): either may be noticed first.
    expect(watch.lastEvent()).toMatchObject({
      type: 'ERROR',
      object: { code: expect.toBeOneOf([401, 503]) },
    })
    await eventuallyPasses(
      'the watch is fresh again: an unknown key is a 401',
      async () => expect((await askTimed(setup, stepped, unknownToken)).code).toBe(401),
      SOON,
    )
    console.log(`measured: ahead, to a fresh watch: ${Date.now() - steppedMs} ms`)
    await newKey()
    await staysTrue(
      'the watch stays fresh',
      async () => expect((await askTimed(setup, stepped, unknownToken)).code).toBe(401),
      { forMs: FRESH_FOR_MS },
    )
    // A key read just before the step seems an hour old: until the next read all keys are refused (10.4).
    const refused = [...here.answers, ...upstream.answers].filter((one) => !isAccepted(one))
    expect([...codesOf(refused)].filter((code) => code !== 503)).toEqual([])
    const quick = refused.filter((one) => one.doneMs - one.sentMs < READ_TIMEOUT_MS)
    for (const { sentMs } of quick) expect(sentMs).toBeLessThanOrEqual(steppedMs + READ_REUSED_MS)
    expect(codesOf(elsewhere.answers)).toEqual(new Set([404]))
    expect(codesOf(asUnknown.answers)).toEqual(new Set([401]))
  })

  test('records no use in the future (2.9, 14.1; I7)', async () => {
    const key = await newUnusedKey()
    const usedMs = Date.now()
    expect((await askTimed(setup, stepped, key.token, UPSTREAM_PATH)).code).toBe(200)
    const recordedMs = await lastUse(key)
    console.log(`measured: ahead, recorded use after the use: ${recordedMs - usedMs} ms`)
    expect(recordedMs).toBeGreaterThanOrEqual(usedMs - CLOCK_DELAY_MS)
    expect(recordedMs).toBeLessThanOrEqual(Date.now() + TOLERATED_MS)
  })

  test('is reported by metric and log (2.9)', async () => {
    await eventuallyPasses(
      'the metric shows the skew',
      async () => {
        const seconds = valueOf(await stepped.metrics(), 'platform_clock_skew_seconds')
        expect(Math.round(seconds / 60)).toBe(60)
      },
      SOON,
    )
    expect(stepped.logs().map(({ level, msg }) => `${level} ${msg}`)).toContain(
      "warn local clock and the API server's differ, keys may end early or late",
    )
  })

  test('is corrected: keys that had not really ended are accepted again', async () => {
    const key = await setup.key({ ttl: 1800 })
    await eventuallyPasses(
      'the key counts as expired',
      async () => expect((await askTimed(setup, stepped, key.token)).body).toContain(EXPIRED),
      SOON,
    )
    await clock.step(stepped, 0)
    await eventuallyPasses(
      'the key is accepted',
      async () => expect((await askTimed(setup, stepped, key.token)).code).toBe(404),
      SOON,
    )
    await eventuallyPasses(
      'an unknown key is refused with 401',
      async () => expect((await askTimed(setup, stepped, unknownToken)).code).toBe(401),
      SOON,
    )
  })
})

describe('a wall clock one hour back', () => {
  test('prolongs no key: time never falls behind start + monotonic time (2.9; I1)', async () => {
    const lasting = await newKey()
    // Not by newKey(), which waits until it is accepted: it may expire before that on a busy machine.
    const expired = { token: uniqueName('k'.repeat(32)) }
    await keys.create({ key: expired.token, ttl: 2 })
    await eventuallyPasses(
      'the key has expired',
      async () => expect((await askTimed(setup, stepped, expired.token)).body).toContain(EXPIRED),
      SOON,
    )
    await using here = pollGateway(setup, stepped, lasting.token)
    await using asUnknown = pollGateway(setup, stepped, unknownToken)
    const short = await newKey({ ttl: 12 })
    const endMs = createdMs(short.object) + 12_000
    await using asShort = pollGateway(setup, stepped, short.token)
    await clock.step(stepped, -HOUR_MS)
    const steppedMs = Date.now()
    await using asExpired = pollGateway(setup, stepped, expired.token)
    await eventuallyPasses(
      'the key has expired',
      () => expect(asShort.answers.at(-1)?.body).toContain(EXPIRED),
      SOON,
    )
    await staysTrue(
      'the key stays expired, and others are accepted',
      () => {
        expect(asShort.answers.at(-1)?.body).toContain(EXPIRED)
        expect(codesOf(asExpired.answers)).toEqual(new Set([401]))
        expect(codesOf(here.answers)).toEqual(new Set([404]))
        expect(codesOf(asUnknown.answers)).toEqual(new Set([401]))
      },
      { forMs: 5000 },
    )
    expect(
      asShort.sentBetween(steppedMs, endMs).some(isAccepted),
      'it was accepted before its end',
    ).toBe(true)
    expect(asShort.lastAcceptedMs()).toBeLessThan(endMs)
  })

  test('records a use with its real time (14.1)', async () => {
    const [lasting, sliding] = [
      await newUnusedKey(),
      await newUnusedKey({ ttl: 7200, ttlAfterLastActivity: true }),
    ]
    const usedMs = Date.now()
    for (const { token } of [lasting, sliding])
      expect((await askTimed(setup, stepped, token, UPSTREAM_PATH)).code).toBe(200)
    // A gateway that stops records pending uses.
    await stepped.stop()
    for (const key of [lasting, sliding]) {
      const recordedMs = await lastUse(key)
      expect(recordedMs).toBeGreaterThanOrEqual(usedMs - CLOCK_DELAY_MS)
      expect(recordedMs).toBeLessThanOrEqual(Date.now() + TOLERATED_MS)
    }
  })
})
