/** @module-tag no-retry */
// The wall clock of a running gateway is set an hour ahead, and an hour back: no key lives longer for it, and
// nobody else notices (contract 2.9, 10.4, 14.1; threats F11, invariants I1, I7).
import { afterAll, describe, expect, test } from 'vitest'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'
import { valueOf } from '../../support/metrics-text.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { steppedClock } from '../../support/stepped-clock.ts'
import { createdMs } from '../keys/key-client.ts'
import {
  UPSTREAM,
  codesOf,
  isAccepted,
  pollGateway,
  allowWatch,
  openWatch,
  polledAnswerOf,
  startAnotherGateway,
} from './gateway-poller.ts'
import { SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await privateControlPlane())
const { keys } = front
await allowWatch(front)
const [neighbour] = front.gateways
if (!neighbour) throw new Error('there is no gateway')
const clock = steppedClock()
const stepped = await startAnotherGateway(front, { env: clock.env })
afterAll(() => stepped.stop())

const HOUR_MS = 3_600_000
/** What is not proven anew for so long is no longer known (10.4), and a little more. */
const KNOWN_FOR_MS = 15_000 + 2000
/** What is read is used again for a second (10.4), and a little more. */
const REREAD_MS = 1000 + 1000
/** Who waited for so long waited for a reading that was not answered, and is refused for that (10.4). */
const READING_MS = 1000
/** A use that is recorded as of so much later counts as now (2.9). */
const TOLERATED_MS = 60_000
/** A time of the API server's that comes late to a busy machine is so much behind. */
const HEARD_LATE_MS = 6000
const EXPIRED = 'platform access key expired. Please login again'

const nobody = uniqueName('k'.repeat(32))

type Unused = Pick<UsableKey, 'object' | 'token'>

/** A key that both gateways take. */
async function given(spec: OwnedAccessKeySpec = {}): Promise<UsableKey> {
  const key = await front.key(spec)
  const isTaken = async () =>
    isAccepted(await polledAnswerOf(front, stepped, key.token)) || undefined
  await eventually('the other gateway takes the key', isTaken, SOON)
  return key
}

/** A key that only the gateway with the clock has seen, and that is not used yet. */
async function unused(spec: OwnedAccessKeySpec = {}): Promise<Unused> {
  const token = uniqueName('k'.repeat(32))
  const object = await keys.create({ key: token, ...spec })
  const isTaken = async () => isAccepted(await polledAnswerOf(front, stepped, token)) || undefined
  await eventually('the gateway takes the key', isTaken, SOON)
  return { object, token }
}

/** The last use of the key, as it is recorded; epoch milliseconds. */
const lastUse = (key: Unused): Promise<number> =>
  eventually(
    'its use is recorded',
    async () => Date.parse((await keys.read(key.object))?.status.lastActivity ?? '') || undefined,
    SOON,
  )

describe('an hour ahead', () => {
  test('keys end early at worst, and authentication goes on, there and elsewhere (2.9, 10.4)', async () => {
    const [lasting, half, sliding] = [
      await given(),
      await given({ ttl: 1800 }),
      await given({ ttl: 7200, ttlAfterLastActivity: true }),
    ]
    const watch = await openWatch(front, stepped, half.token)
    await using here = pollGateway(front, stepped, lasting.token)
    await using upstream = pollGateway(front, stepped, sliding.token, UPSTREAM)
    await using elsewhere = pollGateway(front, neighbour, half.token)
    await using asNobody = pollGateway(front, neighbour, nobody)
    await clock.step(stepped, HOUR_MS)
    const steppedMs = Date.now()
    await eventuallyPasses(
      'it takes the key for expired',
      async () =>
        expect((await polledAnswerOf(front, stepped, half.token)).body).toContain(EXPIRED),
      SOON,
    )
    await eventuallyPasses('so its watch ends', () => expect(watch.endedMs()).not.toBeNull(), {
      withinMs: TOLERATED_MS,
    })
    console.log(`measured: ahead, to the end of a watch: ${(watch.endedMs() ?? 0) - steppedMs} ms`)
    // Either holds an hour later, and either may be seen first: the key is over, and nothing is known for sure.
    expect(watch.last()).toMatchObject({
      type: 'ERROR',
      object: { code: expect.toBeOneOf([401, 503]) },
    })
    await eventuallyPasses(
      'it knows again that there is no such key',
      async () => expect((await polledAnswerOf(front, stepped, nobody)).code).toBe(401),
      SOON,
    )
    console.log(`measured: ahead, to fresh knowledge: ${Date.now() - steppedMs} ms`)
    await given()
    await staysTrue(
      'it goes on knowing',
      async () => expect((await polledAnswerOf(front, stepped, nobody)).code).toBe(401),
      { forMs: KNOWN_FOR_MS },
    )
    // What was read just before is an hour old: until it is read anew nobody passes (10.4).
    const refused = [...here.all, ...upstream.all].filter((one) => !isAccepted(one))
    expect([...codesOf(refused)].filter((code) => code !== 503)).toEqual([])
    const quick = refused.filter((one) => one.doneMs - one.sentMs < READING_MS)
    for (const { sentMs } of quick) expect(sentMs).toBeLessThanOrEqual(steppedMs + REREAD_MS)
    expect(codesOf(elsewhere.all)).toEqual(new Set([404]))
    expect(codesOf(asNobody.all)).toEqual(new Set([401]))
  })

  test('no use is recorded for a time to come (2.9, 14.1; I7)', async () => {
    const key = await unused()
    const usedMs = Date.now()
    expect((await polledAnswerOf(front, stepped, key.token, UPSTREAM)).code).toBe(200)
    const recordedMs = await lastUse(key)
    console.log(`measured: ahead, recorded use after the use: ${recordedMs - usedMs} ms`)
    expect(recordedMs).toBeGreaterThanOrEqual(usedMs - HEARD_LATE_MS)
    expect(recordedMs).toBeLessThanOrEqual(Date.now() + TOLERATED_MS)
  })

  test('it says so (2.9)', async () => {
    await eventuallyPasses(
      'the difference is measured',
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

  test('set right again, keys that had not ended work again', async () => {
    const key = await front.key({ ttl: 1800 })
    await eventuallyPasses(
      'it is taken for expired',
      async () => expect((await polledAnswerOf(front, stepped, key.token)).body).toContain(EXPIRED),
      SOON,
    )
    await clock.step(stepped, 0)
    await eventuallyPasses(
      'it works',
      async () => expect((await polledAnswerOf(front, stepped, key.token)).code).toBe(404),
      SOON,
    )
    await eventuallyPasses(
      'nobody is nobody',
      async () => expect((await polledAnswerOf(front, stepped, nobody)).code).toBe(401),
      SOON,
    )
  })
})

describe('an hour back', () => {
  test('no key lives longer for it: now is never behind start + monotonic time (2.9; I1)', async () => {
    const lasting = await given()
    // Not waited for: it may be over before a busy machine takes it.
    const over = { token: uniqueName('k'.repeat(32)) }
    await keys.create({ key: over.token, ttl: 2 })
    await eventuallyPasses(
      'it has ended',
      async () =>
        expect((await polledAnswerOf(front, stepped, over.token)).body).toContain(EXPIRED),
      SOON,
    )
    await using here = pollGateway(front, stepped, lasting.token)
    await using asNobody = pollGateway(front, stepped, nobody)
    const short = await given({ ttl: 12 })
    const endMs = createdMs(short.object) + 12_000
    await using asShort = pollGateway(front, stepped, short.token)
    await clock.step(stepped, -HOUR_MS)
    const steppedMs = Date.now()
    await using asOver = pollGateway(front, stepped, over.token)
    await eventuallyPasses(
      'it has ended',
      () => expect(asShort.all.at(-1)?.body).toContain(EXPIRED),
      SOON,
    )
    await staysTrue(
      'it has ended, and others go on',
      () => {
        expect(asShort.all.at(-1)?.body).toContain(EXPIRED)
        expect(codesOf(asOver.all)).toEqual(new Set([401]))
        expect(codesOf(here.all)).toEqual(new Set([404]))
        expect(codesOf(asNobody.all)).toEqual(new Set([401]))
      },
      { forMs: 5000 },
    )
    expect(asShort.between(steppedMs, endMs).some(isAccepted), 'it was open then').toBe(true)
    expect(asShort.lastAcceptedMs()).toBeLessThan(endMs)
  })

  test('a use is recorded for when it was (14.1)', async () => {
    const [lasting, sliding] = [
      await unused(),
      await unused({ ttl: 7200, ttlAfterLastActivity: true }),
    ]
    const usedMs = Date.now()
    for (const { token } of [lasting, sliding])
      expect((await polledAnswerOf(front, stepped, token, UPSTREAM)).code).toBe(200)
    // What is not recorded yet is now.
    await stepped.stop()
    for (const key of [lasting, sliding]) {
      const recordedMs = await lastUse(key)
      expect(recordedMs).toBeGreaterThanOrEqual(usedMs - HEARD_LATE_MS)
      expect(recordedMs).toBeLessThanOrEqual(Date.now() + TOLERATED_MS)
    }
  })
})
