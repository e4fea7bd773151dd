/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { directWorld, MAX_STALENESS_MS, POLL_MS, START_MS } from './direct-world.ts'
import { newToken } from './test-issuer.ts'

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000]

describe('an outage of the platform (9.2; threats F17)', () => {
  test('is survived up to --max-staleness, then no token is accepted', async () => {
    const { start, platform, clock, key, leap } = await directWorld()
    const direct = await start()
    const { token, jti } = newToken(key, platform.issuer, START_MS, {
      exp: (START_MS + 3 * HOUR_MS) / 1000,
    })
    const result = await direct.authenticate(token)
    if (!result.ok) throw new Error('the token is refused')
    await platform.stop()
    const before = direct.notified.length
    leap(MAX_STALENESS_MS)
    expect(await direct.because(token)).toBe(null)
    expect(direct.notified.slice(before)).toEqual([])
    expect(direct.revocation.unknownSince()).toBe(null)

    await clock.advance(1000)
    expect(await direct.because(token)).toBe('stale')
    expect(direct.reauthenticate(result.caller)).toEqual({ ok: false, because: 'stale' })
    expect(direct.notified.slice(before)).toEqual([null])
    expect(direct.revocation.unknownSince()).toBe('2026-11-21T10:00:00Z')
    expect(direct.revocation.isRevoked(jti)).toBe(false)
    expect(Object.values(direct.readiness).map((check) => check())).toEqual([null, null, null])
  })

  test('ends with the next list: tokens are accepted again, and all callers are checked', async () => {
    const { start, platform, clock, key, leap } = await directWorld()
    const direct = await start()
    platform.served.instead = (_, response) => {
      response.writeHead(503).end()
      return true
    }
    leap(MAX_STALENESS_MS + MINUTE_MS)
    await direct.poll()
    const { token } = newToken(key, platform.issuer, clock.nowMs())
    expect(await direct.because(token)).toBe('stale')
    const before = direct.notified.length
    platform.served.instead = () => false
    platform.served.asOfMs = clock.nowMs()
    await direct.poll()
    expect(await direct.because(token)).toBe(null)
    expect(direct.notified.slice(before)).toEqual([null])
    expect(direct.lines.map(({ sentence }) => sentence)).toContain(
      'the state of the issuer is fresh, tokens are accepted',
    )
  })

  test('a list that stays as it is grows stale too, although the platform answers', async () => {
    const { start, token } = await directWorld()
    const direct = await start({ maxStalenessMs: 3 * POLL_MS })
    for (let polls = 0; polls < 3; polls += 1) await direct.poll()
    expect(await direct.because(token().token)).toBe(null)
    await direct.poll()
    expect(direct.counts['revoked unchanged']).toBe(4)
    expect(await direct.because(token().token)).toBe('stale')
  })

  test.each([
    { name: 'all documents', paths: ['/.well-known/openid-configuration', '/keys', '/revoked'] },
    { name: 'the keys alone', paths: ['/keys'] },
  ])('answers of a cache that repeats $name do not lengthen it', async ({ paths }) => {
    const { start, platform, clock, token } = await directWorld()
    const date = new Date(START_MS).toUTCString()
    platform.served.instead = (path, response) => {
      if (paths.includes(path)) response.setHeader('date', date)
      return false
    }
    const direct = await start({ maxStalenessMs: 3 * POLL_MS })
    const asOf = (): void => {
      if (!paths.includes('/revoked')) platform.served.asOfMs = clock.nowMs()
    }
    for (let polls = 0; polls < 3; polls += 1) {
      asOf()
      await direct.poll()
    }
    expect(await direct.because(token().token)).toBe(null)
    for (let polls = 0; polls < 2; polls += 1) {
      asOf()
      await direct.poll()
    }
    expect(await direct.because(token().token)).toBe('stale')
  })

  test('answers of yesterday open nothing, not even without a saved state', async () => {
    const { start, platform, token } = await directWorld()
    platform.served.dateMs = () => START_MS - 24 * HOUR_MS
    platform.served.asOfMs = START_MS - 24 * HOUR_MS
    const direct = await start()
    expect(await direct.because(token().token)).toBe('stale')
    expect(direct.lines.map(({ fields }) => fields['because'])).toContain(
      'its answer is more than an hour older than the clock of this machine',
    )
  })

  test('without keys for as long as without a list, no token is accepted', async () => {
    const { start, platform, clock, token } = await directWorld()
    const direct = await start({ maxStalenessMs: 3 * POLL_MS })
    platform.served.instead = (path, response) => {
      if (path === '/keys') response.writeHead(500).end()
      return path === '/keys'
    }
    for (let polls = 0; polls < 4; polls += 1) {
      platform.served.asOfMs = clock.nowMs() + POLL_MS
      await direct.poll()
    }
    expect(direct.gauges()).toMatchObject({ listAgeMs: 0, keysAgeMs: 4 * POLL_MS })
    expect(await direct.because(token().token)).toBe('stale')
  })

  test('refuses invalid tokens as ever while it is too long', async () => {
    const { start, token, platform, clock, key, leap } = await directWorld()
    const { jti, token: revoked } = token()
    platform.served.revoked = { [jti]: START_MS + HOUR_MS }
    const direct = await start()
    const { token: ended } = token()
    expect(await direct.because(ended)).toBe(null)
    await platform.stop()
    leap(MAX_STALENESS_MS + MINUTE_MS)
    expect(await direct.because(revoked)).toBe('revoked')
    expect(await direct.because(ended)).toBe('expired')
    expect(await direct.because('x.y.z')).toBe('malformed')
    // Its key may be newer than the accepted keys.
    const unknown = newToken({ ...key, kid: 'x'.repeat(43) }, platform.issuer, clock.nowMs()).token
    expect(await direct.because(unknown)).toBe('stale')
  })

  test('from the start on, no token is accepted, and the webhook knows nothing', async () => {
    const { start, platform, token, leap } = await directWorld()
    await platform.stop()
    const direct = await start()
    leap(MINUTE_MS)
    expect(await direct.because(token().token)).toBe('stale')
    expect(direct.revocation.unknownSince()).toBe('2026-11-21T10:00:00Z')
    expect(direct.gauges().listAgeMs).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('a clock that is wrong (2.9, 9.2; threats F11)', () => {
  test.each([
    { name: 'an hour behind', aheadMs: -HOUR_MS, endsAfterMs: HOUR_MS },
    { name: 'right', aheadMs: 0, endsAfterMs: HOUR_MS },
    { name: 'half an hour ahead', aheadMs: HOUR_MS / 2, endsAfterMs: HOUR_MS / 2 },
    { name: 'a second less than an hour ahead', aheadMs: HOUR_MS - 1000, endsAfterMs: 1000 },
  ])('$name: a token of an hour ends after $endsAfterMs ms', async ({ aheadMs, endsAfterMs }) => {
    const { start, clock, token, leap } = await directWorld()
    clock.setNow(START_MS + aheadMs)
    const direct = await start({ maxStalenessMs: 2 * HOUR_MS })
    const { token: sound } = token()
    leap(endsAfterMs - 1)
    expect(await direct.because(sound)).toBe(null)
    leap(1)
    expect(await direct.because(sound)).toBe('expired')
  })

  test.each([-HOUR_MS, HOUR_MS])('by %i ms: the outage bound is the same', async (aheadMs) => {
    const { start, clock, platform, key, leap } = await directWorld()
    clock.setNow(START_MS + aheadMs)
    const direct = await start()
    const { token } = newToken(key, platform.issuer, START_MS, {
      exp: (START_MS + 9 * HOUR_MS) / 1000,
    })
    await platform.stop()
    leap(MAX_STALENESS_MS)
    expect(await direct.because(token)).toBe(null)
    leap(1)
    expect(await direct.because(token)).toBe('stale')
  })

  test('the difference is in a gauge, and in the log once a minute', async () => {
    const { start, clock } = await directWorld()
    clock.setNow(START_MS - HOUR_MS)
    const direct = await start()
    expect(direct.gauges().clockSkewMs).toBe(-HOUR_MS)
    expect(direct.nowMs()).toBe(START_MS)
    for (let polls = 0; polls < 14; polls += 1) await direct.poll()
    const warned = direct.lines.filter(({ level }) => level === 'warn')
    expect(warned).toEqual([
      {
        level: 'warn',
        fields: { skewMs: -HOUR_MS },
        sentence: 'the clock of this machine and the clock of the platform differ',
      },
    ])
  })

  test('a token of now is not too early for a clock that is behind', async () => {
    const { start, clock, token } = await directWorld()
    clock.setNow(START_MS - HOUR_MS)
    const direct = await start()
    expect(await direct.because(token().token)).toBe(null)
  })
})
