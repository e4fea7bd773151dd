import { type JSONWebKeySet, compactVerify, createLocalJWKSet } from 'jose'
import { describe, expect, test } from 'vitest'
import type { ConfigMap, Secret } from '../../../src/api/objects.ts'
import type { PublishedKeyRecord } from '../../../src/domain/signingkey/signing-key.ts'
import type { TokenClaims } from '../../../src/domain/token/token-claims.ts'
import { Store, fullObject } from '../../../src/kube/informer/store.ts'
import { createKeyring } from '../../../src/signing/keyring.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import {
  CREATED_MS,
  jwksConfigMap,
  newPem,
  noteOf,
  publicJwkOf,
  signingKeySecret,
} from './signing-key-builder.ts'

const DAY_MS = 86_400_000
const A = newPem()
const B = newPem()
const R = newPem('RS256')
const kidOf = (pem: string): string => publicJwkOf(pem).kid

const claims = { iss: 'https://platform', sub: 'user:ä', jti: 'u-1', exp: 1 } as TokenClaims

function keyringWithStores() {
  const clock = manualClock(CREATED_MS + DAY_MS)
  const secrets = new Store(fullObject<Secret>)
  const records = new Store(fullObject<ConfigMap>)
  const { log, lines } = memoryLog()
  const keyring = createKeyring({ secrets, records, namespace: 'platform-system', clock, log })
  const notifiedKids: (string | null)[] = []
  keyring.subscribe(() => notifiedKids.push(keyring.current()?.kid ?? null))
  let revision = 100
  const publish = (pems: readonly string[], notes: readonly PublishedKeyRecord[]): void => {
    revision += 1
    records.put(jwksConfigMap(pems, notes, revision))
  }
  return { clock, secrets, records, keyring, notifiedKids, lines, publish }
}

describe('the keyring signs', () => {
  test.each([
    { name: 'ES256', pem: A },
    { name: 'RS256', pem: R },
  ])('$name: a header, the exact payload, and a valid signature (7.1)', async ({ name, pem }) => {
    const { secrets, keyring, publish } = keyringWithStores()
    secrets.put(signingKeySecret(pem, 1))
    publish([pem], [noteOf(pem, 1)])
    expect(keyring.current()).toEqual({ kid: kidOf(pem), algorithm: name })
    const signed = await keyring.sign(claims)
    const [header = '', payload = '', signature] = signed?.token.split('.') ?? []
    const text = (part: string): string => Buffer.from(part, 'base64url').toString()
    expect(text(header)).toBe(JSON.stringify({ alg: name, kid: kidOf(pem), typ: 'JWT' }))
    expect(text(payload)).toBe(JSON.stringify(claims))
    expect(signature).toBeDefined()
    const set = { keys: [publicJwkOf(pem)] } as JSONWebKeySet
    await expect(compactVerify(signed?.token ?? '', createLocalJWKSet(set))).resolves.toBeDefined()
  })

  test.each<{
    readonly name: string
    readonly held: readonly string[]
    readonly published: readonly string[]
    readonly notes: readonly PublishedKeyRecord[]
  }>([
    { name: 'there is no key', held: [], published: [], notes: [] },
    { name: 'the key is not published', held: [A], published: [B], notes: [noteOf(B, 2)] },
    { name: 'the key is published without a note', held: [A], published: [A], notes: [] },
    {
      name: 'the key has a note but is not published',
      held: [A],
      published: [],
      notes: [noteOf(A, 1)],
    },
    { name: 'the Secret is lost', held: [], published: [A], notes: [noteOf(A, 1)] },
    {
      name: 'the key is withdrawn',
      held: [A],
      published: [A],
      notes: [noteOf(A, 1, { withdrawnMs: CREATED_MS })],
    },
  ])('nothing when $name (7.3)', async ({ held, published, notes }) => {
    const { secrets, keyring, publish } = keyringWithStores()
    for (const [index, pem] of held.entries()) secrets.put(signingKeySecret(pem, index + 1))
    publish(published, notes)
    expect(keyring.current()).toBeNull()
    expect(await keyring.sign(claims)).toBeNull()
  })

  test('nothing without a ConfigMap, or after its deletion (7.3)', async () => {
    const { secrets, records, keyring, publish } = keyringWithStores()
    secrets.put(signingKeySecret(A, 1))
    expect(await keyring.sign(claims)).toBeNull()
    publish([A], [noteOf(A, 1)])
    expect(await keyring.sign(claims)).not.toBeNull()
    records.remove(jwksConfigMap([], [], 0))
    expect(await keyring.sign(claims)).toBeNull()
  })

  test.each([
    { name: 'withdrawn', after: [noteOf(A, 1, { withdrawnMs: CREATED_MS })] },
    { name: 'removed from the notes', after: [] },
  ])('nothing with a key that is $name meanwhile (7.3)', async ({ after }) => {
    const { secrets, keyring, publish } = keyringWithStores()
    secrets.put(signingKeySecret(A, 1))
    publish([A], [noteOf(A, 1)])
    const signing = keyring.sign(claims)
    publish([], after)
    expect(await signing).toBeNull()
  })

  test('nothing with a Secret that is being deleted (7.3)', () => {
    const { secrets, keyring, publish } = keyringWithStores()
    const { metadata, ...rest } = signingKeySecret(A, 1)
    secrets.put({ ...rest, metadata: { ...metadata, deletionTimestamp: '2026-11-21T10:00:00Z' } })
    publish([A], [noteOf(A, 1)])
    expect(keyring.current()).toBeNull()
    expect(keyring.faults()).toEqual([])
  })
})

describe('the keyring reports', () => {
  test('each change of the signing key once (7.3)', () => {
    const { clock, secrets, keyring, notifiedKids, publish } = keyringWithStores()
    secrets.put(signingKeySecret(A, 1))
    publish([A], [noteOf(A, 1)])
    secrets.put(signingKeySecret(B, 2))
    const useFromMs = clock.nowMs() + DAY_MS
    publish([A, B], [noteOf(A, 1), noteOf(B, 2, { useFromMs })])
    keyring.review()
    expect(notifiedKids).toEqual([kidOf(A)])
    clock.setNow(useFromMs)
    keyring.review()
    keyring.review()
    expect(notifiedKids).toEqual([kidOf(A), kidOf(B)])
  })

  test('the withdrawal of a key that does not sign (7.3)', () => {
    const { secrets, keyring, notifiedKids, publish } = keyringWithStores()
    secrets.put(signingKeySecret(B, 2))
    publish([A, B], [noteOf(A, 1), noteOf(B, 2)])
    expect(keyring.isWithdrawn(kidOf(A))).toBe(false)
    publish([B], [noteOf(A, 1, { withdrawnMs: CREATED_MS }), noteOf(B, 2)])
    expect(keyring.isWithdrawn(kidOf(A))).toBe(true)
    expect(notifiedKids).toEqual([kidOf(B), kidOf(B)])
  })

  test('the loss of the last key (7.3)', () => {
    const { secrets, notifiedKids, publish } = keyringWithStores()
    secrets.put(signingKeySecret(A, 1))
    publish([A], [noteOf(A, 1)])
    secrets.remove(signingKeySecret(A, 1))
    expect(notifiedKids).toEqual([kidOf(A), null])
  })

  test('a corrupt Secret in its faults and in the log, until it is deleted (7.3)', () => {
    const { secrets, keyring, lines, publish } = keyringWithStores()
    const corrupt = signingKeySecret(A, 1, { kid: '' })
    secrets.put(corrupt)
    publish([A], [noteOf(A, 1)])
    expect(keyring.faults()).toEqual([
      'Secret platform-signing-key-1 names a kid that does not match its key; nothing is signed with it.',
    ])
    expect(lines.filter(({ level }) => level === 'error')).toEqual([
      {
        level: 'error',
        fields: {
          object: { name: 'platform-signing-key-1', uid: 'uid-1', resourceVersion: '1' },
          because: 'names a kid that does not match its key',
        },
        sentence: 'signing key is corrupt',
      },
    ])
    secrets.remove(corrupt)
    expect(keyring.faults()).toEqual([])
  })

  test('the ends of published keys, including lost and excluding withdrawn ones (8.4)', () => {
    const { secrets, keyring, publish } = keyringWithStores()
    secrets.put(signingKeySecret(B, 2))
    publish([A, B], [noteOf(A, 1), noteOf(B, 2), noteOf(R, 3, { withdrawnMs: CREATED_MS })])
    const endMs = CREATED_MS + 30 * DAY_MS
    expect(keyring.lives()).toEqual([
      { kid: kidOf(A), createdMs: CREATED_MS, endMs },
      { kid: kidOf(B), createdMs: CREATED_MS, endMs },
    ])
  })
})

test('the keyring uses keys that exist at its start', () => {
  const { secrets, records, clock, publish } = keyringWithStores()
  secrets.put(signingKeySecret(A, 1))
  publish([A], [noteOf(A, 1)])
  const { log } = memoryLog()
  expect(
    createKeyring({ secrets, records, namespace: 'platform-system', clock, log }).current()?.kid,
  ).toBe(kidOf(A))
})

test('canary: the keyring neither returns nor logs private keys (3.5)', () => {
  const { secrets, keyring, lines, publish } = keyringWithStores()
  for (const [index, pem] of [A, R].entries()) secrets.put(signingKeySecret(pem, index + 1))
  secrets.put(signingKeySecret(B, 3, { kid: '' }))
  publish([A, R, B], [noteOf(A, 1), noteOf(R, 2), noteOf(B, 3)])
  const shown = JSON.stringify([
    keyring.secrets(),
    keyring.published(),
    keyring.faults(),
    keyring.lives(),
    lines,
  ])
  for (const pem of [A, B, R]) {
    const body = pem.split('\n').slice(1, -2)
    expect(body.filter((line) => shown.includes(line))).toEqual([])
    expect(shown).not.toContain('PRIVATE')
  }
})
