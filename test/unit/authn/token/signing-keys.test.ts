import { describe, expect, test } from 'vitest'
import { createTokenAuthenticator } from '../../../../src/authn/token/authenticator.ts'
import { forge } from '../../../direct/forged-tokens.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { directWorld, POLL_MS, START_MS } from './direct-world.ts'
import { newTestKey, newToken, soundClaims } from './test-issuer.ts'

const keyFetches = (requests: readonly string[]): number =>
  requests.filter((path) => path === '/keys').length

describe('keys that change (9.2; threats D4, F17)', () => {
  test('a new key verifies, and the old one goes on', async () => {
    const { start, platform, key, token } = await directWorld()
    const direct = await start()
    const next = newTestKey()
    platform.served.keys = [key.jwk, next.jwk]
    const before = direct.notified.length
    await direct.poll()
    expect(await direct.because(newToken(next, platform.issuer, START_MS).token)).toBe(null)
    expect(await direct.because(token().token)).toBe(null)
    expect(direct.notified.slice(before)).toEqual([])
  })

  test('a withdrawn key verifies nothing from the poll on, and its callers are checked', async () => {
    const { start, platform, token } = await directWorld()
    const direct = await start()
    const { token: cached } = token()
    const result = await direct.authenticate(cached)
    if (!result.ok) throw new Error('the token is refused')
    const next = newTestKey()
    platform.served.keys = [next.jwk]
    const before = direct.notified.length
    await direct.poll()
    expect(direct.notified.slice(before)).toEqual([null])
    expect(direct.reauthenticate(result.caller)).toEqual({ ok: false, because: 'revoked' })
    expect(await direct.because(cached)).toBe('unknownKey')
    expect(await direct.because(newToken(next, platform.issuer, START_MS).token)).toBe(null)
  })

  test('one that is withdrawn while it verifies a token does not verify it', async () => {
    const key = newTestKey()
    const list = { asOfMs: START_MS, tokens: new Map() }
    let kids = new Map([[key.kid, key.jwk]])
    const issuer = 'https://platform.example.com/oidc'
    const { authenticate } = createTokenAuthenticator({
      issuer,
      cluster: 'east',
      state: () => ({
        keys: { keys: kids, missingSinceMs: new Map() },
        list,
        projectNamespacePrefix: 'p-',
      }),
      refreshKeys: () => Promise.resolve(),
      nowMs: () => START_MS,
      isStale: () => false,
      log: memoryLog().log,
    })
    const { token } = newToken(key, issuer, START_MS)
    const [verifying] = [authenticate(token), (kids = new Map())]
    expect(await verifying).toEqual({ ok: false, because: 'unknownKey' })
    expect(await authenticate(token)).toEqual({ ok: false, because: 'unknownKey' })
    kids = new Map([[key.kid, key.jwk]])
    expect((await authenticate(token)).ok).toBe(true)
  })

  test('one that is back within ten minutes verifies again, one that is back later never does', async () => {
    const { start, platform, key, token } = await directWorld()
    const direct = await start()
    const next = newTestKey()
    const { token: sound } = token()
    platform.served.keys = [next.jwk]
    await direct.poll()
    platform.served.keys = [key.jwk, next.jwk]
    await direct.poll(600_000 - POLL_MS)
    expect(await direct.because(sound)).toBe(null)
    platform.served.keys = [next.jwk]
    await direct.poll()
    await direct.poll(600_000)
    platform.served.keys = [key.jwk, next.jwk]
    await direct.poll()
    expect(await direct.because(sound)).toBe('unknownKey')
    await direct.poll()
    expect(await direct.because(sound)).toBe('unknownKey')
    // At two polls, and at one for a token.
    expect(direct.counts['key refused']).toBe(3)
    const warned = direct.lines.filter(({ sentence }) =>
      sentence.startsWith('withdrawn signing key'),
    )
    expect(warned.map(({ fields }) => fields)).toEqual([{ kid: key.kid }])
  })

  test('with one unsound key in the set the others verify', async () => {
    const { start, platform, key, token } = await directWorld()
    platform.served.keys = [{ kty: 'oct', kid: 'x' } as never, key.jwk]
    const direct = await start()
    expect(await direct.because(token().token)).toBe(null)
  })
})

describe('a token of a key that is not known yet (9.2; threats D5)', () => {
  test('makes the keys be read at once, not only by the next poll', async () => {
    const { start, platform, key } = await directWorld()
    const direct = await start()
    const next = newTestKey()
    platform.served.keys = [key.jwk, next.jwk]
    expect(await direct.because(newToken(next, platform.issuer, START_MS).token)).toBe(null)
    expect(keyFetches(platform.requests)).toBe(2)
  })

  test('is accepted with others of that key that came while the keys were read', async () => {
    const { start, platform, key } = await directWorld()
    const direct = await start()
    const next = newTestKey()
    platform.served.keys = [key.jwk, next.jwk]
    const tokens = [1, 2, 3].map(() => newToken(next, platform.issuer, START_MS).token)
    expect(await Promise.all(tokens.map(direct.because))).toEqual([null, null, null])
    expect(keyFetches(platform.requests)).toBe(2)
  })

  test('in a flood of tokens makes one request within ten seconds', async () => {
    const { start, platform, clock, token } = await directWorld()
    const direct = await start({ pollIntervalMs: 60_000_000 })
    const before = keyFetches(platform.requests)
    const flood = async (): Promise<void> => {
      const claims = soundClaims(platform.issuer, START_MS)
      const unknown = newTestKey()
      const tokens = Array.from({ length: 100 }, (_, at) =>
        forge({ ...unknown, kid: `${'x'.repeat(40)}${100 + at}` }, claims),
      )
      const reasons = await Promise.all(tokens.map(direct.because))
      expect(new Set(reasons)).toEqual(new Set(['unknownKey']))
    }
    for (let round = 0; round < 3; round += 1) await flood()
    expect(keyFetches(platform.requests) - before).toBe(1)
    await clock.advance(9999)
    await flood()
    expect(keyFetches(platform.requests) - before).toBe(1)
    await clock.advance(1)
    await flood()
    expect(keyFetches(platform.requests) - before).toBe(2)
    expect(await direct.because(token().token)).toBe(null)
  })

  test('with a kid that no key can have makes no request', async () => {
    const { start, platform, key } = await directWorld()
    const direct = await start()
    const claims = soundClaims(platform.issuer, START_MS)
    for (const kid of ['', 'kid-1', '../../etc/passwd', 'x'.repeat(44)])
      expect(await direct.because(forge(key, claims, { header: { kid } }))).toBe('header')
    expect(keyFetches(platform.requests)).toBe(1)
  })

  test('is not verified by a key of a replica that lags behind, whose list is older', async () => {
    const { start, platform, key, token } = await directWorld()
    const direct = await start()
    platform.served.keys = [newTestKey().jwk]
    await direct.poll()
    platform.served.keys = [key.jwk]
    platform.served.asOfMs -= 1000
    expect(await direct.because(token().token)).toBe('unknownKey')
    expect(keyFetches(platform.requests)).toBe(3)
  })

  test('is not verified by a key of a cache that is older than the last answer', async () => {
    const { start, platform, clock, key, token } = await directWorld()
    const direct = await start()
    const next = newTestKey()
    platform.served.keys = [next.jwk]
    await direct.poll()
    platform.served.keys = [key.jwk]
    platform.served.instead = (path, response) => {
      if (path === '/keys')
        response.setHeader('date', new Date(clock.nowMs() - 300_000).toUTCString())
      return false
    }
    await direct.poll()
    expect(await direct.because(token().token)).toBe('unknownKey')
    expect(await direct.because(newToken(next, platform.issuer, START_MS).token)).toBe(null)
    expect(direct.counts['keys refused']).toBe(2)
  })

  test('is refused while the platform cannot be asked', async () => {
    const { start, platform } = await directWorld()
    const direct = await start()
    await platform.stop()
    const unknown = newToken(newTestKey(), platform.issuer, START_MS).token
    expect(await direct.because(unknown)).toBe('unknownKey')
  })
})
