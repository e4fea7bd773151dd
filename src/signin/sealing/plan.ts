// The keys that seal, in their Secret (contract 25.3): which are used, and when another is made. Pure.
import { SIGN_IN_KEYS_SECRET } from '../../api/names.ts'
import { fieldsOf } from '../../domain/json/json.ts'
import { agedKeysIn } from '../../domain/signin/aged-keys.ts'
import type { KeptKind } from '../kept-keys.ts'
import type { SealingKey } from './seal.ts'

/** A sealing key with its age. */
interface AgedKey extends SealingKey {
  /** When it was made, in epoch milliseconds. */
  readonly madeMs: number
}

/** A new key is made when the newest is older. */
const RENEW_AFTER_MS = 30 * 86_400_000
/** The newest seals, the others open only. */
const KEPT = 3

const KEY_BYTES = 32
const ID = /^[0-9a-f]{8}$/

/** Stored keys, the newest first. Never empty. */
type AgedKeys = readonly [AgedKey, ...AgedKey[]]

/** The sealing keys, as keys that are kept. @param random returns that many random bytes */
export const sealingKind = (random: (bytes: number) => Buffer): KeptKind<AgedKeys> => ({
  secret: SIGN_IN_KEYS_SECRET,
  read: sealingKeysIn,
  renewed: (stored, nowMs) => {
    const renewed = renewedKeys(stored, nowMs, random)
    return renewed && sealingKeysText(renewed)
  },
})

/** The newest keys in the text of the Secret; null = there is none, or one is malformed. */
function sealingKeysIn(text: string | null): AgedKeys | null {
  const [newest, ...older] = agedKeysIn(text, keyIn) ?? []
  return newest === undefined ? null : [newest, ...older.slice(0, KEPT - 1)]
}

/** The text of the Secret for these keys. */
const sealingKeysText = (keys: readonly AgedKey[]): string =>
  JSON.stringify(keys.map(({ id, key, madeMs }) => ({ id, key: key.toString('base64'), madeMs })))

/**
 * The keys to store now: with a new one where the newest has reached its age; null = those that are stored stay.
 *
 * @param random returns that many random bytes
 */
function renewedKeys(
  stored: readonly AgedKey[] | null,
  nowMs: number,
  random: (bytes: number) => Buffer,
): readonly AgedKey[] | null {
  const keys = stored ?? []
  const newest = keys[0]
  if (newest !== undefined && nowMs - newest.madeMs < RENEW_AFTER_MS) return null
  const made = { id: random(4).toString('hex'), key: random(KEY_BYTES), madeMs: nowMs }
  return [made, ...keys].slice(0, KEPT)
}

function keyIn(entry: unknown): AgedKey | null {
  const { id, key, madeMs } = fieldsOf(entry)
  if (typeof id !== 'string' || !ID.test(id) || typeof key !== 'string') return null
  const bytes = Buffer.from(key, 'base64')
  const isComplete = bytes.length === KEY_BYTES && Number.isSafeInteger(madeMs)
  return isComplete ? { id, key: bytes, madeMs: Number(madeMs) } : null
}
