/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { CREATED_ANNOTATION } from '../../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { type Lifetime, isLive, lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import { capsOfSettings } from '../../../../src/domain/settings/effective-settings.ts'
import { after, textAfter, viewOf } from '../../../support/key-builder.ts'

/** Times are seconds after t0; a text is the value of the annotation. */
interface Given {
  readonly spec?: OwnedAccessKeySpec
  readonly auth?: {
    readonly accessKeyMaxTTLSeconds?: number
    readonly loginAccessKeyTTLSeconds?: number
  }
  readonly created?: number
  readonly firstSeen?: number | string
  readonly used?: number
  readonly now?: number
}

function lifetime({
  spec = {},
  auth = {},
  created = 0,
  firstSeen = created,
  used,
  now = 0,
}: Given): Lifetime {
  const key = viewOf({
    metadata: {
      creationTimestamp: textAfter(created),
      annotations: {
        [CREATED_ANNOTATION]: typeof firstSeen === 'string' ? firstSeen : textAfter(firstSeen),
      },
    },
    spec,
    status: used === undefined ? {} : { lastActivity: textAfter(used) },
  })
  const caps = capsOfSettings({ auth })
  if (!caps) throw new Error('the row sets caps that Config would refuse')
  return lifetimeOf(key, caps, after(now))
}

interface Row extends Given {
  readonly name: string
  /** Seconds after t0; null = never. */
  readonly ends: number | null
  readonly effective: number | null
  readonly capped?: true
}

const DAY = 86_400
const sliding = (ttl: number): OwnedAccessKeySpec => ({ ttl, ttlAfterLastActivity: true })
const max = (accessKeyMaxTTLSeconds: number) => ({ accessKeyMaxTTLSeconds })
const login = (loginAccessKeyTTLSeconds: number) => ({ loginAccessKeyTTLSeconds })
const Login: OwnedAccessKeySpec = { type: 'Login' }

// biome-ignore format: a table
const OWN: readonly Row[] = [
  { name: 'ttl absent: never', ends: null, effective: null },
  { name: 'ttl 0: never', spec: { ttl: 0 }, ends: null, effective: null },
  { name: 'ttl of one second', spec: { ttl: 1 }, ends: 1, effective: 1 },
  { name: 'a User key does not take the Login lifetime', spec: { type: 'User' }, auth: login(60), ends: null, effective: null },
  { name: 'a Refresh key does not take the Login lifetime', spec: { type: 'OIDCRefreshToken' }, auth: login(60), ends: null, effective: null },
  { name: 'Login without ttl, setting absent: 20 days', spec: Login, ends: 20 * DAY, effective: 20 * DAY },
  { name: 'Login with ttl 0, setting absent: 20 days', spec: { ...Login, ttl: 0 }, ends: 20 * DAY, effective: 20 * DAY },
  { name: 'Login without ttl, setting 0: never', spec: Login, auth: login(0), ends: null, effective: null },
  { name: 'Login without ttl, setting 90', spec: Login, auth: login(90), ends: 90, effective: 90 },
  { name: 'Login with a ttl above the setting keeps its own', spec: { ...Login, ttl: 600 }, auth: login(90), ends: 600, effective: 600 },
  { name: 'Login with a ttl below the setting keeps its own', spec: { ...Login, ttl: 30 }, auth: login(90), ends: 30, effective: 30 },
  { name: 'Login default slides too', spec: { ...Login, ttlAfterLastActivity: true }, auth: login(90), used: 50, now: 50, ends: 140,
    effective: 90 },
]

// biome-ignore format: a table
const CAPPED: readonly Row[] = [
  { name: 'cap absent', spec: { ttl: 600 }, ends: 600, effective: 600 },
  { name: 'cap 0 is no cap', spec: { ttl: 600 }, auth: max(0), ends: 600, effective: 600 },
  { name: 'cap lower than ttl', spec: { ttl: 600 }, auth: max(90), ends: 90, effective: 90, capped: true },
  { name: 'cap equal to ttl shortens nothing', spec: { ttl: 90 }, auth: max(90), ends: 90, effective: 90 },
  { name: 'cap higher than ttl never lengthens', spec: { ttl: 30 }, auth: max(90), ends: 30, effective: 30 },
  { name: 'cap binds a key without ttl', auth: max(90), ends: 90, effective: 90, capped: true },
  { name: 'cap binds sliding without ttl', spec: sliding(0), auth: max(90), used: 80, now: 80, ends: 90, effective: 90, capped: true },
  { name: 'cap lower than the Login setting', spec: Login, auth: { ...max(60), ...login(90) }, ends: 60, effective: 60, capped: true },
  { name: 'cap equal to the Login setting', spec: Login, auth: { ...max(90), ...login(90) }, ends: 90, effective: 90 },
  { name: 'cap binds Login whose setting is 0', spec: Login, auth: { ...max(60), ...login(0) }, ends: 60, effective: 60, capped: true },
  { name: 'cap lowered below the age', spec: { ttl: 9 * DAY }, auth: max(60), now: 5 * DAY, ends: 60, effective: 60, capped: true },
  { name: 'sliding, never used, cap equal to ttl', spec: sliding(90), auth: max(90), ends: 90, effective: 90 },
  { name: 'sliding, used, cap equal to ttl', spec: sliding(90), auth: max(90), used: 1, now: 1, ends: 90, effective: 90, capped: true },
  { name: 'sliding, cap lower than ttl, never used', spec: sliding(600), auth: max(90), ends: 90, effective: 90, capped: true },
  { name: 'sliding, cap higher, expiry before it', spec: sliding(60), auth: max(90), used: 29, now: 29, ends: 89, effective: 60 },
  { name: 'sliding, expiry exactly at the cap', spec: sliding(60), auth: max(90), used: 30, now: 30, ends: 90, effective: 60 },
  { name: 'sliding, a second later the cap applies', spec: sliding(60), auth: max(90), used: 31, now: 31, ends: 90, effective: 60, capped: true },
]

// biome-ignore format: a table
const SLIDING: readonly Row[] = [
  { name: 'never used: counts from creation', spec: sliding(60), now: 30, ends: 60, effective: 60 },
  { name: 'a use does not move a fixed expiry', spec: { ttl: 60 }, used: 30, now: 30, ends: 60, effective: 60 },
  { name: 'used before the deadline', spec: sliding(60), used: 59, now: 59, ends: 119, effective: 60 },
  { name: 'used exactly at the deadline', spec: sliding(60), used: 60, now: 60, ends: 120, effective: 60 },
  { name: 'used after the deadline', spec: sliding(60), used: 75, now: 80, ends: 135, effective: 60 },
  { name: 'used before its creation, as in a restored status', spec: sliding(60), used: -500, ends: 60, effective: 60 },
  { name: 'used at its creation', spec: sliding(60), used: 0, ends: 60, effective: 60 },
  { name: 'without a lifetime a key never expires, used or not', spec: sliding(0), used: 30, now: 30, ends: null, effective: null },
]

// biome-ignore format: a table
const LONG: readonly Row[] = [
  { name: 'the longest ttl, 68 years', spec: { ttl: 2_147_483_647 }, ends: 2_147_483_647, effective: 2_147_483_647 },
  { name: 'the longest ttl, sliding', spec: sliding(2_147_483_647), used: 9, now: 9, ends: 2_147_483_656, effective: 2_147_483_647 },
  { name: '30 days', spec: { ttl: 30 * DAY }, ends: 30 * DAY, effective: 30 * DAY },
  { name: 'the longest ttl that fits a Node timer', spec: { ttl: 2_147_483 }, ends: 2_147_483, effective: 2_147_483 },
  { name: 'the shortest ttl that does not fit a Node timer', spec: { ttl: 2_147_484 }, ends: 2_147_484, effective: 2_147_484 },
]

// biome-ignore format: a table
const RESTORED: readonly Row[] = [
  { name: 'first seen earlier than created: a restore renews nothing', spec: { ttl: 600 }, firstSeen: -500, ends: 100, effective: 600 },
  { name: 'first seen later than created: creation counts', spec: { ttl: 600 }, firstSeen: 500, ends: 600, effective: 600 },
  { name: 'first seen malformed: creation counts', spec: { ttl: 600 }, firstSeen: 'yesterday', ends: 600, effective: 600 },
  { name: 'first seen on an invalid date', spec: { ttl: 600 }, firstSeen: '2026-02-30T00:00:00Z', ends: 600, effective: 600 },
  { name: 'first seen empty', spec: { ttl: 600 }, firstSeen: '', ends: 600, effective: 600 },
  { name: 'first seen with an offset', spec: { ttl: 600 }, firstSeen: '2026-11-21T11:59:00+02:00', ends: 540, effective: 600 },
  { name: 'the cap counts from it too', auth: max(90), firstSeen: -50, ends: 40, effective: 90, capped: true },
  { name: 'a sliding key never used counts from it', spec: sliding(60), firstSeen: -50, ends: 10, effective: 60 },
  { name: 'a sliding key used since counts from its use', spec: sliding(60), firstSeen: -500, used: -20, ends: 40, effective: 60 },
]

// biome-ignore format: a table
const AHEAD: readonly Row[] = [
  { name: 'created ahead: counts from itself', spec: { ttl: 60 }, created: 600, ends: 660, effective: 60 },
  { name: 'created ahead, sliding, used now', spec: sliding(60), created: 600, used: 10, now: 10, ends: 660, effective: 60 },
  { name: 'created ahead, capped', spec: { ttl: 60 }, auth: max(30), created: 600, ends: 630, effective: 30, capped: true },
  { name: 'used 30 s ahead: counts', spec: sliding(60), used: 130, now: 100, ends: 190, effective: 60 },
  { name: 'used 60 s ahead: counts', spec: sliding(60), used: 160, now: 100, ends: 220, effective: 60 },
  { name: 'used 60.001 s ahead: ignored', spec: sliding(60), used: 160.001, now: 100, ends: 60, effective: 60 },
  { name: 'used 61 s ahead: ignored', spec: sliding(60), used: 161, now: 100, ends: 60, effective: 60 },
  { name: 'used 30 s ahead, capped', spec: sliding(60), auth: max(150), used: 130, now: 100, ends: 150, effective: 60, capped: true },
  { name: 'used 61 s ahead, capped: ignored', spec: sliding(60), auth: max(150), used: 161, now: 100, ends: 60, effective: 60 },
]

describe.each([
  { rule: '2.1 own lifetime', rows: OWN },
  { rule: '2.2 and 2.3 cap', rows: CAPPED },
  { rule: '2.3 sliding', rows: SLIDING },
  { rule: '2.3 far ahead', rows: LONG },
  { rule: '2.8 first seen', rows: RESTORED },
  { rule: '2.9 clocks that differ', rows: AHEAD },
])('contract $rule', ({ rows }) => {
  test.each(rows)('$name', ({ ends, effective, capped = false, ...given }) => {
    expect(lifetime(given)).toMatchObject({
      expiresMs: ends === null ? null : after(ends),
      effectiveSeconds: effective,
      capped,
    })
  })
})

// biome-ignore format: a table
test.each([
  { name: 'never expires', expires: null, live: true },
  { name: 'a millisecond before its expiry', expires: 0.001, live: true },
  { name: 'exactly at its expiry', expires: 0, live: false },
  { name: 'a millisecond after its expiry', expires: -0.001, live: false },
])('$name, live $live (contract 2.6)', ({ expires, live }) => {
  expect(isLive(expires === null ? null : after(expires), after(0))).toBe(live)
})

// biome-ignore format: a table
test.each([
  { name: 'never used', until: null },
  { name: 'used now', used: 100, until: null },
  { name: 'used 60 s ahead', used: 160, until: null },
  { name: 'used 61 s ahead', used: 161, until: 101 },
  { name: 'a fixed key used 61 s ahead', spec: { ttl: 60 }, used: 161, until: 101 },
])('$name, ignored until $until s (contract 2.9)', ({ until, ...given }) => {
  const { activityIgnoredUntilMs } = lifetime({ spec: sliding(60), now: 100, ...given })
  expect(activityIgnoredUntilMs).toBe(until === null ? null : after(until))
})

test('a use slightly in the future extends a key like a use at the current time (contract 2.9)', () => {
  for (const ttl of [1, 30, 600]) {
    for (let now = 40; now <= 800; now += 0.5) {
      const countsAt = Math.min(100, now)
      const { expiresMs } = lifetime({ spec: sliding(ttl), used: 100, now })
      expect(isLive(expiresMs, after(now)), `ttl ${ttl}, now ${now}`).toBe(now < countsAt + ttl)
    }
  }
})

test('the expiry after a use in the future does not depend on the current time (contract 2.9)', () => {
  const ends = [40, 41, 70.5, 99.999, 100, 120].map(
    (now) => lifetime({ spec: sliding(60), used: 100, now }).expiresMs,
  )
  expect(new Set(ends)).toEqual(new Set([after(160)]))
})

test.each([
  { name: 'the cap is above its age', cap: 200, live: true },
  { name: 'the cap is lowered to its age: it expires', cap: 100, live: false },
  { name: 'the cap is raised again: it is valid again', cap: 101, live: true },
  { name: 'the cap is removed', cap: 0, live: true },
])('$name (contract 2.5)', ({ cap, live }) => {
  const { expiresMs } = lifetime({ spec: { ttl: 600 }, auth: max(cap), now: 100 })
  expect(isLive(expiresMs, after(100))).toBe(live)
})
