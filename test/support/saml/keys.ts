// Keys of SAML providers with their certificates.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createAuthority } from '../../../src/serving/tls/issue.ts'
import { certificateOfKey } from '../certificate-builder.ts'

/** A key that signs messages. */
export interface SamlKey {
  readonly privateKey: KeyObject
  readonly certificatePem: string
}

/** Kinds of keys: curves, or bits of RSA. */
type KeyKind = 'P-256' | 'P-384' | 'P-521' | 'secp256k1' | 1024 | 2048

/** A new key. @param times in epoch milliseconds; absent = it is valid for a year */
export function samlKey(kind: KeyKind, times: { nowMs?: number; untilMs?: number } = {}): SamlKey {
  const { privateKey, publicKey } =
    typeof kind === 'number'
      ? generateKeyPairSync('rsa', { modulusLength: kind })
      : generateKeyPairSync('ec', { namedCurve: kind })
  const { nowMs = Date.now(), untilMs = nowMs + 365 * 86_400_000 } = times
  const authority = createAuthority({ commonName: 'a provider', nowMs, untilMs })
  return { privateKey, certificatePem: certificateOfKey(authority, publicKey) }
}

const made = new Map<KeyKind, SamlKey>()

/** One key of each kind for all tests of a process. */
export function sharedSamlKey(kind: KeyKind): SamlKey {
  const key = made.get(kind) ?? samlKey(kind)
  made.set(kind, key)
  return key
}
