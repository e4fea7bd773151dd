// Refresh tokens of one grant (contract 26.3): each makes the next, so a client that asks twice within ten seconds, because it
// has two workers or lost the answer, gets the same one again. Of a token that was replaced before, the grant ends: two have it.
// Stored are digests alone, and a key that without a token makes none. Pure.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { fieldsOf, stringOf } from '../../domain/json/json.ts'

/** What is stored of the tokens of a grant. */
export interface RefreshChain {
  /** Makes the next token of one, base64url. */
  readonly key: string
  /** SHA-256 of the secret part of the token that is good now, base64url. */
  readonly current: string
  /** The same of the one before; null = this is the first. */
  readonly previous: string | null
  /** When `previous` was replaced, in epoch milliseconds; 0 = never. */
  readonly rotatedMs: number
}

/** What becomes of a grant whose refresh token comes. */
type RefreshVerdict =
  /** The grant never issued this text: its sender knows the name at most. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'rotate'; readonly token: string; readonly chain: RefreshChain }
  /** It was replaced a moment ago: the answer is the same token again. */
  | { readonly kind: 'again'; readonly token: string }
  /** It was replaced before: two have it. */
  | { readonly kind: 'reused' }

/** How long a token that was replaced still gets the one that replaced it. */
const AGAIN_MS = 10_000
const SECRET_BYTES = 32

/** A chain with its first token. @param random returns that many random bytes */
export function newChain(
  grant: string,
  random: (bytes: number) => Buffer,
): { readonly chain: RefreshChain; readonly token: string } {
  const [key, secret] = [random(SECRET_BYTES), random(SECRET_BYTES)].map((bytes) =>
    bytes.toString('base64url'),
  )
  const chain = { key: key ?? '', current: digestOf(secret ?? ''), previous: null, rotatedMs: 0 }
  return { chain, token: tokenOf(grant, secret ?? '', chain) }
}

/** The stored chain; null = it is malformed. */
export function refreshChainIn(value: unknown): RefreshChain | null {
  const { key, current, previous, rotatedMs } = fieldsOf(value)
  if (typeof key !== 'string' || typeof current !== 'string' || typeof rotatedMs !== 'number')
    return null
  return { key, current, previous: stringOf(previous) ?? null, rotatedMs }
}

const TOKEN = /^(oidc-[a-z2-7]{26})\.([\w-]{43})\.([\w-]{43})$/

/** Name of the grant that a text claims to be a token of; null = it has another form. */
export const grantOfToken = (token: string): string | null => TOKEN.exec(token)?.[1] ?? null

/** What becomes of the grant of that name and chain. */
export function refreshVerdict(token: string, chain: RefreshChain, nowMs: number): RefreshVerdict {
  const [, grant = '', secret = ''] = TOKEN.exec(token) ?? []
  if (grant === '' || !isSame(token, tokenOf(grant, secret, chain))) return { kind: 'foreign' }
  const digest = digestOf(secret)
  const nextSecret = madeOf(chain, 'next', secret)
  const next = tokenOf(grant, nextSecret, chain)
  if (isSame(digest, chain.current)) {
    const rotated = { current: digestOf(nextSecret), previous: digest, rotatedMs: nowMs }
    return { kind: 'rotate', token: next, chain: { ...chain, ...rotated } }
  }
  const isRecent = nowMs - chain.rotatedMs <= AGAIN_MS
  if (isRecent && chain.previous !== null && isSame(digest, chain.previous))
    return { kind: 'again', token: next }
  return { kind: 'reused' }
}

/** The last part proves that a token was issued, however old it is: a name alone ends no grant. */
const tokenOf = (grant: string, secret: string, chain: RefreshChain): string =>
  `${grant}.${secret}.${madeOf(chain, 'issued', secret)}`

const madeOf = ({ key }: RefreshChain, purpose: string, secret: string): string =>
  createHmac('sha256', Buffer.from(key, 'base64url'))
    .update(`${purpose}\n${secret}`)
    .digest('base64url')

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
