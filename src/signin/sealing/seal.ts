// Sealed texts: cookies and codes that only this platform's sign-in processes can read, and that no client can change
// (contract 25.3). AES-256-GCM; what a text is for is its additional data, so one is never taken for another.
import { createCipheriv, createDecipheriv } from 'node:crypto'

/** A key that seals. */
export interface SealingKey {
  /** In each text that the key has sealed, so that the right one opens it. */
  readonly id: string
  /** 32 bytes. Secret. */
  readonly key: Buffer
}

/** Keys of the platform, the newest first: it seals, each opens. Never empty. */
export type SealingKeys = readonly [SealingKey, ...SealingKey[]]

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Characters of a sealed text: a browser keeps no longer cookie. */
const LONGEST = 4096

/**
 * Seals a value as text of `[A-Za-z0-9_.-]`.
 *
 * @param purpose what the text is for, such as the name of its cookie
 * @param random returns that many random bytes
 */
export function seal(
  value: object,
  purpose: string,
  [{ id, key }]: SealingKeys,
  random: (bytes: number) => Buffer,
): string {
  const nonce = random(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
  return `${id}.${Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url')}`
}

/** The value in a sealed text; null = it was sealed for another purpose, by another key, or changed since. */
export function unseal(text: string, purpose: string, keys: SealingKeys): unknown {
  const dot = text.indexOf('.')
  const found = keys.find(({ id }) => id === text.slice(0, dot))
  if (dot === -1 || text.length > LONGEST || found === undefined) return null
  const bytes = Buffer.from(text.slice(dot + 1), 'base64url')
  // Decoding passes over what is not base64url: a text has one form only.
  const isExact = bytes.toString('base64url') === text.slice(dot + 1)
  if (!isExact || bytes.length < NONCE_BYTES + TAG_BYTES) return null
  try {
    const decipher = createDecipheriv('aes-256-gcm', found.key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-TAG_BYTES))
    const sealed = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
    const opened = Buffer.concat([decipher.update(sealed), decipher.final()])
    return JSON.parse(opened.toString('utf8'))
  } catch {
    return null
  }
}
