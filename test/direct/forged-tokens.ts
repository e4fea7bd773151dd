// Tokens as an attacker, or a careless issuer, would make them: any header, any claims, any signature.
import {
  type KeyObject,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  sign,
} from 'node:crypto'

/** A private key under the name that its tokens carry. */
export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
}

/** Members by name; `undefined` takes one away. */
export type Members = Readonly<Record<string, unknown>>

/** Signs what stands before the second dot; the result is base64url. */
export type Signer = (text: string) => string

/** Signs with ES256. */
export const es256 =
  ({ privateKey }: Pick<SigningKey, 'privateKey'>): Signer =>
  (text) =>
    sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString(
      'base64url',
    )

/** Signs with EdDSA. */
export const eddsa =
  (privateKey: KeyObject): Signer =>
  (text) =>
    sign(null, Buffer.from(text), privateKey).toString('base64url')

/** Signs with HS256. */
export const hs256 =
  (secret: string): Signer =>
  (text) =>
    createHmac('sha256', secret).update(text).digest('base64url')

/** A token by that key, as it should be but for what is given. */
export function forge(
  key: SigningKey,
  claims: Members,
  {
    header = {},
    signer = es256(key),
  }: { readonly header?: Members; readonly signer?: Signer } = {},
): string {
  const protectedHeader = { alg: 'ES256', typ: 'JWT', kid: key.kid, ...header }
  const text = `${base64url(protectedHeader)}.${base64url(claims)}`
  return `${text}.${signer(text)}`
}

/** The claims of a token, unverified. */
export function claimsIn(token: string): Members {
  const [, payload = ''] = token.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Members
}

function base64url(members: Members): string {
  return Buffer.from(JSON.stringify(members)).toString('base64url')
}

// What nobody may get in with: tables of claims, of signatures and of names.

/** A token that a server refuses, by what it differs in from a good one. */
export interface BadClaims {
  readonly name: string
  readonly claims: Members
}

/** A token that a server refuses for how it is signed. */
export interface BadSignature {
  readonly name: string
  readonly token: string
}

const DAY = 86_400

/** Claims that are wrong at a server of that cluster; `now` in seconds, `own` the platform claim. */
export function badClaims(issuer: string, cluster: string, now: number, own: Members): BadClaims[] {
  const { uid, name, scope } = own
  const from = (seconds: number, life = 60): Members => {
    const start = now + seconds
    return { iat: start, nbf: start, exp: start + life }
  }
  return [
    { name: 'expired', claims: { exp: now - 1 } },
    { name: 'without exp', claims: { exp: undefined } },
    { name: 'exp as text', claims: { exp: String(now + 60) } },
    { name: 'exp beyond all times', claims: { exp: 1e308 } },
    { name: 'exp null', claims: { exp: null } },
    { name: 'a second too long', claims: from(-60, DAY + 1) },
    { name: 'too long, iat in the future', claims: { iat: now + 9 * DAY, exp: now + 9 * DAY } },
    { name: 'too long, iat and nbf in the future', claims: from(9 * DAY) },
    { name: 'without iat', claims: { iat: undefined } },
    { name: 'iat as text', claims: { iat: String(now) } },
    { name: 'without nbf', claims: { nbf: undefined } },
    { name: 'nbf before iat', claims: { nbf: 0 } },
    { name: 'without jti', claims: { jti: undefined } },
    { name: 'an empty jti', claims: { jti: '' } },
    { name: 'a jti that no deny list can hold', claims: { jti: 'uid-1' } },
    { name: 'a list of jti', claims: { jti: [randomUUID()] } },
    { name: 'without sub', claims: { sub: undefined } },
    { name: 'an empty sub', claims: { sub: '' } },
    { name: 'sub as a number', claims: { sub: 5 } },
    { name: 'groups as text', claims: { groups: 'group:dev' } },
    { name: 'a group that is a number', claims: { groups: [5] } },
    { name: 'groups within groups', claims: { groups: [['group:dev']] } },
    { name: 'without token_use', claims: { token_use: undefined } },
    { name: 'another token_use', claims: { token_use: 'access' } },
    { name: 'without the platform claim', claims: { 'platform.sh': undefined } },
    { name: 'a platform claim that is text', claims: { 'platform.sh': 'x' } },
    { name: 'without a scope', claims: { 'platform.sh': { uid, name } } },
    { name: 'an empty scope', claims: { 'platform.sh': { uid, name, scope: '' } } },
    { name: 'a scope that is no text', claims: { 'platform.sh': { uid, name, scope: {} } } },
    { name: 'without a uid', claims: { 'platform.sh': { name, scope } } },
    { name: 'an empty uid', claims: { 'platform.sh': { uid: '', name, scope } } },
    { name: 'an empty name', claims: { 'platform.sh': { uid, name: '', scope } } },
    { name: 'for another cluster', claims: { aud: [`${issuer}/clusters/paris`] } },
    { name: 'for part of the name', claims: { aud: [`${issuer}/clusters/${cluster.slice(1)}`] } },
    { name: 'scoped', claims: { aud: [`${issuer}/scoped`] } },
    { name: 'scoped to this cluster', claims: { aud: [`${issuer}/scoped/clusters/${cluster}`] } },
    { name: 'for another audience', claims: { aud: ['https://kubernetes.default.svc'] } },
    { name: 'without audience', claims: { aud: undefined } },
    { name: 'for nobody', claims: { aud: [] } },
    { name: 'by an issuer with a slash more', claims: { iss: `${issuer}/` } },
    { name: 'by another issuer', claims: { iss: 'https://kubernetes.default.svc.cluster.local' } },
    { name: 'without issuer', claims: { iss: undefined } },
  ]
}

/** Tokens with good claims, of which only the key's own holder could make one. */
export function badSignatures(key: SigningKey, claims: Members): readonly BadSignature[] {
  const { privateKey: strange } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const stranger = { kid: key.kid, privateKey: strange }
  const jwk = createPublicKey(strange).export({ format: 'jwk' })
  const ed25519 = generateKeyPairSync('ed25519').privateKey
  const publicKey = createPublicKey(key.privateKey)
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const publicJwk = JSON.stringify(publicKey.export({ format: 'jwk' }))

  const own = (header: Members = {}): string => forge(key, claims, { header })
  const foreign = (header: Members = {}): string => forge(stranger, claims, { header })
  const hmac = (secret: string): string =>
    forge(key, claims, { header: { alg: 'HS256' }, signer: hs256(secret) })
  const [header = '', payload = '', signature = ''] = own().split('.')
  const eve = Buffer.from(JSON.stringify({ ...claims, sub: 'user:eve' })).toString('base64url')
  const flipped = Buffer.from(signature, 'base64url').map((byte, at) =>
    at === 9 ? byte ^ 1 : byte,
  )

  return [
    { name: 'a changed payload', token: [header, eve, signature].join('.') },
    { name: 'a changed signature', token: [header, payload, encodedBytes(flipped)].join('.') },
    { name: 'no signature', token: `${header}.${payload}.` },
    { name: 'two signatures', token: `${header}.${payload}.${signature}.${signature}` },
    { name: 'a stranger’s key under the same kid', token: foreign() },
    { name: 'a stranger’s key without kid', token: foreign({ kid: undefined }) },
    { name: 'a stranger’s key in the header', token: foreign({ jwk }) },
    { name: 'a key set in the header', token: foreign({ jku: 'https://127.0.0.1:1/keys' }) },
    { name: 'kid as a path', token: foreign({ kid: '../../dev/null' }) },
    { name: 'kid as a number', token: own({ kid: 5 }) },
    {
      name: 'alg none',
      token: forge(key, claims, { header: { alg: 'none' }, signer: () => '' }),
    },
    { name: 'alg None, signed', token: own({ alg: 'None' }) },
    { name: 'no alg', token: own({ alg: undefined }) },
    { name: 'HS256 with the public key as PEM', token: hmac(publicPem) },
    { name: 'HS256 with the public key as JWK', token: hmac(publicJwk) },
    {
      name: 'EdDSA',
      token: forge(key, claims, { header: { alg: 'EdDSA' }, signer: eddsa(ed25519) }),
    },
    { name: 'RS256 over an ES256 signature', token: own({ alg: 'RS256' }) },
    { name: 'ES384 over an ES256 signature', token: own({ alg: 'ES384' }) },
    { name: 'an unknown crit', token: own({ crit: ['x'], x: 1 }) },
    { name: 'an unencoded payload', token: own({ b64: false, crit: ['b64'] }) },
    {
      name: 'JSON serialisation',
      token: JSON.stringify({ protected: header, payload, signature }),
    },
  ]
}

/** Users and groups that somebody might take for somebody else. */
export const HOSTILE_NAMES: readonly string[] = [
  'system:masters',
  'system:admin',
  'system:serviceaccount:kube-system:default',
  'System:Masters',
  'user:system:masters',
  'platform:user:eve',
  'user:a#b',
  'user:a:b:c',
  'user:',
  ':',
  ' ',
  ' user:ada',
  'user:ada ',
  'user:a,b',
  'user:a/b',
  'user:../x',
  'user:a%2fb',
  'user:a\nb',
  'user:a\0b',
  'user:"ada"',
  "user:'ada'",
  'user:ädä',
  'user:адa',
  'user:\u200Bada',
  'user:\u00A0ada',
  'user:\u202Eada',
  'user:\uD800',
  'user:😀',
  '__proto__',
  'constructor',
  'user:__proto__',
  'null',
  'user:$(id)',
  'user:`id`',
  '*',
  'token:*',
]

const encodedBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
