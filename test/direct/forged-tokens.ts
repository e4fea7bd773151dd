// Forged tokens, with any header, claims and signature, and tables of those that a server must refuse.
import {
  type KeyObject,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  sign,
} from 'node:crypto'

/** A private key and the kid of its tokens. */
export interface SigningKey {
  readonly kid: string
  readonly privateKey: KeyObject
}

/** Members of a header or of claims by name; `undefined` removes one. */
export type Members = Readonly<Record<string, unknown>>

/** Signs the text before the second dot; returns base64url. */
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

/** A token signed with a key; `header` and `signer` replace the correct ones. */
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

/** Claims that make a server refuse a token: those that differ from good ones. */
export interface BadClaims {
  readonly name: string
  readonly claims: Members
}

/** A token with good claims that a server refuses for its header or signature. */
export interface BadSignature {
  readonly name: string
  readonly token: string
}

const DAY = 86_400

/** Claims that a server of `cluster` refuses; `now` in seconds, `own` is the claim `platform.sh` of an issued token. */
export function badClaims(issuer: string, cluster: string, now: number, own: Members): BadClaims[] {
  const { uid, name, scope } = own
  const from = (seconds: number, life = 60): Members => {
    const start = now + seconds
    return { iat: start, nbf: start, exp: start + life }
  }
  return [
    { name: 'expired', claims: { exp: now - 1 } },
    { name: 'without exp', claims: { exp: undefined } },
    { name: 'exp a string', claims: { exp: String(now + 60) } },
    { name: 'exp out of range', claims: { exp: 1e308 } },
    { name: 'exp null', claims: { exp: null } },
    { name: 'a lifetime a second too long', claims: from(-60, DAY + 1) },
    {
      name: 'a lifetime too long, iat in the future',
      claims: { iat: now + 9 * DAY, exp: now + 9 * DAY },
    },
    { name: 'iat and nbf in the future', claims: from(9 * DAY) },
    { name: 'without iat', claims: { iat: undefined } },
    { name: 'iat a string', claims: { iat: String(now) } },
    { name: 'without nbf', claims: { nbf: undefined } },
    { name: 'nbf before iat', claims: { nbf: 0 } },
    { name: 'without jti', claims: { jti: undefined } },
    { name: 'an empty jti', claims: { jti: '' } },
    { name: 'a jti that is no uuid', claims: { jti: 'uid-1' } },
    { name: 'jti an array', claims: { jti: [randomUUID()] } },
    { name: 'without sub', claims: { sub: undefined } },
    { name: 'an empty sub', claims: { sub: '' } },
    { name: 'sub a number', claims: { sub: 5 } },
    { name: 'groups a string', claims: { groups: 'group:dev' } },
    { name: 'a group that is a number', claims: { groups: [5] } },
    { name: 'nested groups', claims: { groups: [['group:dev']] } },
    { name: 'without token_use', claims: { token_use: undefined } },
    { name: 'another token_use', claims: { token_use: 'access' } },
    { name: 'without the platform claim', claims: { 'platform.sh': undefined } },
    { name: 'the platform claim a string', claims: { 'platform.sh': 'x' } },
    { name: 'without a scope', claims: { 'platform.sh': { uid, name } } },
    { name: 'an empty scope', claims: { 'platform.sh': { uid, name, scope: '' } } },
    { name: 'a scope that is no string', claims: { 'platform.sh': { uid, name, scope: {} } } },
    { name: 'without a uid', claims: { 'platform.sh': { name, scope } } },
    { name: 'an empty uid', claims: { 'platform.sh': { uid: '', name, scope } } },
    { name: 'an empty name', claims: { 'platform.sh': { uid, name: '', scope } } },
    { name: 'for another cluster', claims: { aud: [`${issuer}/clusters/paris`] } },
    {
      name: 'for a suffix of the cluster name',
      claims: { aud: [`${issuer}/clusters/${cluster.slice(1)}`] },
    },
    { name: 'scoped', claims: { aud: [`${issuer}/scoped`] } },
    { name: 'scoped to this cluster', claims: { aud: [`${issuer}/scoped/clusters/${cluster}`] } },
    { name: 'for another audience', claims: { aud: ['https://kubernetes.default.svc'] } },
    { name: 'without audience', claims: { aud: undefined } },
    { name: 'with an empty audience', claims: { aud: [] } },
    { name: 'by an issuer with a trailing slash', claims: { iss: `${issuer}/` } },
    { name: 'by another issuer', claims: { iss: 'https://kubernetes.default.svc.cluster.local' } },
    { name: 'without issuer', claims: { iss: undefined } },
  ]
}

/** Tokens with good claims and a bad header or signature. */
export function badSignatures(key: SigningKey, claims: Members): readonly BadSignature[] {
  const { privateKey: otherKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const otherSigner = { kid: key.kid, privateKey: otherKey }
  const jwk = createPublicKey(otherKey).export({ format: 'jwk' })
  const ed25519 = generateKeyPairSync('ed25519').privateKey
  const publicKey = createPublicKey(key.privateKey)
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const publicJwk = JSON.stringify(publicKey.export({ format: 'jwk' }))

  const own = (header: Members = {}): string => forge(key, claims, { header })
  const foreign = (header: Members = {}): string => forge(otherSigner, claims, { header })
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
    { name: 'another key under the same kid', token: foreign() },
    { name: 'another key without kid', token: foreign({ kid: undefined }) },
    { name: 'another key in the header (jwk)', token: foreign({ jwk }) },
    {
      name: 'a key set URL in the header (jku)',
      token: foreign({ jku: 'https://127.0.0.1:1/keys' }),
    },
    { name: 'kid a path', token: foreign({ kid: '../../dev/null' }) },
    { name: 'kid a number', token: own({ kid: 5 }) },
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
    { name: 'an unencoded payload (b64)', token: own({ b64: false, crit: ['b64'] }) },
    {
      name: 'JSON serialisation',
      token: JSON.stringify({ protected: header, payload, signature }),
    },
  ]
}

/** User and group names that imitate another identity or break a parser. */
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
