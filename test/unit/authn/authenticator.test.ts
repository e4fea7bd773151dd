import { describe, expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { parseScope } from '../../../src/domain/scope/authorize.ts'
import { t0, textAfter } from '../../support/key-builder.ts'
import {
  type Knowledge,
  createTestAuthenticator,
  key,
  ownedBy,
  secretOf,
} from './test-authenticator.ts'

const SCOPE = { projects: [{ project: 'blue' }] }
const ROLES = { roles: [{ role: 'agent' }] }
const at = (version: number) => ({ metadata: { resourceVersion: String(version) } })
const STALE = { proven: null }

describe('authentication with a current key index (10.3)', () => {
  test('a caller has the identity, the scope and the expiry of its key', async () => {
    const { index, callers } = createTestAuthenticator(
      key('a', { ttl: 60, groups: ['dev'], scope: SCOPE }),
    )
    expect(await callers.authenticate(secretOf('a'))).toEqual({
      ok: true,
      caller: {
        key: index.named('a'),
        identity: { user: 'ada', groups: expect.arrayContaining(['dev', 'platform:user:ada']) },
        scope: parseScope(SCOPE),
        expiresMs: t0 + 60_000,
      },
    })
  })

  test('a scope is parsed once per version of the key', async () => {
    const { index, callers } = createTestAuthenticator(key('a', { scope: SCOPE }))
    const scopeOf = async () => {
      const found = await callers.authenticate(secretOf('a'))
      return found.ok && found.caller.scope
    }
    const before = await scopeOf()
    expect(await scopeOf()).toBe(before)
    index.store.put(key('a', { scope: { projects: [{ project: 'red' }] } }, at(2)))
    expect(await scopeOf()).toEqual(parseScope({ projects: [{ project: 'red' }] }))
  })

  test('reads no key from the API server', async () => {
    const stage = createTestAuthenticator(key('a'), key('b', {}, ownedBy('a')))
    stage.now.stored = null
    for (const token of [secretOf('a'), secretOf('b'), secretOf('x'), ''])
      await stage.outcome(token)
    expect(stage.reads).toEqual([])
  })

  test('evaluates clock, caps and key at every request (2.6, C5)', async () => {
    const { clock, index, now, outcome } = createTestAuthenticator(key('a', { ttl: 60 }))
    now.proven = { wallMs: t0 + 1e9, monotonicMs: 1e9 }
    expect(await outcome(secretOf('a'))).toBe('ada until 60')
    now.caps = { maxTtlSeconds: 30, loginTtlSeconds: null }
    expect(await outcome(secretOf('a'))).toBe('ada until 30')
    await clock.advance(30_000)
    expect(await outcome(secretOf('a'))).toBe('expired')
    now.caps = { maxTtlSeconds: null, loginTtlSeconds: null }
    index.store.put(key('a', { ttl: 60, disabled: true }, at(2)))
    expect(await outcome(secretOf('a'))).toBe('disabled')
  })

  test('finds no key by the digest that stands in for unknown secrets', async () => {
    const { outcome } = createTestAuthenticator(key('a', { key: `sha256:${'0'.repeat(64)}` }))
    for (const token of ['', 'unknown', 'x', `sha256:${'0'.repeat(64)}`])
      expect(await outcome(token)).toBe('unknown')
  })

  test('of two keys with the same secret the older authenticates, or none does (3.3)', async () => {
    const same = { key: secretOf('same') }
    const stage = createTestAuthenticator(key('b', { ...same, user: 'bob' }, {}, 1), key('a', same))
    expect(await stage.outcome(secretOf('same'))).toBe('ada')
    stage.index.store.put(key('a', { ...same, disabled: true }, at(2)))
    expect(await stage.outcome(secretOf('same'))).toBe('disabled')
    stage.index.store.remove(key('a', same, at(3)))
    expect(await stage.outcome(secretOf('same'))).toBe('bob')
  })

  test('no key authenticates where the older one holds only the digest (3.3)', async () => {
    const secret = secretOf('same')
    const thief = (version: number) =>
      key('thief', { key: `sha256:${secretDigest(secret)}`, user: 'eve' }, at(version))
    const stage = createTestAuthenticator(thief(1), key('a', { key: secret }, {}, 1))
    expect(await stage.outcome(secret)).toBe('conflict')
    stage.index.store.remove(thief(2))
    expect(await stage.outcome(secret)).toBe('ada')
  })

  test.each([
    { token: 'null', is: 'unknown' },
    { token: 'k'.repeat(31), is: 'unknown' },
    { token: 'k'.repeat(32), is: 'ada' },
  ])('a digest of $token makes its bearer $is (3.6)', async ({ token, is }) => {
    const { outcome } = createTestAuthenticator(key('a', { key: `sha256:${secretDigest(token)}` }))
    expect(await outcome(token)).toBe(is)
  })
})

describe('authentication with a stale watch reads the key or refuses (10.4)', () => {
  interface Row {
    readonly name: string
    readonly now: Partial<Knowledge>
    readonly token?: string
    readonly is: string
    readonly reads?: readonly string[]
  }
  const keys = (): readonly OwnedAccessKey[] => [
    key('a'),
    key('b', {}, ownedBy('a')),
    key('c', { scope: ROLES }),
    key('d', { scope: SCOPE }),
  ]
  const without = (name: string) => keys().filter(({ metadata }) => metadata.name !== name)
  // biome-ignore format: a table
  test.each<Row>([
    { name: 'settings never loaded: refuses with 503', now: { caps: null }, is: 'unavailable' },
    { name: 'settings stale and unreadable: refuses with 503', now: { settings: false }, is: 'unavailable' },
    { name: 'settings stale and unreadable, unknown key: refuses with 503', now: { settings: false }, token: 'x', is: 'unavailable' },
    { name: 'roles stale, key with a role in its scope: refuses with 503', now: { roles: false }, token: secretOf('c'), is: 'unavailable' },
    { name: 'roles stale, key without a role: authenticates', now: { roles: false }, token: secretOf('d'), is: 'ada' },
    { name: 'keys stale: reads the key', now: STALE, is: 'ada', reads: ['a'] },
    { name: 'keys stale: reads the key and its owner', now: STALE, token: secretOf('b'), is: 'ada', reads: ['b', 'a'] },
    { name: 'keys stale, unknown secret: refuses with 503, as the key may be new', now: STALE, token: secretOf('x'), is: 'unavailable' },
    { name: 'keys stale, malformed token: refuses without a read', now: STALE, token: '', is: 'unavailable' },
    { name: 'keys stale, API server does not answer', now: { ...STALE, stored: null }, is: 'unavailable', reads: ['a'] },
    { name: 'keys stale: the read key is disabled', now: { ...STALE, stored: [key('a', { disabled: true }, at(2))] }, is: 'disabled', reads: ['a'] },
    { name: 'keys stale: the key is deleted', now: { ...STALE, stored: without('a') }, is: 'unknown', reads: ['a'] },
    { name: 'keys stale: the read key has another uid and another secret', now: { ...STALE, stored: [key('a', { key: secretOf('other') }, { metadata: { uid: 'other' } })] }, is: 'unknown', reads: ['a'] },
    { name: 'keys stale: the owner is deleted', now: { ...STALE, stored: without('a') }, token: secretOf('b'), is: 'owner', reads: ['b', 'a'] },
    { name: 'keys stale: the read key has another identity', now: { ...STALE, stored: [key('a', { user: 'bob' }, at(2))] }, is: 'bob', reads: ['a'] },
  ])('$name', async ({ now, token = secretOf('a'), is, reads = [] }) => {
    const stage = createTestAuthenticator(...keys())
    Object.assign(stage.now, now)
    expect(await stage.outcome(token)).toBe(is)
    expect(stage.reads).toEqual(reads)
  })

  test('keys become stale 15 seconds after the last proof, and not before', async () => {
    const { clock, now, reads, outcome } = createTestAuthenticator(key('a'))
    now.stored = null
    await clock.advance(15_000)
    expect(await outcome(secretOf('a'))).toBe('ada')
    await clock.advance(1)
    expect(await outcome(secretOf('a'))).toBe('unavailable')
    expect(reads).toEqual(['a'])
  })

  test('many requests share one read a second', async () => {
    const { clock, now, reads, outcome } = createTestAuthenticator(key('a'))
    now.proven = null
    await Promise.all(Array.from({ length: 50 }, () => outcome(secretOf('a'))))
    expect(reads).toEqual(['a'])
    now.stored = [key('a', { disabled: true }, at(2))]
    await clock.advance(1000)
    expect(await outcome(secretOf('a'))).toBe('disabled')
  })

  test('counts the time that a read takes', async () => {
    const { clock, now, outcome } = createTestAuthenticator(key('a', { ttl: 60 }))
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    Object.assign(now, { ...STALE, answered })
    await clock.advance(59_000)
    const asked = outcome(secretOf('a'))
    await clock.advance(1000)
    answer()
    expect(await asked).toBe('expired')
  })

  test('reads the older key with the same secret as well, which may be deleted', async () => {
    const same = { key: secretOf('same') }
    const [elder, younger] = [key('a', { ...same, disabled: true }), key('b', same, {}, 1)]
    const { clock, now, outcome } = createTestAuthenticator(elder, younger)
    now.proven = null
    expect(await outcome(secretOf('same'))).toBe('disabled')
    now.stored = [younger]
    await clock.advance(1000)
    expect(await outcome(secretOf('same'))).toBe('ada')
  })

  test('stops reading an endless chain of owners', async () => {
    const line = Array.from({ length: 200 }, (_, place) =>
      key(`k${place}`, {}, ownedBy(`k${place + 1}`)),
    )
    const { now, reads, outcome } = createTestAuthenticator(...line)
    now.proven = null
    expect(await outcome(secretOf('k0'))).toBe('unavailable')
    expect(reads.length).toBeLessThan(100)
  })
})

describe('a caller is reauthenticated by name and uid of its key, without the secret (13.4)', () => {
  const BEFORE = { ttl: 60, scope: SCOPE, groups: ['dev'] }
  interface Row {
    readonly name: string
    /** The key at the second check; null = deleted. */
    readonly now?: OwnedAccessKey | null
    readonly under?: Partial<Knowledge>
    readonly atS?: number
    /** The expiry in seconds after t0, or why its requests are cut. */
    readonly is: number | string
  }
  const a = (spec: OwnedAccessKey['spec'] & object, parts: Parameters<typeof key>[2] = at(2)) =>
    key('a', { ...BEFORE, ...spec }, parts)
  test.each<Row>([
    { name: 'an unchanged key stays valid', is: 60 },
    {
      name: 'a new lastActivity keeps it valid',
      now: a({ description: 'x' }, { ...at(2), status: { lastActivity: textAfter(9) } }),
      is: 60,
    },
    { name: 'a later expiry is taken over', now: a({ ttl: 90 }), is: 90 },
    { name: 'an expired key is cut', atS: 60, is: 'expired' },
    {
      name: 'a key that a cap ended is cut',
      under: { caps: { maxTtlSeconds: 5, loginTtlSeconds: null } },
      atS: 5,
      is: 'expired',
    },
    { name: 'a disabled key is cut', now: a({ disabled: true }), is: 'revoked' },
    {
      name: 'a key being deleted is cut',
      now: a({}, { metadata: { resourceVersion: '2', deletionTimestamp: textAfter(0) } }),
      is: 'revoked',
    },
    { name: 'a deleted key is cut', now: null, is: 'revoked' },
    {
      name: 'another key of the same name is cut',
      now: a({}, { metadata: { uid: 'other', resourceVersion: '2' } }),
      is: 'revoked',
    },
    { name: 'a key of another user is cut', now: a({ user: 'bob' }), is: 'changed' },
    { name: 'a key without an identity is cut', now: a({ user: '' }), is: 'revoked' },
    { name: 'a key with other groups is cut', now: a({ groups: [] }), is: 'changed' },
    {
      name: 'a key with a narrower scope is cut',
      now: a({ scope: { clusters: [{ cluster: 'x' }] } }),
      is: 'changed',
    },
    { name: 'keys stale: reads the key', under: STALE, is: 60 },
    {
      name: 'keys stale: the read key is disabled',
      under: { ...STALE, stored: [a({ disabled: true })] },
      is: 'revoked',
    },
    {
      name: 'keys stale, API server does not answer',
      under: { ...STALE, stored: null },
      is: 'stale',
    },
    { name: 'settings stale: the caller is unknown', under: { settings: false }, is: 'stale' },
    {
      name: 'a caller is cut when the rules of its role change',
      under: { meaning: {} },
      is: 'changed',
    },
    {
      name: 'a caller is cut when the rules of its role change, also with stale keys',
      under: { ...STALE, meaning: {} },
      is: 'changed',
    },
  ])('$name', async ({ now, under, atS = 0, is }) => {
    const stage = createTestAuthenticator(key('a', BEFORE))
    const before = await stage.callers.authenticate(secretOf('a'))
    if (!before.ok) throw new Error('the key does not authenticate')
    stage.now.proven = { wallMs: t0 + atS * 1000, monotonicMs: atS * 1000 }
    Object.assign(stage.now, under)
    if (now) stage.index.store.put(now)
    if (now === null) stage.index.store.remove(key('a', BEFORE, at(3)))
    await stage.clock.advance(atS * 1000)
    const found = await stage.callers.reauthenticate(before.caller)
    const { expiresMs } = found.ok ? found.caller : { expiresMs: null }
    expect(found.ok ? ((expiresMs ?? 0) - t0) / 1000 : found.because).toBe(is)
  })

  test('a change of role rules leaves a key without a scope valid', async () => {
    const stage = createTestAuthenticator(key('a'))
    const before = await stage.callers.authenticate(secretOf('a'))
    if (!before.ok) throw new Error('the key does not authenticate')
    stage.now.meaning = {}
    expect(await stage.callers.reauthenticate(before.caller)).toMatchObject({ ok: true })
  })

  test('a caller stays valid from check to check', async () => {
    const stage = createTestAuthenticator(key('a', { scope: SCOPE }))
    const before = await stage.callers.authenticate(secretOf('a'))
    if (!before.ok) throw new Error('the key does not authenticate')
    const now = await stage.callers.reauthenticate(before.caller)
    if (!now.ok) throw new Error('it was cut')
    expect(await stage.callers.reauthenticate(now.caller)).toMatchObject({ ok: true })
  })

  test('a caller is cut when its owner is disabled, or when an older key with its secret appears', async () => {
    const stage = createTestAuthenticator(
      key('owner'),
      key('a', {}, ownedBy('owner')),
      key('b', {}, {}, 1),
    )
    const [a1, b1] = await Promise.all(
      ['a', 'b'].map(async (name) => stage.callers.authenticate(secretOf(name))),
    )
    if (!a1?.ok || !b1?.ok) throw new Error('the keys do not authenticate')
    stage.index.store.put(key('owner', { disabled: true }, at(2)))
    stage.index.store.put(key('elder', { key: secretOf('b') }, at(3)))
    expect(await stage.callers.reauthenticate(a1.caller)).toEqual({ ok: false, because: 'revoked' })
    expect(await stage.callers.reauthenticate(b1.caller)).toEqual({ ok: false, because: 'revoked' })
  })
})
