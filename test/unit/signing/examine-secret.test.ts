import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Secret } from '../../../src/api/objects.ts'
import { examineSigningKey } from '../../../src/signing/signing-key-secret.ts'
import { CREATED_MS, newPem, publicJwkOf, signingKeySecret } from './signing-key-builder.ts'

const EC = newPem()
const RSA = newPem('RS256')
const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64')
const pemOf = (der: Buffer): string =>
  `-----BEGIN PRIVATE KEY-----\n${base64(der)}\n-----END PRIVATE KEY-----\n`
const derOf = (pem: string): Buffer =>
  createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' })

/** A key with the private scalar of one key and the public point of another. */
function mismatched(): string {
  const der = derOf(EC)
  const other = derOf(newPem())
  // An uncompressed point of 65 bytes ends the encoding.
  return pemOf(Buffer.concat([der.subarray(0, -65), other.subarray(-65)]))
}

/** An RSA key with one flipped bit in each of two private members. */
function damagedRsa(): string {
  const der = derOf(RSA)
  const { d = '' } = createPrivateKey(RSA).export({ format: 'jwk' })
  const place = der.indexOf(Buffer.from(d, 'base64url')) + 40
  der[place] = (der[place] ?? 0) ^ 1
  // OpenSSL signs with the CRT members, which come after d.
  const { dp = '' } = createPrivateKey(RSA).export({ format: 'jwk' })
  const other = der.indexOf(Buffer.from(dp, 'base64url')) + 20
  der[other] = (der[other] ?? 0) ^ 1
  return pemOf(der)
}

test.each([
  { name: 'ES256', pem: EC },
  { name: 'RS256 of 3072 bits', pem: RSA },
])('a valid Secret, $name (7.3)', ({ pem }) => {
  const { secret, privateKey } = examineSigningKey(signingKeySecret(pem, 12))
  expect(secret).toEqual({
    name: 'platform-signing-key-12',
    uid: 'uid-12',
    resourceVersion: '12',
    generation: 12,
    kid: publicJwkOf(pem).kid,
    createdMs: CREATED_MS,
    isDeleting: false,
    jwk: publicJwkOf(pem),
    fault: null,
  })
  expect(privateKey?.type).toBe('private')
})

const HOLDS_NONE = 'holds no private key in PKCS #8 PEM under private-key.pem'
const UNFIT = 'holds a key that is neither an EC key on P-256 nor an RSA key of 2048 to 4096 bits'

test.each<{ readonly name: string; readonly data: Record<string, string>; readonly fault: string }>(
  [
    { name: 'an empty key', data: { 'private-key.pem': '' }, fault: HOLDS_NONE },
    {
      name: 'text that is not PEM',
      data: { 'private-key.pem': base64('secret') },
      fault: HOLDS_NONE,
    },
    {
      name: 'a truncated PEM',
      data: { 'private-key.pem': base64(EC.slice(0, 100)) },
      fault: HOLDS_NONE,
    },
    {
      name: 'a PEM with a changed character',
      data: { 'private-key.pem': base64(EC.replace(/\n(.{10})./, '\n$1!')) },
      fault: HOLDS_NONE,
    },
    {
      name: 'a public key',
      data: {
        'private-key.pem': base64(createPublicKey(EC).export({ type: 'spki', format: 'pem' })),
      },
      fault: HOLDS_NONE,
    },
    {
      name: 'an encrypted key',
      data: {
        'private-key.pem': base64(
          createPrivateKey(EC).export({
            type: 'pkcs8',
            format: 'pem',
            cipher: 'aes-256-cbc',
            passphrase: 'x',
          }),
        ),
      },
      fault: HOLDS_NONE,
    },
    ...(
      [
        ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
        [
          'a curve that JWK does not have',
          generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' }),
        ],
        ['Ed25519', generateKeyPairSync('ed25519')],
        ['RSA of 1024 bits', generateKeyPairSync('rsa', { modulusLength: 1024 })],
        ['RSA-PSS', generateKeyPairSync('rsa-pss', { modulusLength: 2048 })],
      ] as const
    ).map(([name, { privateKey }]) => ({
      name,
      data: { 'private-key.pem': base64(privateKey.export({ type: 'pkcs8', format: 'pem' })) },
      fault: UNFIT,
    })),
    {
      name: 'a private scalar that does not match the public point',
      data: { 'private-key.pem': base64(mismatched()) },
      fault: 'holds a private key that does not fit its public half',
    },
    {
      name: 'a damaged RSA key',
      data: { 'private-key.pem': base64(damagedRsa()), kid: base64(publicJwkOf(RSA).kid) },
      fault: 'holds a private key that does not fit its public half',
    },
    {
      name: 'another kid',
      data: { kid: base64('A'.repeat(43)) },
      fault: 'names a kid that does not match its key',
    },
    { name: 'an empty kid', data: { kid: '' }, fault: 'names a kid that does not match its key' },
  ],
)('a corrupt Secret, $name (7.3, 3.5)', ({ data, fault }) => {
  const { secret, privateKey } = examineSigningKey(signingKeySecret(EC, 1, data))
  expect({ fault: secret.fault, jwk: secret.jwk, privateKey }).toEqual({
    fault,
    jwk: null,
    privateKey: null,
  })
})

test.each([
  'platform-signing-key-',
  'platform-signing-key-0',
  'platform-signing-key-01',
  'platform-signing-key-1x',
  'platform-signing-key-1e3',
  'platform-signing-key-1234567890',
  'x-platform-signing-key-1',
])('the name %s has no generation (7.3)', (name) => {
  const { metadata, ...rest } = signingKeySecret(EC, 1)
  const { secret, privateKey } = examineSigningKey({ ...rest, metadata: { ...metadata, name } })
  expect(secret).toMatchObject({
    generation: null,
    jwk: null,
    fault: 'is not named platform-signing-key-<number>',
  })
  expect(privateKey).toBeNull()
})

test('a Secret without data that is being deleted (7.3)', () => {
  const { data, metadata, ...rest } = signingKeySecret(EC, 1)
  const object: Secret = {
    ...rest,
    metadata: { ...metadata, deletionTimestamp: '2026-11-22T10:00:00Z' },
  }
  expect(data).toBeDefined()
  expect(examineSigningKey(object).secret).toMatchObject({
    kid: null,
    isDeleting: true,
    fault: 'has no private-key.pem',
  })
})
