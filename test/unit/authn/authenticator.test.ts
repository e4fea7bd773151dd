import { describe, expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { parseScope } from '../../../src/domain/scope/authorize.ts'
import { t0, textAfter } from '../../support/key-builder.ts'
import { key, ownedBy, secretOf } from './key-builder.ts'
import { type Knowledge, createTestAuthenticator } from './test-authenticator.ts'

const SCOPE = { projects: [{ project: 'blue' }] }
const ROLES = { roles: [{ role: 'agent' }] }
const at = (version: number) => ({ metadata: { resourceVersion: String(version) } })
const STALE = { proven: null }

describe('authentication by a fresh index (10.3)', () => {
  test('the caller has the identity, the scope and the end of its key', async () => {
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

  test('the scope is parsed once for each state of the key', async () => {
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

  test('no key is read from the API server', async () => {
    const stage = createTestAuthenticator(key('a'), key('b', {}, ownedBy('a')))
    stage.now.stored = null
    for (const token of [secretOf('a'), secretOf('b'), secretOf('x'), ''])
      await stage.outcome(token)
    expect(stage.reads).toEqual([])
  })

  test('validity follows every input at the moment of the request (2.6, C5)', async () => {
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

  test('no key is found by the digest of the unknown key', async () => {
    const { outcome } = createTestAuthenticator(key('a', { key: `sha256:${'0'.repeat(64)}` }))
    for (const token of ['', 'nobody', 'x', `sha256:${'0'.repeat(64)}`])
      expect(await outcome(token)).toBe('unknown')
  })

  test('of two keys with the same secret the elder is the caller, or none is (3.3)', async () => {
    const same = { key: secretOf('same') }
    const stage = createTestAuthenticator(key('b', { ...same, user: 'bob' }, {}, 1), key('a', same))
    expect(await stage.outcome(secretOf('same'))).toBe('ada')
    stage.index.store.put(key('a', { ...same, disabled: true }, at(2)))
    expect(await stage.outcome(secretOf('same'))).toBe('disabled')
    stage.index.store.remove(key('a', same, at(3)))
    expect(await stage.outcome(secretOf('same'))).toBe('bob')
  })

  test('where the elder key holds only the digest, none is the caller (3.3)', async () => {
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

describe('authentication by stale knowledge reads the key or refuses (10.4)', () => {
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
  test.each<Row>([
    { name: 'settings in force have never arrived', now: { caps: null }, is: 'unavailable' },
    { name: 'settings are stale and can not be read', now: { settings: false }, is: 'unavailable' },
    {
      name: 'the same for an unknown key',
      now: { settings: false },
      token: 'x',
      is: 'unavailable',
    },
    {
      name: 'roles stale: for a key of roles',
      now: { roles: false },
      token: secretOf('c'),
      is: 'unavailable',
    },
    {
      name: 'roles stale: for another key',
      now: { roles: false },
      token: secretOf('d'),
      is: 'ada',
    },
    { name: 'keys stale: it is read', now: STALE, is: 'ada', reads: ['a'] },
    {
      name: 'keys stale: with the key that owns it',
      now: STALE,
      token: secretOf('b'),
      is: 'ada',
      reads: ['b', 'a'],
    },
    {
      name: 'keys stale: an unknown one may be new',
      now: STALE,
      token: secretOf('x'),
      is: 'unavailable',
    },
    { name: 'keys stale: a malformed token', now: STALE, token: '', is: 'unavailable' },
    {
      name: 'keys stale, no answer',
      now: { ...STALE, stored: null },
      is: 'unavailable',
      reads: ['a'],
    },
    {
      name: 'keys stale: disabled by now',
      now: { ...STALE, stored: [key('a', { disabled: true }, at(2))] },
      is: 'disabled',
      reads: ['a'],
    },
    {
      name: 'keys stale: gone by now',
      now: { ...STALE, stored: without('a') },
      is: 'unknown',
      reads: ['a'],
    },
    {
      name: 'keys stale: another of that name by now, with another secret',
      now: {
        ...STALE,
        stored: [key('a', { key: secretOf('other') }, { metadata: { uid: 'other' } })],
      },
      is: 'unknown',
      reads: ['a'],
    },
    {
      name: 'keys stale: its owner is gone',
      now: { ...STALE, stored: without('a') },
      token: secretOf('b'),
      is: 'owner',
      reads: ['b', 'a'],
    },
    {
      name: 'keys stale: of another identity by now',
      now: { ...STALE, stored: [key('a', { user: 'bob' }, at(2))] },
      is: 'bob',
      reads: ['a'],
    },
  ])('$name', async ({ now, token = secretOf('a'), is, reads = [] }) => {
    const stage = createTestAuthenticator(...keys())
    Object.assign(stage.now, now)
    expect(await stage.outcome(token)).toBe(is)
    expect(stage.reads).toEqual(reads)
  })

  test('keys are stale 15 seconds after the last proof, and not before', async () => {
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

  test('an elder key is read as well: it may be gone by now', async () => {
    const same = { key: secretOf('same') }
    const [elder, younger] = [key('a', { ...same, disabled: true }), key('b', same, {}, 1)]
    const { clock, now, outcome } = createTestAuthenticator(elder, younger)
    now.proven = null
    expect(await outcome(secretOf('same'))).toBe('disabled')
    now.stored = [younger]
    await clock.advance(1000)
    expect(await outcome(secretOf('same'))).toBe('ada')
  })

  test('an endless chain of owners is not read for ever', async () => {
    const line = Array.from({ length: 200 }, (_, place) =>
      key(`k${place}`, {}, ownedBy(`k${place + 1}`)),
    )
    const { now, reads, outcome } = createTestAuthenticator(...line)
    now.proven = null
    expect(await outcome(secretOf('k0'))).toBe('unavailable')
    expect(reads.length).toBeLessThan(100)
  })
})

describe('an earlier caller is authenticated again by name and uid, without the secret (13.4)', () => {
  const BEFORE = { ttl: 60, scope: SCOPE, groups: ['dev'] }
  interface Row {
    readonly name: string
    /** What the key has become; null = it is gone. */
    readonly now?: OwnedAccessKey | null
    readonly under?: Partial<Knowledge>
    readonly atS?: number
    /** Its end in seconds after t0, or why it is cut. */
    readonly is: number | string
  }
  const a = (spec: OwnedAccessKey['spec'] & object, parts: Parameters<typeof key>[2] = at(2)) =>
    key('a', { ...BEFORE, ...spec }, parts)
  test.each<Row>([
    { name: 'nothing changed', is: 60 },
    {
      name: 'it was used',
      now: a({ description: 'x' }, { ...at(2), status: { lastActivity: textAfter(9) } }),
      is: 60,
    },
    { name: 'it lives longer', now: a({ ttl: 90 }), is: 90 },
    { name: 'expired', atS: 60, is: 'expired' },
    {
      name: 'capped',
      under: { caps: { maxTtlSeconds: 5, loginTtlSeconds: null } },
      atS: 5,
      is: 'expired',
    },
    { name: 'disabled', now: a({ disabled: true }), is: 'revoked' },
    {
      name: 'being deleted',
      now: a({}, { metadata: { resourceVersion: '2', deletionTimestamp: textAfter(0) } }),
      is: 'revoked',
    },
    { name: 'gone', now: null, is: 'revoked' },
    {
      name: 'another of that name',
      now: a({}, { metadata: { uid: 'other', resourceVersion: '2' } }),
      is: 'revoked',
    },
    { name: 'of another user', now: a({ user: 'bob' }), is: 'changed' },
    { name: 'without an identity', now: a({ user: '' }), is: 'revoked' },
    { name: 'with other groups', now: a({ groups: [] }), is: 'changed' },
    {
      name: 'with a narrower scope',
      now: a({ scope: { clusters: [{ cluster: 'x' }] } }),
      is: 'changed',
    },
    { name: 'keys stale: it is read', under: STALE, is: 60 },
    {
      name: 'keys stale, disabled by now',
      under: { ...STALE, stored: [a({ disabled: true })] },
      is: 'revoked',
    },
    { name: 'keys stale, no answer', under: { ...STALE, stored: null }, is: 'stale' },
    { name: 'settings stale', under: { settings: false }, is: 'stale' },
    { name: 'the rules of its scope changed', under: { meaning: {} }, is: 'changed' },
    {
      name: 'the rules of its scope changed, and keys are stale',
      under: { ...STALE, meaning: {} },
      is: 'changed',
    },
  ])('$name', async ({ now, under, atS = 0, is }) => {
    const stage = createTestAuthenticator(key('a', BEFORE))
    const before = await stage.callers.authenticate(secretOf('a'))
    if (!before.ok) throw new Error('it is no caller to begin with')
    stage.now.proven = { wallMs: t0 + atS * 1000, monotonicMs: atS * 1000 }
    Object.assign(stage.now, under)
    if (now) stage.index.store.put(now)
    if (now === null) stage.index.store.remove(key('a', BEFORE, at(3)))
    await stage.clock.advance(atS * 1000)
    const found = await stage.callers.reauthenticate(before.caller)
    const { expiresMs } = found.ok ? found.caller : { expiresMs: null }
    expect(found.ok ? ((expiresMs ?? 0) - t0) / 1000 : found.because).toBe(is)
  })

  test('a change of the rules of scopes does not concern a key without one', async () => {
    const stage = createTestAuthenticator(key('a'))
    const before = await stage.callers.authenticate(secretOf('a'))
    if (!before.ok) throw new Error('it is no caller to begin with')
    stage.now.meaning = {}
    expect(await stage.callers.reauthenticate(before.caller)).toMatchObject({ ok: true })
  })

  test('a caller stays the same from check to check', async () => {
    const stage = createTestAuthenticator(key('a', { scope: SCOPE }))
    const before = await stage.callers.authenticate(secretOf('a'))
    if (!before.ok) throw new Error('it is no caller to begin with')
    const now = await stage.callers.reauthenticate(before.caller)
    if (!now.ok) throw new Error('it was cut')
    expect(await stage.callers.reauthenticate(now.caller)).toMatchObject({ ok: true })
  })

  test('a caller ends with the owner of its key, and with an elder key that appears', async () => {
    const stage = createTestAuthenticator(
      key('owner'),
      key('a', {}, ownedBy('owner')),
      key('b', {}, {}, 1),
    )
    const [a1, b1] = await Promise.all(
      ['a', 'b'].map((name) => stage.callers.authenticate(secretOf(name))),
    )
    if (!a1?.ok || !b1?.ok) throw new Error('they are no callers to begin with')
    stage.index.store.put(key('owner', { disabled: true }, at(2)))
    stage.index.store.put(key('elder', { key: secretOf('b') }, at(3)))
    expect(await stage.callers.reauthenticate(a1.caller)).toEqual({ ok: false, because: 'revoked' })
    expect(await stage.callers.reauthenticate(b1.caller)).toEqual({ ok: false, because: 'revoked' })
  })
})
