/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { plan } from '../../../../src/controllers/ownedaccesskey/plan.ts'
import { deletionMsOf } from '../../../../src/controllers/ownedaccesskey/retention.ts'
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
  /** Changes to a key whose own lifetime ends after 60 s. */
  readonly key?: Partial<AccessKey>
  /** Gives the key a longer lifetime, and a cap of 60 s that ends it. */
  readonly cap?: true
  readonly now?: number
  readonly retention?: number
  /** Seconds after t0; null = kept. */
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
const ofClaim = { isOfClaim: true }
const OTHER_TYPES = ['', 'User', 'Other', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace']

// biome-ignore format: a table
const OWN_END: readonly Row[] = [
  { name: 'a key without an end', key: { ttl: 0 }, removed: null },
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
  { name: 'Delete takes precedence over tracked', key: { ...Delete, ...tracked }, removed: 60 },
  { name: 'Delete, Login', key: { ...Delete, ...Login }, removed: 60 },
  { name: 'tracked is kept', key: tracked, removed: null },
  { name: 'tracked takes precedence over Login', key: { ...tracked, ...Login }, removed: null },
  { name: 'of a claim at once (37)', key: ofClaim, removed: 60 },
  { name: 'disabled, of a claim (28.5)', key: { ...ofClaim, isDisabled: true }, removed: null },
  { name: 'disabled, of a claim, Delete', key: { ...ofClaim, ...Delete, isDisabled: true }, removed: null },
  { name: 'Keep, of a claim', key: { ...Keep, ...ofClaim }, removed: null },
  { name: 'tracked, of a claim', key: { ...tracked, ...ofClaim }, removed: null },
  { name: 'observed late: the retention counts from the end', now: 9 * HOUR, removed: 60 + DAY },
  { name: 'a retention of 0', retention: 0, removed: 60 },
  { name: 'a published removal does not delay a key that ended by itself', key: promised(textAfter(60), textAfter(70)), removed: 60 + DAY },
]

// biome-ignore format: a table
const CAP_END: readonly Row[] = [
  { name: 'of a claim after the retention (5.2, 37)', cap: true, key: ofClaim, removed: 60 + DAY },
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
  { name: 'ended long ago by the cap: the retention counts from now', cap: true, now: 9 * DAY, removed: 10 * DAY },
  { name: 'a published removal stays', key: promised(textAfter(60), textAfter(500)), cap: true, now: 300, removed: 500 },
  { name: 'a published removal in the past stays', key: promised(textAfter(60), textAfter(500)), cap: true, now: 900, removed: 500 },
  { name: 'a removal published for another end is replaced', key: promised(textAfter(61), textAfter(500)), cap: true, now: 300, removed: 300 + DAY },
  { name: 'active so far, without a published removal', key: promised(textAfter(60), undefined), cap: true, removed: 60 + DAY },
  { name: 'a published removal that is not a time', key: promised(textAfter(60), 'soon'), cap: true, removed: 60 + DAY },
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

  test('the first status afterwards publishes the removal', () => {
    expect(firstSeen().published).toMatchObject({
      expirationTimestamp: textAfter(60),
      removalTimestamp: textAfter(6 * DAY),
    })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'a second later', seconds: 5 * DAY + 1 },
    { name: 'hours later, by a manager that has just started', seconds: 5 * DAY + 9 * HOUR },
    { name: 'a second before it', seconds: 6 * DAY - 1 },
  ])('the published removal stays: $name', ({ seconds }) => {
    expect(plan(firstSeen(), at(seconds))).toEqual({ kind: 'wait', wakeMs: after(6 * DAY) })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'at the published time', seconds: 6 * DAY },
    { name: 'a week later, after no manager ran', seconds: 13 * DAY },
  ])('the key is deleted $name', ({ seconds }) => {
    expect(plan(firstSeen(), at(seconds))).toEqual({ kind: 'delete', because: 'expired' })
  })

  test('a raised cap revives the key, and removes the published removal', () => {
    const revived = stepped(
      firstSeen(),
      plan(firstSeen(), { ...at(5 * DAY + 60), ...capped(null) }),
    )
    expect(revived?.published).toMatchObject({ expirationTimestamp: textAfter(30 * DAY) })
    expect(revived?.published.removalTimestamp).toBeUndefined()
  })

  test('a cap lowered again starts a new retention', () => {
    const raised = { ...at(5 * DAY + 60), ...capped(null) }
    const revived = stepped(firstSeen(), plan(firstSeen(), raised)) ?? login
    expect(stepped(revived, plan(revived, at(5 * DAY + 120)))?.published.removalTimestamp).toBe(
      textAfter(6 * DAY + 120),
    )
  })
})
