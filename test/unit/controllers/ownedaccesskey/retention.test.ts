/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { deletionMsOf, plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import { lifetimeOf } from '../../../../src/domain/accesskey/lifetime.ts'
import {
  accessKey,
  after,
  capped,
  circumstances,
  stepped,
  textAfter,
} from '../../../support/key-builder.ts'

const DAY = 86_400
const HOUR = 3600

interface Row {
  readonly name: string
  /** What differs from a key whose own lifetime ends after 60 s. */
  readonly key?: Partial<AccessKey>
  /** A key with a longer lifetime is ended by a cap of 60 s instead. */
  readonly cap?: true
  readonly now?: number
  readonly retention?: number
  /** Seconds after t0; null = it is kept. */
  readonly removed: number | null
}

function removedAt({
  key = {},
  cap,
  now = 60,
  retention = DAY,
}: Omit<Row, 'name' | 'removed'>): number | null {
  const expired = accessKey({ ttl: cap ? 9000 : 60, ...key })
  const lifetime = lifetimeOf(expired, capped(cap ? 60 : null).caps, after(now))
  return deletionMsOf(expired, lifetime, retention * 1000, after(now))
}

const promised = (
  expirationTimestamp: string,
  removalTimestamp: string | undefined,
): Partial<AccessKey> => ({
  published: { ...accessKey().published, expirationTimestamp, removalTimestamp },
})

const Keep = { onExpiry: 'Keep' } as const
const Delete = { onExpiry: 'Delete' } as const
const tracked = { isTracked: true }
const Login = { type: 'Login' }
const OTHER_TYPES = ['', 'User', 'Other', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace']

// biome-ignore format: a table
const OWN_END: readonly Row[] = [
  { name: 'it never ends', key: { ttl: 0 }, removed: null },
  ...OTHER_TYPES.map((type) => ({
    name: `type "${type}" after the retention`,
    key: { type },
    removed: 60 + DAY,
  })),
  { name: 'Login at once', key: Login, removed: 60 },
  { name: 'Keep', key: Keep, removed: null },
  { name: 'Keep, Login', key: { ...Keep, ...Login }, removed: null },
  { name: 'Keep, tracked', key: { ...Keep, ...tracked }, removed: null },
  { name: 'Delete at once', key: Delete, removed: 60 },
  { name: 'Delete comes before tracked', key: { ...Delete, ...tracked }, removed: 60 },
  { name: 'Delete, Login', key: { ...Delete, ...Login }, removed: 60 },
  { name: 'tracked is kept', key: tracked, removed: null },
  { name: 'tracked comes before Login', key: { ...tracked, ...Login }, removed: null },
  { name: 'seen late: the retention still counts from the end', now: 9 * HOUR, removed: 60 + DAY },
  { name: 'a retention of 0', retention: 0, removed: 60 },
  { name: 'a promise binds no key that ended by itself', key: promised(textAfter(60), textAfter(70)), removed: 60 + DAY },
]

// biome-ignore format: a table
const CAP_END: readonly Row[] = [
  ...['Login', ...OTHER_TYPES].map((type) => ({
    name: `type "${type}" after the retention`,
    key: { type },
    cap: true as const,
    removed: 60 + DAY,
  })),
  { name: 'without a lifetime of its own', key: { ttl: 0 }, cap: true, removed: 60 + DAY },
  { name: 'Keep', key: Keep, cap: true, removed: null },
  { name: 'tracked', key: tracked, cap: true, removed: null },
  { name: 'Delete waits too: a typo in the cap destroys nothing', key: Delete, cap: true, removed: 60 + DAY },
  { name: 'Delete, tracked', key: { ...Delete, ...tracked }, cap: true, removed: 60 + DAY },
  { name: 'ended long ago: the retention counts from now', cap: true, now: 9 * DAY, removed: 10 * DAY },
  { name: 'promised already', key: promised(textAfter(60), textAfter(500)), cap: true, now: 300, removed: 500 },
  { name: 'promised and overdue', key: promised(textAfter(60), textAfter(500)), cap: true, now: 900, removed: 500 },
  { name: 'promised for another end', key: promised(textAfter(61), textAfter(500)), cap: true, now: 300, removed: 300 + DAY },
  { name: 'live so far: nothing promised', key: promised(textAfter(60), undefined), cap: true, removed: 60 + DAY },
  { name: 'a promise that is no time', key: promised(textAfter(60), 'soon'), cap: true, removed: 60 + DAY },
  { name: 'a retention of 0', cap: true, now: 300, retention: 0, removed: 300 },
]

describe.each([
  { how: 'by itself', rows: OWN_END },
  { how: 'by the cap', rows: CAP_END },
])('contract 5.2: ended $how', ({ rows }) => {
  test.each(rows)('$name', ({ removed, ...given }) => {
    expect(removedAt(given)).toBe(removed === null ? null : after(removed))
  })
})

describe('contract 5.2: a cap lowered long after', () => {
  const lowered = { ...capped(60), nowMs: after(5 * DAY) }
  const at = (seconds: number) => circumstances({ ...lowered, nowMs: after(seconds) })
  const login = accessKey({ ...Login, ttl: 30 * DAY })

  function firstSeen(): AccessKey {
    const seen = stepped(login, plan(login, at(5 * DAY)))
    if (!seen) throw new Error('the key is gone at once')
    return seen
  }

  test('status promises the removal when it is first seen', () => {
    expect(firstSeen().published).toMatchObject({
      expirationTimestamp: textAfter(60),
      removalTimestamp: textAfter(6 * DAY),
    })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a second later', seconds: 5 * DAY + 1 },
    { name: 'after hours, by an operator that has just started', seconds: 5 * DAY + 9 * HOUR },
    { name: 'a second before', seconds: 6 * DAY - 1 },
  ])('the promise stands: $name', ({ seconds }) => {
    expect(plan(firstSeen(), at(seconds))).toEqual({ kind: 'wait', wakeMs: after(6 * DAY) })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'on time', seconds: 6 * DAY },
    { name: 'late, after a stop of a week', seconds: 13 * DAY },
  ])('it is kept: $name', ({ seconds }) => {
    expect(plan(firstSeen(), at(seconds))).toEqual({ kind: 'delete' })
  })

  test('raised again it revives, and the promise is taken back', () => {
    const revived = stepped(
      firstSeen(),
      plan(firstSeen(), { ...at(5 * DAY + 60), ...capped(null) }),
    )
    expect(revived?.published).toMatchObject({ expirationTimestamp: textAfter(30 * DAY) })
    expect(revived?.published.removalTimestamp).toBeUndefined()
  })

  test('lowered once more the retention starts anew', () => {
    const raised = { ...at(5 * DAY + 60), ...capped(null) }
    const revived = stepped(firstSeen(), plan(firstSeen(), raised)) ?? login
    expect(stepped(revived, plan(revived, at(5 * DAY + 120)))?.published.removalTimestamp).toBe(
      textAfter(6 * DAY + 120),
    )
  })
})
