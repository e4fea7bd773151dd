/** @module-tag no-retry */
// When tokens expire: by their ttl, by their owner, by --token-max-ttl of a day (contract 2.4). caps.private.test.ts
// has caps and other limits, test/unit/controllers/directclusterendpointtoken all cases with an injected clock.
import { describe, expect, test } from 'vitest'
import type { DirectClusterEndpointTokenSpec } from '../../../src/api/directclusterendpointtoken.gen.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { formatTimestamp } from '../../../src/domain/time.ts'
import { sharedControlPlane, sharedOperator } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { conditionIn } from '../../support/object-client.ts'
import {
  SOON,
  type StoredKey,
  createdMs,
  expectEventInTime,
  keyClientOf,
  createdAgo,
  textAfter,
} from '../keys/key-client.ts'
import { claimsIn, platformStateOf } from './platform-state.ts'
import { type StoredToken, bornPlus, issuedInTime, tokenClientOf, under } from './token-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)

const HOUR = 3600
const DAY = 24 * HOUR

interface Row {
  readonly name: string
  readonly spec: DirectClusterEndpointTokenSpec
  /** Seconds from the creation of the token. */
  readonly ends: number
  /** Reason and message of LifetimeCapped; absent = no such condition. */
  readonly capped?: readonly [reason: string, message: string]
}

const BY_LIMIT = (ttl: number) =>
  [
    'CappedByLimit',
    `The token has a lifetime of ${ttl} s; the operator's --token-max-ttl ends it 86400 s after its creation.`,
  ] as const

// biome-ignore format: a table
const WITHOUT_OWNER: readonly Row[] = [
  { name: 'a day without ttl', spec: {}, ends: DAY },
  { name: 'a day with ttl 0', spec: { ttl: 0 }, ends: DAY },
  { name: 'its ttl', spec: { ttl: HOUR }, ends: HOUR },
  { name: 'a day with a ttl of a day', spec: { ttl: DAY }, ends: DAY },
  { name: 'a day with a ttl of a day and a second', spec: { ttl: DAY + 1 }, ends: DAY, capped: BY_LIMIT(DAY + 1) },
  { name: 'a day with a ttl of 30 days', spec: { ttl: 30 * DAY }, ends: DAY, capped: BY_LIMIT(30 * DAY) },
  { name: 'a day with a ttl of 2^31-1 s', spec: { ttl: 2_147_483_647 }, ends: DAY, capped: BY_LIMIT(2_147_483_647) },
]

/** The end of a token by claims and status, and its LifetimeCapped condition. */
function lifeOf(token: StoredToken) {
  const { iat, nbf, exp } = claimsIn(token)
  const capped = findCondition(token.status.conditions ?? [], 'LifetimeCapped')
  return {
    from: [formatTimestamp(iat * 1000), formatTimestamp(nbf * 1000), token.status.issuedTimestamp],
    until: [formatTimestamp(exp * 1000), token.status.expirationTimestamp],
    capped: capped && { status: capped.status, reason: capped.reason, message: capped.message },
  }
}

const life = (token: StoredToken, until: string, capped?: Row['capped']) => ({
  from: [bornPlus(token, 0), bornPlus(token, 0), bornPlus(token, 0)],
  until: [until, until],
  capped: capped && { status: 'True', reason: capped[0], message: capped[1] },
})

const SLIDING = { ttl: HOUR, ttlAfterLastActivity: true }

describe.concurrent('a token lives', () => {
  test.each(WITHOUT_OWNER)('$name (2.4, 4.2)', async ({ spec, ends, capped }) => {
    const token = await tokens.issue(spec)
    expect(lifeOf(token)).toEqual(life(token, bornPlus(token, ends), capped))
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly key: OwnedAccessKeySpec; readonly ttl: number }>([
    { name: 'under a key without an end', key: {}, ttl: 60 },
    { name: 'under a key that lives longer', key: { ttl: 2 * HOUR }, ttl: HOUR },
    { name: 'under a key without an end, without ttl', key: {}, ttl: 0 },
  ])('its own ttl $name (2.4)', async ({ key, ttl }) => {
    const owner = await keys.shown(await keys.create(key), 'Active')
    const token = await tokens.issue({ ttl }, under(owner))
    expect(lifeOf(token)).toEqual(life(token, bornPlus(token, ttl || DAY)))
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly key: OwnedAccessKeySpec; readonly ttl: number }>([
    { name: 'of an hour', key: { ttl: HOUR }, ttl: 2 * HOUR },
    { name: 'of an hour, without ttl', key: { ttl: HOUR }, ttl: 0 },
    { name: 'of an hour after its last use, and never used', key: SLIDING, ttl: 0 },
  ])('no longer than its key $name (2.4, 4.2)', async ({ key, ttl }) => {
    const owner = await keys.shown(await keys.create(key), 'Active')
    const token = await tokens.issue({ ttl }, under(owner))
    const end = textAfter(createdMs(owner), HOUR)
    const message = `The token has a lifetime of ${ttl || DAY} s; access key ${owner.metadata.name} ends ${end}, and the token with it.`
    expect(lifeOf(token)).toEqual(life(token, end, ['CappedByOwner', message]))
  })

  test('until its own end when its sliding owner is used (2.3, 2.4)', async () => {
    const owner = await keys.shown(await keys.create(SLIDING), 'Active')
    const token = await tokens.issue({}, under(owner))
    await keys.use(owner, Date.now() + 5000)
    const end = owner.status.expirationTimestamp
    await keys.until(owner, 'lives longer', ({ status }) => status.expirationTimestamp !== end)
    expect(await tokens.read(token)).toEqual(token)
    expect(token.status.expirationTimestamp).toBe(end)
  })
})

describe.concurrent('a token with a ttl of seconds', () => {
  /** Creates tokens and waits for their expiry; returns how late each was logged, in milliseconds. */
  async function lagsOfEnds(): Promise<readonly number[]> {
    const issued = await Promise.all(
      [3, 3, 4, 4].map((ttl) => issuedInTime(tokens, () => tokens.create({ ttl }))),
    )
    const expired = await Promise.all(issued.map((token) => tokens.shown(token, 'Expired')))
    for (const token of expired) {
      const end = bornPlus(token, token.spec.ttl ?? 0)
      const message = `The token expired ${end}.`
      expect(token.status).toEqual({
        issuedTimestamp: bornPlus(token, 0),
        expirationTimestamp: end,
        // keyID shows that it was issued.
        keyID: expect.any(String),
        observedGeneration: 1,
        conditions: [
          expect.objectContaining({ type: 'Ready', status: 'False', message }),
          expect.objectContaining({ type: 'Stalled', status: 'True', reason: 'Expired', message }),
        ],
      })
    }
    return eventually('every expiry is logged', () => lagsOf(expired), SOON)
  }

  test('expires, with a status within a second (2.4, 2.7, 4.2, 5.2)', { timeout: 120_000 }, () =>
    expectEventInTime(lagsOfEnds),
  )

  test('is not recorded as revoked when it expires (5.4, 7.4)', async () => {
    const issued = await issuedInTime(tokens, () => tokens.create({ ttl: 3 }))
    const token = await tokens.shown(issued, 'Expired')
    expect(token.status).toHaveProperty('keyID')
    await tokens.remove(token)
    await tokens.gone(token)
    expect(await platform.revoked()).not.toHaveProperty(token.metadata.uid)
  })

  test('expires with its owner (2.4, 4.2)', async () => {
    const owners: StoredKey[] = []
    const token = await issuedInTime(tokens, async () => {
      const owner = await keys.create({ ttl: 3 })
      owners.push(owner)
      return tokens.create({}, under(owner))
    })
    const owner = owners.at(-1) as StoredKey
    const ended = await tokens.shown(token, 'Expired')
    expect(ended.status.expirationTimestamp).toBe(textAfter(createdMs(owner), 3))
    expect(conditionIn(ended, 'LifetimeCapped').reason).toBe('CappedByOwner')
    await keys.shown(owner, 'Expired')
  })

  test('is not issued when its owner has expired (5.4)', async () => {
    const owner = await keys.shown(await keys.create({ ttl: HOUR }, createdAgo(HOUR)), 'Expired')
    const token = await tokens.shown(await tokens.create({}, under(owner)), 'OwnerNotReady')
    expect(conditionIn(token, 'Ready').message).toBe(
      `Access key ${owner.metadata.name} has expired.`,
    )
    expect(token.status).not.toHaveProperty('token')
  })
})

/** Milliseconds from each expiry to its log line; undefined while a line is missing. */
function lagsOf(ended: readonly StoredToken[]): readonly number[] | undefined {
  const lines = sharedOperator()
    .logs()
    .filter(({ msg, reason }) => msg === 'token ended' && reason === 'Expired')
  const lags = ended.flatMap(({ metadata, status }) => {
    const line = lines.find(({ object }) => (object as { uid?: string }).uid === metadata.uid)
    return line ? [Date.parse(line.time) - Date.parse(status.expirationTimestamp ?? '')] : []
  })
  return lags.length === ended.length ? lags : undefined
}
