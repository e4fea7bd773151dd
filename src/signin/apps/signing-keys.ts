// The keys that sign the tokens of apps (contract 26.1), and no token for a cluster: in a Secret of the sign-in namespace, which
// of them signs, and how long each is published.
import { type KeyObject, createPrivateKey, generateKeyPairSync, hash } from 'node:crypto'
import { APP_SIGNING_KEYS_SECRET } from '../../api/names.ts'
import { fieldsOf } from '../../domain/json/json.ts'
import { agedKeysIn } from '../../domain/signin/aged-keys.ts'
import type { KeptKind } from '../kept-keys.ts'

/** A public key as the issuer shows it (RFC 7517). */
interface PublicAppKey {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly alg: 'ES256'
  readonly use: 'sig'
  /** RFC 7638 thumbprint. */
  readonly kid: string
}

/** A key with its age. */
interface AppSigningKey {
  readonly publicKey: PublicAppKey
  readonly privateKey: KeyObject
  /** When it was made, in epoch milliseconds. */
  readonly madeMs: number
}

/** The keys, the newest first. Never empty. */
export type AppSigningKeys = readonly [AppSigningKey, ...AppSigningKey[]]

/** A new key is made when the newest is older. */
const RENEW_AFTER_MS = 30 * 86_400_000
/** How long a new key is published before it signs: every replica shows it by then, and apps have read it again. */
const SIGNS_AFTER_MS = 300_000
/** How long a key is published after the next one signs: far longer than its tokens live. */
const SHOWN_AFTER_MS = 86_400_000

/** The key that signs now: the newest that has been published long enough, else the oldest. */
export const signerOf = (keys: AppSigningKeys, nowMs: number): AppSigningKey =>
  keys.find(({ madeMs }) => nowMs - madeMs >= SIGNS_AFTER_MS) ?? keys.at(-1) ?? keys[0]

/** The keys that are published now, by which tokens are verified. */
export const publishedKeys = (
  keys: readonly AppSigningKey[],
  nowMs: number,
): readonly AppSigningKey[] =>
  keys.filter((_, at) => {
    const next = keys[at - 1]
    return next === undefined || nowMs < next.madeMs + SIGNS_AFTER_MS + SHOWN_AFTER_MS
  })

/** The signing keys, as keys that are kept. @param isNeeded whether apps are served: without them none is made */
export const appSigningKind = (isNeeded: () => boolean): KeptKind<AppSigningKeys> => ({
  secret: APP_SIGNING_KEYS_SECRET,
  read: (text) => agedKeysIn(text, keyIn),
  renewed: (stored, nowMs) => (isNeeded() ? renewed(stored ?? [], nowMs) : null),
})

/** The text to store: with a new key where one is due, without those that are over; null = what is stored stays. */
function renewed(stored: readonly AppSigningKey[], nowMs: number): string | null {
  const kept = publishedKeys(stored, nowMs)
  const isDue = nowMs - (kept[0]?.madeMs ?? 0) >= RENEW_AFTER_MS
  if (!isDue && kept.length === stored.length) return null
  const made = isDue ? [{ privateKey: newPrivateKey(), madeMs: nowMs }] : []
  const entries = [...made, ...kept].map(({ privateKey: key, madeMs }) => ({
    jwk: key.export({ format: 'jwk' }),
    madeMs,
  }))
  return JSON.stringify(entries)
}

const newPrivateKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

const COORDINATE = /^[\w-]{43}$/

function keyIn(entry: unknown): AppSigningKey | null {
  const { jwk, madeMs } = fieldsOf(entry)
  const { kty, crv, x, y, d } = fieldsOf(jwk)
  if (kty !== 'EC' || crv !== 'P-256' || typeof madeMs !== 'number') return null
  if (typeof x !== 'string' || typeof y !== 'string' || typeof d !== 'string') return null
  if (![x, y, d].every((part) => COORDINATE.test(part))) return null
  try {
    const privateKey = createPrivateKey({ format: 'jwk', key: { kty, crv, x, y, d } })
    const kid = hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url')
    const publicKey = { kty, crv, x, y, alg: 'ES256', use: 'sig', kid } as const
    return { publicKey, privateKey, madeMs }
  } catch {
    return null
  }
}
