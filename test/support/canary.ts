// Canaries: secrets that must not appear in anything the program writes (contract 3.5).
import { createPrivateKey, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** A planted secret in the form of a given access key (contract 1.4). */
export interface Canary {
  readonly label: string
  readonly secret: string
}

/** A place where a secret, or a part of it, was found. The text itself is not repeated. */
export interface Finding {
  readonly sink: string
  readonly label: string
  readonly form: FormName
  /** Index of the first such part in the sink's text. */
  readonly at: number
}

/** The shortest part of a secret that counts as a leak, in characters. */
const PART = 12

const forms = {
  plain: { length: PART, encodings: (secret: string) => [secret] },
  // 12 bytes give 16 characters, of which the outer two may also hold a neighbour's bits.
  base64: { length: 14, encodings: (secret: string) => base64Streams(secret) },
  percent: { length: 3 * PART, encodings: percentEncodings },
} as const

/** How the part was written. */
export type FormName = keyof typeof forms

/** A new secret: 43 random characters of base64url after a label that tells tests apart. */
export function plantCanary(label: string): Canary {
  return { label, secret: randomBytes(32).toString('base64url') }
}

/** The secret part of a private key (PEM), as base64 of PEM has it. */
export function privateKeyCanary(label: string, pem: string): Canary {
  const key = createPrivateKey(pem)
  const der = key.export({ type: 'pkcs8', format: 'der' })
  const part = Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url')
  const at = der.indexOf(part)
  // Base64 writes three bytes as four characters: take the characters that hold nothing but the key.
  const [from, to] = [Math.ceil(at / 3), Math.floor((at + part.length) / 3)]
  return { label, secret: der.toString('base64').slice(4 * from, 4 * to) }
}

/** The part of a token of a ServiceAccount that no other one has: those of an issuer begin alike. */
export const tokenCanary = (label: string, token: string): Canary => ({
  label,
  secret: token.split('.').at(-1) ?? '',
})

/** Every (sink, canary, form) where at least 12 characters in a row of a canary were found. */
export function findCanaries(
  sinks: Readonly<Record<string, string>>,
  canaries: readonly Canary[],
): readonly Finding[] {
  return Object.entries(sinks).flatMap(([sink, text]) =>
    (Object.keys(forms) as FormName[]).flatMap((form) =>
      findIn(text, form, canaries).map(({ label, at }) => ({ sink, label, form, at })),
    ),
  )
}

function findIn(
  text: string,
  form: FormName,
  canaries: readonly Canary[],
): readonly Pick<Finding, 'label' | 'at'>[] {
  const { length, encodings } = forms[form]
  const labels = new Map<string, string>()
  for (const { label, secret } of canaries) {
    for (const encoded of encodings(secret)) {
      for (const part of windows(encoded, length)) labels.set(part, label)
    }
  }
  const found = new Map<string, number>()
  for (let at = 0; at + length <= text.length; at += 1) {
    const label = labels.get(text.slice(at, at + length))
    if (label !== undefined && !found.has(label)) found.set(label, at)
  }
  return [...found].map(([label, at]) => ({ label, at }))
}

function* windows(text: string, length: number): Generator<string> {
  for (let at = 0; at + length <= text.length; at += 1) yield text.slice(at, at + length)
}

/** The secret after 0, 1 and 2 foreign bytes, without the characters those bytes take part in. */
function base64Streams(secret: string): readonly string[] {
  const alphabets = ['base64', 'base64url'] as const
  return [0, 1, 2].flatMap((foreign) => {
    const bytes = Buffer.concat([Buffer.alloc(foreign), Buffer.from(secret)])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3))
    return alphabets.map((alphabet) =>
      whole.toString(alphabet).slice(foreign === 0 ? 0 : foreign + 1),
    )
  })
}

function percentEncodings(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString('hex')
  return [hex, hex.toUpperCase()].map((digits) => digits.replaceAll(/../g, '%$&'))
}

// A secret scanner as docs/ownedaccesskey.md describes it, on Node's own CRC-32.

/** The form of a generated key (contract 3.2). */
export const KEY_PATTERN = /^pak_([0-9A-Za-z]{43})_([0-9A-Za-z]{6})$/

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Whether the text has the form of a generated key and its checksum fits. */
export function hasValidChecksum(text: string): boolean {
  const [, secret, checksum = ''] = KEY_PATTERN.exec(text) ?? []
  if (secret === undefined) return false
  let value = 0
  for (const digit of checksum) value = value * 62 + DIGITS.indexOf(digit)
  return value === crc32(secret)
}
