// What may deliver a code to the loopback port (contract 25.2): the form of the platform's page, and no other page, program
// or name of this host.
import { createHash, timingSafeEqual } from 'node:crypto'

/** A request at the loopback port, its body read up to the limit. */
interface CallbackRequest {
  readonly method: string
  /** As it was sent. */
  readonly target: string
  /** Header `Host`; absent = empty. */
  readonly host: string
  /** Header `Origin`; absent = null. */
  readonly origin: string | null
  /** Header `Content-Type`; absent = empty. */
  readonly contentType: string
  /** null = it is larger than MOST_BODY_BYTES. */
  readonly body: string | null
}

/** What the request has to match. */
export interface ExpectedCallback {
  readonly port: number
  readonly state: string
  /** The address of the platform. */
  readonly platform: string
}

/** What follows from a request: the code, or an answer by status code. */
type CallbackVerdict =
  | { readonly kind: 'code'; readonly code: string }
  /** A wrong state, as of a page or program that guesses. */
  | { readonly kind: 'guess' }
  | { readonly kind: 'refused'; readonly status: 400 | 403 | 404 | 405 | 413 | 415 }

/** Bytes of the largest form. */
export const MOST_BODY_BYTES = 16 * 1024

/** A code of the platform: sealed, so of one line of visible characters. */
const CODE = /^[!-~]{1,8192}$/

/** Whether the text can be a code. */
export const isCode = (text: string): boolean => CODE.test(text)

/** Judges a request. */
export function callbackVerdict(
  request: CallbackRequest,
  { port, state, platform }: ExpectedCallback,
): CallbackVerdict {
  const { method, target, host, origin, contentType, body } = request
  // A page under a name that an attacker points at 127.0.0.1 sends that name.
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) return refused(403)
  if (target !== '/callback') return refused(404)
  if (method !== 'POST') return refused(405)
  // The page sends no referrer, so browsers write null.
  if (origin !== null && origin !== 'null' && origin !== platform) return refused(403)
  if (!/^application\/x-www-form-urlencoded(?:;|$)/i.test(contentType)) return refused(415)
  if (body === null) return refused(413)
  const form = new URLSearchParams(body)
  const [codes, states] = [form.getAll('code'), form.getAll('state')]
  const [code = '', given = ''] = [codes[0], states[0]]
  if (codes.length !== 1 || states.length !== 1) return refused(400)
  if (!isSame(given, state)) return { kind: 'guess' }
  return isCode(code) ? { kind: 'code', code } : refused(400)
}

const refused = (status: (CallbackVerdict & { kind: 'refused' })['status']): CallbackVerdict => ({
  kind: 'refused',
  status,
})

/** Compares in constant time, whatever the lengths. */
const isSame = (one: string, other: string): boolean => timingSafeEqual(sha256(one), sha256(other))

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
