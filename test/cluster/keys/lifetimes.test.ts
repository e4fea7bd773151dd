/** @module-tag no-retry */
// When keys expire, in real time on a real API server; test/unit/domain/accesskey/lifetime.test.ts has the table of all
// cases with an injected clock.
import { describe, expect, test } from 'vitest'
import { CREATED_ANNOTATION } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { sharedControlPlane, sharedOperator } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import {
  EVENT_WITHIN,
  SOON,
  type StoredKey,
  condition,
  createdMs,
  expectEventInTime,
  hasConditions,
  keyClientOf,
  createdAgo,
  secondAfter,
  textAfter,
} from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)

const DAY = 86_400
const HOUR = 3600

/** When the lifetime of a key begins, in epoch milliseconds. */
const startMs = ({ metadata }: StoredKey): number =>
  Date.parse(metadata.annotations?.[CREATED_ANNOTATION] ?? '')

const slidingFor = (ttl: number): OwnedAccessKeySpec => ({ ttl, ttlAfterLastActivity: true })

interface Row {
  readonly name: string
  readonly spec: OwnedAccessKeySpec
  /** The annotation with the time of creation, in seconds before now; absent = no annotation. */
  readonly createdAgoSeconds?: number
  readonly reason: 'Active' | 'Expired'
  /** Seconds from the start; null = never. */
  readonly expires: number | null
}

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  { name: 'never without ttl (2.1)', spec: {}, reason: 'Active', expires: null },
  { name: 'never with ttl 0 (2.1)', spec: { ttl: 0 }, reason: 'Active', expires: null },
  { name: 'never without ttl and with ttlAfterLastActivity (2.3)', spec: { ttlAfterLastActivity: true }, reason: 'Active', expires: null },
  { name: 'after 30 days, longer than a Node.js timer (2.3)', spec: { ttl: 30 * DAY }, reason: 'Active', expires: 30 * DAY },
  { name: 'after 2^31-1 s (2.3)', spec: { ttl: 2_147_483_647 }, reason: 'Active', expires: 2_147_483_647 },
  { name: 'after 20 days without ttl if its type is Login (2.1)', spec: { type: 'Login' }, reason: 'Active', expires: 20 * DAY },
  { name: 'after its ttl if its type is Login (2.1)', spec: { type: 'Login', ttl: 40 * DAY }, reason: 'Active', expires: 40 * DAY },
  { name: 'ttl after its creation if it slides and was never used (2.3)', spec: slidingFor(HOUR), reason: 'Active', expires: HOUR },
  { name: 'ttl after the creation in its annotation (2.8)', spec: { ttl: HOUR }, createdAgoSeconds: HOUR / 2, reason: 'Active', expires: HOUR },
  { name: 'at once when restored after its end (2.8)', spec: { ttl: HOUR }, createdAgoSeconds: HOUR, reason: 'Expired', expires: HOUR },
  { name: 'at once when it slides and is restored after its end (2.8)', spec: slidingFor(HOUR), createdAgoSeconds: HOUR, reason: 'Expired', expires: HOUR },
  { name: 'ttl after its creation when its annotation is in the future (2.8)', spec: { ttl: HOUR }, createdAgoSeconds: -DAY, reason: 'Active', expires: HOUR },
]

describe.concurrent('a key expires', () => {
  test.each(ROWS)('$name', async ({ spec, createdAgoSeconds: ago, reason, expires }) => {
    const created = await keys.create(spec, ago === undefined ? {} : createdAgo(ago))
    const key = await keys.shown(created, reason)
    expect(startMs(key)).toBe(ago !== undefined && ago > 0 ? startMs(created) : createdMs(created))
    const { expirationTimestamp, effectiveTTLSeconds } = key.status
    expect({ expirationTimestamp, effectiveTTLSeconds, ttl: key.spec.ttl }).toEqual({
      expirationTimestamp: expires === null ? undefined : textAfter(startMs(key), expires),
      effectiveTTLSeconds: expires ?? undefined,
      ttl: spec.ttl,
    })
  })
})

describe.concurrent('a key with a ttl of seconds', () => {
  /** Creates keys and waits for their expiry; returns how late each expiry was logged, in milliseconds. */
  async function expiryLags(): Promise<readonly number[]> {
    const created = await Promise.all([2, 2, 3, 3, 4, 4].map((ttl) => keys.create({ ttl })))
    const expired = await Promise.all(created.map((key) => keys.shown(key, 'Expired')))
    for (const key of expired) {
      const end = textAfter(createdMs(key), key.spec.ttl ?? 0)
      expect(key.status.expirationTimestamp).toBe(end)
      expect(condition(key, 'Ready')).toMatchObject({
        status: 'False',
        message: expect.stringContaining(
          `The key expired ${end}, ${key.spec.ttl} s after its creation`,
        ),
      })
    }
    return eventually('every expiry is logged', () => lagsOf(expired), SOON)
  }

  /** A sliding key with a use recorded before its expiry; retried, as a busy machine may be too late. */
  const usedInTime = (usedMsOf: (key: StoredKey) => number) =>
    eventually(
      'a key is used before it expires',
      async () => {
        const key = await keys.until(await keys.create(slidingFor(3)), 'is reported', hasConditions)
        const usedMs = usedMsOf(key)
        await keys.use(key, usedMs)
        return Date.now() < createdMs(key) + 3000 ? { key, usedMs } : undefined
      },
      SOON,
    )

  test(
    'expires after its ttl, with a status within a second (2.3, 2.7)',
    { timeout: 120_000 },
    () => expectEventInTime(expiryLags),
  )

  test('expires ttl after its last use if it slides (2.3, 2.6)', async () => {
    const { key, usedMs } = await usedInTime(() => Date.now())
    const expired = await keys.shown(key, 'Expired')
    const end = secondAfter(usedMs, 3)
    expect(expired.status.expirationTimestamp).toBe(end)
    expect(condition(expired, 'Ready').message).toContain(`expired ${end}, 3 s after its last use`)
  })

  test('does not expire at its end if it slides and is used in that second (2.3, 2.6)', async () => {
    const { key, usedMs } = await usedInTime((created) => createdMs(created) + 3000)
    const expired = await keys.shown(key, 'Expired')
    expect(expired.status.expirationTimestamp).toBe(secondAfter(usedMs, 3))
    expect(await eventually('its expiry is logged', () => lagsOf([expired]), SOON)).toHaveLength(1)
  })
})

describe.concurrent('a recorded use', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a second before the expiry', secondsFromEnd: -1 },
    { name: 'at the expiry', secondsFromEnd: 0 },
    { name: 'a second after the expiry', secondsFromEnd: 1 },
  ])('$name reactivates an expired sliding key when it arrives late (2.3, 2.6)', async ({ secondsFromEnd }) => {
    const expired = await keys.shown(await keys.create(slidingFor(HOUR), createdAgo(HOUR + 5)), 'Expired')
    const usedMs = startMs(expired) + (HOUR + secondsFromEnd) * 1000
    await keys.use(expired, usedMs)
    const key = await keys.shown(expired, 'Active')
    expect(key.status).toMatchObject({
      lastActivity: textAfter(usedMs, 0),
      expirationTimestamp: textAfter(usedMs, HOUR),
    })
    expect(key.status).not.toHaveProperty('removalTimestamp')
  })

  test('does not change the end of a key that does not slide (2.3)', async () => {
    const created = await keys.shown(await keys.create({ ttl: HOUR }, createdAgo(HOUR)), 'Expired')
    await keys.use(created, Date.now())
    const { metadata } = await keys.patch(created, { spec: { displayName: 'seen after the use' } })
    const key = await keys.shown(created, 'Expired')
    expect(key.status.observedGeneration).toBe(metadata.generation)
    expect(key.status.expirationTimestamp).toBe(created.status.expirationTimestamp)
  })

  test('30 s in the future counts (2.9)', async () => {
    const created = await keys.shown(await keys.create(slidingFor(HOUR)), 'Active')
    const usedMs = Date.now() + 30_000
    await keys.use(created, usedMs)
    const end = secondAfter(usedMs, HOUR)
    const follows = ({ status }: StoredKey) => status.expirationTimestamp === end
    const key = await keys.until(created, 'follows its use', follows)
    expect(condition(key, 'Ready').message).toBe(
      `The key works until ${end}, ${HOUR} s after its last use.`,
    )
  })

  test('10 minutes in the future is ignored and reported (2.9, 4.5)', async () => {
    const created = await keys.shown(await keys.create(slidingFor(HOUR)), 'Active')
    const usedMs = Date.now() + 600_000
    await keys.use(created, usedMs)
    const says = 'Its recorded last use lies more than 60 s in the future and is ignored.'
    const key = await keys.until(created, 'reports the ignored use', (now) =>
      condition(now, 'Ready').message.endsWith(says),
    )
    expect(key.status).toMatchObject({
      lastActivity: textAfter(usedMs, 0),
      expirationTimestamp: textAfter(createdMs(created), HOUR),
    })
    const reported = await eventually('an event', () => ignoredOf(key), EVENT_WITHIN)
    expect(reported).toMatchObject({ type: 'Warning', message: expect.stringContaining(says) })
  })
})

async function ignoredOf(key: StoredKey) {
  return (await keys.events(key)).find(({ reason }) => reason === 'ActivityIgnored')
}

/** How late each expiry was published, in milliseconds by the operator's log; undefined while a line is missing. */
function lagsOf(expired: readonly StoredKey[]): readonly number[] | undefined {
  const names = new Set(expired.map(({ metadata }) => metadata.name))
  const lines = sharedOperator()
    .logs()
    .filter(({ msg, object }) => {
      const { name } = (object ?? {}) as { readonly name?: string }
      return msg === 'access key expired' && names.has(name ?? '')
    })
  return lines.length < names.size ? undefined : lines.map(({ lagMs }) => Number(lagMs))
}
