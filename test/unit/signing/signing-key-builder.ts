// Builds signing keys, their Secrets, and the ConfigMap that publishes them.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { JWKS_CONFIG_MAP, SIGNING_KEY_PREFIX, SIGNING_KEY_TYPE } from '../../../src/api/names.ts'
import type { ConfigMap, Secret } from '../../../src/api/objects.ts'
import { checkJwk } from '../../../src/authn/jwks.ts'
import { jwksText, keyRecordsText } from '../../../src/domain/signingkey/published-keys.ts'
import type { PublishedKeyRecord, PublicJwk } from '../../../src/domain/signingkey/signing-key.ts'

export const CREATED = '2026-11-21T10:00:00Z'
export const CREATED_MS = Date.parse(CREATED)

/** A new private key in PKCS #8 PEM. */
export function newPem(kind: 'ES256' | 'RS256' = 'ES256'): string {
  const { privateKey } =
    kind === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 3072 })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The public half of a private key. */
export function publicJwkOf(pem: string): PublicJwk {
  const checked = checkJwk(createPublicKey(createPrivateKey(pem)).export({ format: 'jwk' }))
  if (!checked.ok) throw new Error(checked.because)
  return checked.jwk
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** The Secret of a generation with this key. */
export const signingKeySecret = (
  pem: string,
  generation: number,
  data: Readonly<Record<string, string>> = {},
): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: `${SIGNING_KEY_PREFIX}${generation}`,
    namespace: 'platform-system',
    uid: `uid-${generation}`,
    resourceVersion: String(generation),
    creationTimestamp: CREATED,
  },
  type: SIGNING_KEY_TYPE,
  data: { 'private-key.pem': base64(pem), kid: base64(publicJwkOf(pem).kid), ...data },
})

/** The note of a key of that generation, by default published long ago and in use. */
export const noteOf = (
  pem: string,
  generation: number,
  parts: Partial<PublishedKeyRecord> = {},
): PublishedKeyRecord => ({
  kid: publicJwkOf(pem).kid,
  generation,
  createdMs: CREATED_MS,
  publishedMs: CREATED_MS,
  useFromMs: CREATED_MS,
  withdrawnMs: null,
  ...parts,
})

/** The ConfigMap that publishes these keys and notes. */
export const jwksConfigMap = (
  pems: readonly string[],
  notes: readonly PublishedKeyRecord[],
  revision: number,
): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: JWKS_CONFIG_MAP,
    namespace: 'platform-system',
    uid: 'uid-record',
    resourceVersion: String(revision),
    creationTimestamp: CREATED,
  },
  data: { 'jwks.json': jwksText(pems.map(publicJwkOf)), 'keys.json': keyRecordsText(notes) },
})
