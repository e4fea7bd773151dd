// A terminal that waits for a key (contract 25.2): its loopback port, and the challenge that only it can answer.
import { createHash, timingSafeEqual } from 'node:crypto'
import { fieldsOf, stringOf } from '../../domain/json/json.ts'
import { type SealingKeys, seal, unseal } from '../sealing/seal.ts'

/** A terminal. */
export interface Terminal {
  /** Port at 127.0.0.1 where it listens; null = the code is pasted. */
  readonly port: number | null
  readonly state: string
  /** SHA-256 of its verifier, base64url. */
  readonly challenge: string
}

const STATE = /^[A-Za-z0-9_-]{1,128}$/
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/
const PORTS = { first: 1024, last: 65_535 }

/** The terminal in sealed data; null = there is none, or it is malformed. */
export function terminalIn(value: unknown): Terminal | null {
  const { port, state, challenge } = fieldsOf(value)
  const isComplete = typeof state === 'string' && typeof challenge === 'string'
  return isComplete ? { port: typeof port === 'number' ? port : null, state, challenge } : null
}

/**
 * The terminal in the parameters of a page; null = it is for a browser.
 *
 * @returns a sentence that says what is wrong, where a parameter is
 */
export function terminalOf(parameters: URLSearchParams): Terminal | string | null {
  if (parameters.get('cli') === null) return null
  const [port, state, challenge] = ['port', 'state', 'code_challenge'].map((name) =>
    parameters.get(name),
  )
  if (parameters.get('cli') !== 'true') return 'cli is "true" or absent'
  if (!state || !STATE.test(state)) return 'state is 1 to 128 of A-Z, a-z, 0-9, _ and -'
  if (!challenge || !CHALLENGE.test(challenge))
    return 'code_challenge is a SHA-256 in base64url: 43 of A-Z, a-z, 0-9, _ and -'
  if (port === null || port === undefined) return { port: null, state, challenge }
  const number = /^[1-9]\d{3,4}$/.test(port) ? Number(port) : 0
  if (number < PORTS.first || number > PORTS.last)
    return `port is a number from ${PORTS.first} to ${PORTS.last}`
  return { port: number, state, challenge }
}

/** The parameters that lead from one page of the terminal to the next. */
export const terminalParameters = ({ port, state, challenge }: Terminal): URLSearchParams =>
  new URLSearchParams({
    cli: 'true',
    ...(port === null ? {} : { port: String(port) }),
    state,
    code_challenge: challenge,
  })

/** What the page and the terminal both show, so that the person sees that they belong together. */
export function checkCode(challenge: string): string {
  const digits = sha256(challenge).toString('hex').slice(0, 8)
  return `${digits.slice(0, 4)}-${digits.slice(4)}`
}

/** What a code hands over. */
interface CodeContent {
  /** Name of the session and of the key to be. */
  readonly session: string
  readonly challenge: string
  /** When the code was made, in epoch milliseconds. */
  readonly madeMs: number
}

const PURPOSE = 'hand-over'
/** How long a code is good. */
const CODE_MS = 300_000

/** The code that a terminal exchanges for its key. */
export const handOverCode = (
  content: CodeContent,
  keys: SealingKeys,
  random: (bytes: number) => Buffer,
): string => seal(content, PURPOSE, keys, random)

/** Name of the session that a code hands over; null = the code or its verifier is wrong, or it is too old. */
export function handedOver(
  { code, verifier }: { readonly code: string; readonly verifier: string },
  keys: SealingKeys,
  nowMs: number,
): string | null {
  const { session, challenge, madeMs } = fieldsOf(unseal(code, PURPOSE, keys))
  const [name, expected] = [stringOf(session), stringOf(challenge)]
  if (!name || !expected || typeof madeMs !== 'number') return null
  const isFresh = nowMs - madeMs <= CODE_MS && madeMs - nowMs <= CODE_MS
  const answered = Buffer.from(sha256(verifier).toString('base64url'))
  const isIts =
    answered.length === expected.length && timingSafeEqual(answered, Buffer.from(expected))
  return isFresh && isIts ? name : null
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
