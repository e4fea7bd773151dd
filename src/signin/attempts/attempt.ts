// Attempts to sign in (contract 25.3). Each lives in one sealed cookie of the browser that began it, so any replica can end it.
import { createHash } from 'node:crypto'
import { fieldsOf, stringOf } from '../../domain/json/json.ts'
import { ATTEMPT_PREFIX } from '../http/cookies.ts'
import type { AttemptSecrets } from '../providers/provider.ts'
import { type SealingKeys, seal, unseal } from '../sealing/seal.ts'
import type { Destination } from './destination.ts'
import { terminalIn } from './terminal.ts'

/** An attempt that has begun at a provider. */
interface SignInAttempt extends Destination {
  /** Id of the provider. */
  readonly provider: string
  readonly secrets: AttemptSecrets
  /** When it began, in epoch milliseconds. */
  readonly begunMs: number
}

/** How long an attempt is good. */
export const ATTEMPT_MS = 600_000
/** Cookies of attempts that a browser keeps; the oldest go. */
const MOST_ATTEMPTS = 5

const SECRET_BYTES = 32

/** New random texts of 256 bits each. @param random returns that many random bytes */
export function newSecrets(random: (bytes: number) => Buffer): AttemptSecrets {
  const text = (): string => random(SECRET_BYTES).toString('base64url')
  return { state: text(), nonce: text(), verifier: text() }
}

/** The name of the cookie of the attempt with this state. */
export const attemptCookie = (state: string): string =>
  ATTEMPT_PREFIX + sha256(state).toString('hex').slice(0, 8)

/** The value of the cookie. */
export const sealAttempt = (
  attempt: SignInAttempt,
  keys: SealingKeys,
  random: (bytes: number) => Buffer,
): string => seal(attempt, attemptCookie(attempt.secrets.state), keys, random)

/** The attempt in a cookie; null = it is unreadable, or over. */
function openAttempt(
  [name, value]: readonly [string, string],
  keys: SealingKeys,
  nowMs: number,
): SignInAttempt | null {
  const { provider, secrets, next, terminal, begunMs } = fieldsOf(unseal(value, name, keys))
  const { state, nonce, verifier } = fieldsOf(secrets)
  const texts = [provider, state, nonce, verifier].map(stringOf)
  const [id, known, once, proof] = texts
  if (!id || !known || !once || !proof || typeof begunMs !== 'number') return null
  if (nowMs - begunMs > ATTEMPT_MS || begunMs - nowMs > ATTEMPT_MS) return null
  return {
    provider: id,
    secrets: { state: known, nonce: once, verifier: proof },
    next: stringOf(next) ?? null,
    terminal: terminalIn(terminal),
    begunMs,
  }
}

/**
 * The attempt that a callback ends; null = this browser did not begin it, at this provider, within the last ten minutes.
 *
 * @param cookies as cookiesIn gives them
 * @param state from the callback
 */
export function attemptOf(
  cookies: ReadonlyMap<string, string>,
  { provider, state }: { readonly provider: string; readonly state: string },
  keys: SealingKeys,
  nowMs: number,
): SignInAttempt | null {
  const name = attemptCookie(state)
  const value = cookies.get(name)
  const attempt = value === undefined ? null : openAttempt([name, value], keys, nowMs)
  const isIts = attempt?.provider === provider && attempt.secrets.state === state
  return isIts ? attempt : null
}

/** Names of the cookies to clear before another attempt begins: what is unreadable or over, and the oldest of five. */
export function surplusAttempts(
  cookies: ReadonlyMap<string, string>,
  keys: SealingKeys,
  nowMs: number,
): readonly string[] {
  const attempts = [...cookies]
    .filter(([name]) => name.startsWith(ATTEMPT_PREFIX))
    .map((cookie) => [cookie[0], openAttempt(cookie, keys, nowMs)?.begunMs ?? 0] as const)
    .toSorted(([, a], [, b]) => b - a)
  return attempts
    .filter(([, begunMs], at) => begunMs === 0 || at >= MOST_ATTEMPTS - 1)
    .map(([name]) => name)
}

const NAME_DIGITS = 26
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** The first 26 base32 digits of the SHA-256 of a text: the name of what is made from it once. A second create is a conflict. */
export function nameDigits(text: string): string {
  const bits = [...sha256(text)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const digits = Array.from({ length: NAME_DIGITS }, (_, at) =>
    BASE32.charAt(Number.parseInt(bits.slice(at * 5, at * 5 + 5), 2)),
  )
  return digits.join('')
}

/**
 * The name of the session and of the key that an attempt makes: one name an attempt, so the API server lets it be taken once,
 * at whichever replica.
 */
export const signInName = (provider: string, state: string): string =>
  `login-${nameDigits(`${provider}\n${state}`)}`

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
