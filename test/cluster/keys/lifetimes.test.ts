/** @module-tag no-retry */
// When keys end, with real seconds on a real API server; the table of all cases with an injected
// clock is test/unit/domain/accesskey/lifetime.test.ts.
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
  /** The annotation, in seconds before now; absent, there is none. */
  readonly seenAgo?: number
  readonly reason: 'Active' | 'Expired'
  /** Seconds from the start; null = never. */
  readonly ends: number | null
}

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  { name: 'never without ttl (2.1)', spec: {}, reason: 'Active', ends: null },
  { name: 'never with ttl 0 (2.1)', spec: { ttl: 0 }, reason: 'Active', ends: null },
  { name: 'never without ttl, sliding (2.3)', spec: { ttlAfterLastActivity: true }, reason: 'Active', ends: null },
  { name: 'after 30 days, more than a timer (2.3)', spec: { ttl: 30 * DAY }, reason: 'Active', ends: 30 * DAY },
  { name: 'after 2^31-1 s (2.3)', spec: { ttl: 2_147_483_647 }, reason: 'Active', ends: 2_147_483_647 },
  { name: 'after 20 days if of a login (2.1)', spec: { type: 'Login' }, reason: 'Active', ends: 20 * DAY },
  { name: 'after its ttl, of a login too (2.1)', spec: { type: 'Login', ttl: 40 * DAY }, reason: 'Active', ends: 40 * DAY },
  { name: 'after its creation if never used (2.3)', spec: slidingFor(HOUR), reason: 'Active', ends: HOUR },
  { name: 'counted from when first seen (2.8)', spec: { ttl: HOUR }, seenAgo: HOUR / 2, reason: 'Active', ends: HOUR },
  { name: 'at once when restored too late (2.8)', spec: { ttl: HOUR }, seenAgo: HOUR, reason: 'Expired', ends: HOUR },
  { name: 'at once too when it slides (2.8)', spec: slidingFor(HOUR), seenAgo: HOUR, reason: 'Expired', ends: HOUR },
  { name: 'no later, first seen tomorrow (2.8)', spec: { ttl: HOUR }, seenAgo: -DAY, reason: 'Active', ends: HOUR },
]

describe.concurrent('a key ends', () => {
  test.each(ROWS)('$name', async ({ spec, seenAgo: ago, reason, ends }) => {
    const created = await keys.create(spec, ago === undefined ? {} : createdAgo(ago))
    const key = await keys.shown(created, reason)
    expect(startMs(key)).toBe(ago !== undefined && ago > 0 ? startMs(created) : createdMs(created))
    const { expirationTimestamp, effectiveTTLSeconds } = key.status
    expect({ expirationTimestamp, effectiveTTLSeconds, ttl: key.spec.ttl }).toEqual({
      expirationTimestamp: ends === null ? undefined : textAfter(startMs(key), ends),
      effectiveTTLSeconds: ends ?? undefined,
      ttl: spec.ttl,
    })
  })
})

describe.concurrent('a key of seconds', () => {
  /** Keys that have ended as their status says, and how late that was said of each. */
  async function lagsOfEnds(): Promise<readonly number[]> {
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

  /**
   * One that slides, and a use that was recorded before its end: none that the operator tells stands on
   * the view before that. A busy machine may need a few.
   */
  const usedInTime = (usedMsOf: (key: StoredKey) => number) =>
    eventually(
      'a key is used before it ends',
      async () => {
        const key = await keys.until(await keys.create(slidingFor(3)), 'is reported', hasConditions)
        const usedMs = usedMsOf(key)
        await keys.use(key, usedMs)
        return Date.now() < createdMs(key) + 3000 ? { key, usedMs } : undefined
      },
      SOON,
    )

  test(
    'ends after its ttl, and status says so within a second (2.3, 2.7)',
    { timeout: 120_000 },
    () => expectEventInTime(lagsOfEnds),
  )

  test('that slides ends after its last use (2.3, 2.6)', async () => {
    const { key, usedMs } = await usedInTime(() => Date.now())
    const expired = await keys.shown(key, 'Expired')
    const end = textAfter(usedMs, 3)
    expect(expired.status.expirationTimestamp).toBe(end)
    expect(condition(expired, 'Ready').message).toContain(`expired ${end}, 3 s after its last use`)
  })

  test('that slides and is used at its very end does not end there (2.3, 2.6)', async () => {
    const { key, usedMs } = await usedInTime((created) => createdMs(created) + 3000)
    const expired = await keys.shown(key, 'Expired')
    expect(expired.status.expirationTimestamp).toBe(textAfter(usedMs, 3))
    expect(await eventually('its expiry is logged', () => lagsOf([expired]), SOON)).toHaveLength(1)
  })
})

describe.concurrent('a use that is recorded', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'a second before the end', secondsFromEnd: -1 },
    { name: 'at the end', secondsFromEnd: 0 },
    { name: 'a second after the end', secondsFromEnd: 1 },
  ])('late, $name, lets a sliding key live on (2.3, 2.6)', async ({ secondsFromEnd }) => {
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

  test('leaves a fixed key as it is (2.3)', async () => {
    const created = await keys.shown(await keys.create({ ttl: HOUR }, createdAgo(HOUR)), 'Expired')
    await keys.use(created, Date.now())
    const { metadata } = await keys.patch(created, { spec: { displayName: 'seen after the use' } })
    const key = await keys.shown(created, 'Expired')
    expect(key.status.observedGeneration).toBe(metadata.generation)
    expect(key.status.expirationTimestamp).toBe(created.status.expirationTimestamp)
  })

  test('30 s ahead counts (2.9)', async () => {
    const created = await keys.shown(await keys.create(slidingFor(HOUR)), 'Active')
    const usedMs = Date.now() + 30_000
    await keys.use(created, usedMs)
    const end = textAfter(usedMs, HOUR)
    const follows = ({ status }: StoredKey) => status.expirationTimestamp === end
    const key = await keys.until(created, 'follows its use', follows)
    expect(condition(key, 'Ready').message).toBe(
      `The key works until ${end}, ${HOUR} s after its last use.`,
    )
  })

  test('10 minutes ahead is ignored, and said to be (2.9, 4.5)', async () => {
    const created = await keys.shown(await keys.create(slidingFor(HOUR)), 'Active')
    const usedMs = Date.now() + 600_000
    await keys.use(created, usedMs)
    const says = 'Its recorded last use lies more than 60 s in the future and is ignored.'
    const key = await keys.until(created, 'says so', (now) =>
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

/** How late each expiry was published, as the operator saw it; undefined while one is missing. */
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
