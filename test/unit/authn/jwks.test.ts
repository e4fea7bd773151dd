import { type JsonWebKey, generateKeyPairSync } from 'node:crypto'
import { calculateJwkThumbprint, importJWK } from 'jose'
import { describe, expect, test } from 'vitest'
import { JWKS_CONFIG_MAP } from '../../../src/api/names.ts'
import type { ConfigMap } from '../../../src/api/objects.ts'
import { checkJwk, followJwks, parseJwks } from '../../../src/authn/jwks.ts'
import { jwksText } from '../../../src/domain/signingkey/published-keys.ts'
import { Store, fullObject } from '../../../src/kube/informer/store.ts'
import { memoryLog } from '../../support/memory-log.ts'

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const EC = ec.publicKey.export({ format: 'jwk' })
const RSA = rsa.publicKey.export({ format: 'jwk' })
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']

const jwkOf = (value: unknown) => {
  const checked = checkJwk(value)
  if (!checked.ok) throw new Error(checked.because)
  return checked.jwk
}

/** The same bytes with one of them changed. */
function flipped(text: string | undefined, place: number): string {
  const bytes = Buffer.from(text ?? '', 'base64url')
  bytes[place] = (bytes[place] ?? 0) ^ 2
  return bytes.toString('base64url')
}

const bytes = (text: string | undefined) => Buffer.from(text ?? '', 'base64url')

describe('a key that is published (7.3, D6)', () => {
  test.each([
    {
      name: 'EC on P-256',
      key: EC,
      members: ['kty', 'crv', 'x', 'y', 'kid', 'alg', 'use'],
      alg: 'ES256',
    },
    {
      name: 'RSA of 2048 bits',
      key: RSA,
      members: ['kty', 'n', 'e', 'kid', 'alg', 'use'],
      alg: 'RS256',
    },
  ])(
    '$name: public members in a fixed order, thumbprint, alg, use',
    async ({ key, members, alg }) => {
      const jwk = jwkOf(key)
      expect(Object.keys(jwk)).toEqual(members)
      expect(jwk).toMatchObject({ alg, use: 'sig' })
      expect(jwk.kid).toBe(
        await calculateJwkThumbprint(key as Parameters<typeof calculateJwkThumbprint>[0]),
      )
      await expect(importJWK(jwk)).resolves.toBeDefined()
      expect(jwkOf(jwk)).toEqual(jwk)
    },
  )

  test.each([
    { name: 'EC', key: ec.privateKey.export({ format: 'jwk' }) },
    { name: 'RSA', key: rsa.privateKey.export({ format: 'jwk' }) },
  ])('$name: private members are left out', ({ key }) => {
    const jwk = jwkOf({ ...key, k: 'AAAA', oth: [] })
    expect(PRIVATE_MEMBERS.filter((member) => Object.hasOwn(jwk, member))).toEqual([])
  })

  test('unknown members are left out (D6)', () => {
    const odd = { x5c: ['nonsense'], x5u: 'http://127.0.0.1', key_ops: ['sign'], ext: true }
    expect(jwkOf({ ...EC, ...odd })).toEqual(jwkOf(EC))
  })
})

describe('a key that is not published (7.3, D6)', () => {
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({
    format: 'jwk',
  })
  const rsaOf = (modulusLength: number, publicExponent = 65537) =>
    generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey.export({
      format: 'jwk',
    })
  const okp = (kind: 'ed25519' | 'x25519') =>
    (kind === 'ed25519'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('x25519')
    ).publicKey.export({ format: 'jwk' })
  const UNFIT = 'is neither an EC key on P-256 nor an RSA key of 2048 to 4096 bits'
  test.each<{ readonly name: string; readonly key: unknown; readonly because?: string }>([
    { name: 'null', key: null, because: 'is not a JSON object' },
    { name: 'a string', key: 'key', because: 'is not a JSON object' },
    { name: 'a list', key: [], because: 'is not a JSON object' },
    { name: 'no kty', key: { ...EC, kty: undefined } },
    { name: 'an unknown kty', key: { ...EC, kty: 'AKP' } },
    { name: 'a secret', key: { kty: 'oct', k: 'AAAA' } },
    { name: 'Ed25519', key: okp('ed25519') },
    { name: 'X25519', key: okp('x25519') },
    { name: 'P-384', key: p384 },
    { name: 'P-384 declared as P-256', key: { ...p384, crv: 'P-256' } },
    {
      name: 'secp256k1',
      key: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({
        format: 'jwk',
      }),
    },
    { name: 'a point off the curve', key: { ...EC, x: flipped(EC.x, 7) } },
    { name: 'a point of zeros', key: { ...EC, x: 'A'.repeat(43), y: 'A'.repeat(43) } },
    { name: 'a short x', key: { ...EC, x: bytes(EC.x).subarray(1).toString('base64url') } },
    {
      name: 'a long y',
      key: { ...EC, y: Buffer.concat([Buffer.alloc(1), bytes(EC.y)]).toString('base64url') },
    },
    { name: 'base64 with padding', key: { ...EC, x: `${EC.x}=` } },
    { name: 'x as a number', key: { ...EC, x: 5 } },
    { name: 'no y', key: { kty: 'EC', crv: 'P-256', x: EC.x } },
    { name: 'RSA of 1024 bits', key: rsaOf(1024) },
    { name: 'RSA of 2047 bits', key: { ...RSA, n: `A${RSA.n?.slice(1)}` } },
    {
      name: 'RSA of 8192 bits',
      key: { ...RSA, n: Buffer.alloc(1024, 0xff).toString('base64url') },
    },
    {
      name: 'an even modulus',
      key: {
        ...RSA,
        n: Buffer.concat([bytes(RSA.n).subarray(0, -1), Buffer.of(2)]).toString('base64url'),
      },
    },
    {
      name: 'a modulus with a leading zero',
      key: { ...RSA, n: Buffer.concat([Buffer.alloc(1), bytes(RSA.n)]).toString('base64url') },
    },
    { name: 'exponent 3', key: rsaOf(2048, 3) },
    { name: 'no exponent', key: { kty: 'RSA', n: RSA.n } },
    {
      name: 'an exponent beyond an int',
      key: { ...RSA, e: Buffer.alloc(9, 0xff).toString('base64url') },
    },
    {
      name: 'another kid',
      key: { ...EC, kid: 'k1' },
      because: 'has the wrong kid',
    },
    {
      name: 'a kid as a number',
      key: { ...EC, kid: 1 },
      because: 'has the wrong kid',
    },
    {
      name: 'another alg',
      key: { ...EC, alg: 'ES384' },
      because: 'has the wrong alg',
    },
    {
      name: 'the alg of another key type',
      key: { ...RSA, alg: 'ES256' },
      because: 'has the wrong alg',
    },
    {
      name: 'another use',
      key: { ...EC, use: 'enc' },
      because: 'has the wrong use',
    },
  ])('$name', ({ key, because = UNFIT }) => {
    expect(checkJwk(key)).toEqual({ ok: false, because })
  })
})

describe('a key set (7.3, D6)', () => {
  const sound = [jwkOf(EC), jwkOf(RSA)]

  test('parses to what was written', () => {
    expect(parseJwks(jwksText(sound))).toEqual({ ok: true, jwks: sound, faults: [] })
  })

  test.each([undefined, '', '{', 'null', '[]', '{}', '{"keys":{}}', '{"keys":null}'])(
    'is rejected when malformed: %s',
    (text) => {
      expect(parseJwks(text)).toEqual({ ok: false, because: 'is not a JWK Set: {"keys": [...]}' })
    },
  )

  test('publishes the valid keys and leaves the others out', () => {
    const keys = [null, sound[0], EC, sound[0], { ...sound[1], d: 'AAAA' }]
    expect(parseJwks(JSON.stringify({ keys }))).toEqual({
      ok: true,
      jwks: sound,
      faults: [
        'entry 0 is not a JSON object',
        'entry 2 has no kid',
        'entry 3 has the kid of another entry',
      ],
    })
  })
})

describe('the published key set (7.3)', () => {
  const recordOf = (text: string | null, revision: number): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: JWKS_CONFIG_MAP,
      namespace: 'platform-system',
      uid: 'u-1',
      resourceVersion: String(revision),
      creationTimestamp: '2026-11-21T10:00:00Z',
    },
    ...(text === null ? {} : { data: { 'jwks.json': text } }),
  })

  test('follows the ConfigMap, and keeps the last valid set', () => {
    const records = new Store(fullObject<ConfigMap>)
    const { log, lines } = memoryLog()
    const jwks = followJwks(records, 'platform-system', log)
    expect(jwks.current()).toBeNull()
    const one = jwksText([jwkOf(EC)])
    records.put(recordOf(one, 1))
    expect(jwks.current()).toBe(one)
    expect(lines).toEqual([])
    for (const [index, text] of ['{', null].entries()) {
      records.put(recordOf(text, index + 2))
      expect(jwks.current()).toBe(one)
    }
    expect(lines.map(({ level }) => level)).toEqual(['error', 'error'])
    records.remove(recordOf(null, 4))
    expect(jwks.current()).toBe(one)
    const withOdd = JSON.stringify({ keys: [{ ...jwkOf(RSA), d: 'AAAA' }, { kty: 'AKP' }] })
    records.put(recordOf(withOdd, 5))
    expect(jwks.current()).toBe(jwksText([jwkOf(RSA)]))
    records.put(recordOf('{"keys":[]}', 6))
    expect(jwks.current()).toBe('{"keys":[]}')
  })

  test('is there from the first list', () => {
    const records = new Store(fullObject<ConfigMap>)
    records.put(recordOf(jwksText([jwkOf(EC)]), 1))
    expect(followJwks(records, 'platform-system', memoryLog().log).current()).toBe(
      jwksText([jwkOf(EC)]),
    )
  })
})

test('canary: contains nothing of a private key (3.5, D6)', () => {
  const { d = 'none' } = ec.privateKey.export({ format: 'jwk' })
  const text = JSON.stringify({ keys: [{ ...jwkOf(EC), d }] satisfies JsonWebKey[] })
  const parsed = parseJwks(text)
  expect(JSON.stringify(parsed)).not.toContain(d)
})
