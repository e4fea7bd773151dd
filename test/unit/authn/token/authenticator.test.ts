import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { checkJwk } from '../../../../src/authn/jwks.ts'
import { claimsIn, es256, forge } from '../../../direct/forged-tokens.ts'
import { directWorld, START_MS } from './direct-world.ts'
import { newToken, soundClaims } from './test-issuer.ts'

const HOUR_MS = 3_600_000

describe('a sound token (9.2)', () => {
  test('is accepted as the identity that a stock API server makes of it', async () => {
    const { start, token } = await directWorld()
    const direct = await start()
    const { token: sound, jti } = token()
    expect(await direct.authenticate(sound)).toEqual({
      ok: true,
      caller: {
        identity: {
          user: 'platform:user:ada',
          groups: [
            'platform:authenticated',
            'platform:user:ada',
            'platform:group:dev',
            'system:authenticated',
          ],
        },
        token: {
          jti,
          subject: 'user:ada',
          groups: ['authenticated', 'user:ada', 'group:dev'],
          name: 'ci',
          scope: '*',
          issuedMs: START_MS,
          expiresMs: START_MS + HOUR_MS,
        },
        scope: null,
        expiresMs: START_MS + HOUR_MS,
      },
    })
  })

  test('has its scope parsed: a malformed entry grants nothing (11.2)', async () => {
    const { start, platform, key } = await directWorld()
    const direct = await start()
    const scope = { clusters: [{ cluster: 'east' }, { cluster: 5 }] } as never
    const claims = soundClaims(platform.issuer, START_MS, { scope, isOwnerScoped: true })
    const result = await direct.authenticate(
      forge(key, { ...claims, aud: [`${platform.issuer}/scoped`] }),
    )
    expect(result).toMatchObject({
      ok: true,
      caller: { scope: [{ kind: 'target', list: 'clusters', names: ['east'] }] },
    })
  })

  test('with a signature of RS256 is accepted too', async () => {
    const { start, platform, token, key } = await directWorld()
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const checked = checkJwk(createPublicKey(privateKey).export({ format: 'jwk' }))
    if (!checked.ok) throw new Error(checked.because)
    const { kid } = checked.jwk
    platform.served.keys = [key.jwk, checked.jwk]
    const direct = await start()
    const rs256 = (text: string) =>
      sign('sha256', Buffer.from(text), privateKey).toString('base64url')
    const claims = claimsIn(token().token)
    const rsa = { kid, privateKey }
    expect(
      await direct.because(forge(rsa, claims, { header: { alg: 'RS256' }, signer: rs256 })),
    ).toBe(null)
    // The key has one algorithm, and so has the header: no mixture verifies.
    for (const forged of [
      forge(rsa, claims, { header: { alg: 'ES256' }, signer: rs256 }),
      forge(rsa, claims, { header: { alg: 'PS256' }, signer: rs256 }),
      forge(rsa, claims, { header: { alg: 'RS256' }, signer: es256(key) }),
      forge(key, claims, { header: { alg: 'RS256' }, signer: rs256 }),
    ])
      expect(await direct.because(forged)).toBe('signature')
  })
})

describe('the times of a token (9.2; threats D3)', () => {
  test('it ends at exp, without leeway', async () => {
    const { start, token, clock } = await directWorld()
    const direct = await start()
    const { token: sound } = token()
    expect(await direct.because(sound)).toBe(null)
    clock.setNow(START_MS + HOUR_MS - 1)
    expect(await direct.because(sound)).toBe(null)
    clock.setNow(START_MS + HOUR_MS)
    expect(await direct.because(sound)).toBe('expired')
  })

  test('it may begin a minute from now, and not later', async () => {
    const { start, key, platform } = await directWorld()
    const direct = await start()
    const from = (ms: number): string => newToken(key, platform.issuer, START_MS + ms).token
    expect(await direct.because(from(60_000))).toBe(null)
    expect(await direct.because(from(61_000))).toBe('early')
  })

  test('one that was too early is accepted when its time has come', async () => {
    const { start, key, platform, clock } = await directWorld()
    const direct = await start()
    const { token } = newToken(key, platform.issuer, START_MS + 61_000)
    expect(await direct.because(token)).toBe('early')
    clock.setNow(START_MS + 1000)
    expect(await direct.because(token)).toBe(null)
  })
})

describe('a token in constant use (9.2)', () => {
  test('is the same caller each time, and is checked each time', async () => {
    const { start, token, clock, platform } = await directWorld()
    const direct = await start()
    const { token: sound, jti } = token()
    const [first, second] = [await direct.authenticate(sound), await direct.authenticate(sound)]
    if (!first.ok || !second.ok) throw new Error('the token is refused')
    expect(second.caller).toBe(first.caller)
    expect(direct.reauthenticate(first.caller)).toEqual({ ok: true, caller: first.caller })
    platform.served.revoked = { [jti]: START_MS + HOUR_MS }
    await direct.poll()
    expect(await direct.because(sound)).toBe('revoked')
    expect(direct.reauthenticate(first.caller)).toEqual({ ok: false, because: 'revoked' })
    // Its end makes no difference: the answer to a revoked token does not say more.
    clock.setNow(START_MS + HOUR_MS)
    expect(await direct.because(sound)).toBe('revoked')
  })

  test('is checked again when it has ended', async () => {
    const { start, token, clock } = await directWorld()
    const direct = await start()
    const result = await direct.authenticate(token().token)
    if (!result.ok) throw new Error('the token is refused')
    clock.setNow(START_MS + HOUR_MS)
    expect(direct.reauthenticate(result.caller)).toEqual({ ok: false, because: 'expired' })
  })

  test('with a scope counts as changed when the prefix of namespaces has changed', async () => {
    const { start, key, platform, token } = await directWorld()
    const direct = await start()
    const scope = { rules: [{ namespaces: ['a'], verbs: ['get'] }] }
    const scoped = forge(key, soundClaims(platform.issuer, START_MS, { scope }))
    const [one, all] = await Promise.all([scoped, token().token].map(direct.authenticate))
    if (!one?.ok || !all?.ok) throw new Error('a token is refused')
    const before = direct.notified.length
    platform.served.prefix = 'projects-'
    await direct.poll()
    expect(direct.projectNamespacePrefix()).toBe('projects-')
    expect(direct.notified.slice(before)).toEqual([null])
    expect(direct.reauthenticate(one.caller)).toEqual({ ok: false, because: 'changed' })
    expect(direct.reauthenticate(all.caller)).toMatchObject({ ok: true })
    const again = await direct.authenticate(scoped)
    expect(again.ok && direct.reauthenticate(again.caller).ok).toBe(true)
  })

  test('of another process is revoked here', async () => {
    const { start, token } = await directWorld()
    const [here, there] = [await start(), await start()]
    const result = await there.authenticate(token().token)
    if (!result.ok) throw new Error('the token is refused')
    expect(here.reauthenticate(result.caller)).toEqual({ ok: false, because: 'revoked' })
  })
})
