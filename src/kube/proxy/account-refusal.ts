// Recognizes a 403 that refuses the account of this process, not the caller (contract 10.4). An API server gives them for
// a moment after its start, when it has not read its roles yet.
import type { Readable } from 'node:stream'
import { ArrivedAnswer, type UpstreamAnswer, type UpstreamCall, UpstreamError } from './types.ts'

/** The API server's fairness adds it to each request that has passed authentication and impersonation. */
const PAST_IMPERSONATION = 'x-kubernetes-pf-flowschema-uid'

const FORBIDDEN = 403
const SUBJECT = 'User '
/** Maximum bytes of a refusal that are read: the server writes a Status in one piece, and the account comes early. */
const LOOKED_AT = 16_384

/**
 * Whether a refusal is of the account of this process. The text stands in a Status of any encoding, with the quotes
 * of JSON or without: `User "system:serviceaccount:p:gateway" cannot impersonate …`.
 *
 * @param caller the impersonated user; null = the request ran as this process, and any right may be missing
 * @param isPastImpersonation whether the API server's fairness has seen the request
 */
export function refusesAccount(
  text: string,
  caller: string | null,
  isPastImpersonation: boolean,
): boolean {
  if (caller !== null && isPastImpersonation) return false
  const cannot = caller === null ? '" cannot ' : '" cannot impersonate'
  const plain = text.slice(0, LOOKED_AT).replaceAll('\\"', '"')
  const end = plain.indexOf(cannot)
  const start = plain.lastIndexOf(`${SUBJECT}"`, end)
  if (end < 0 || start < 0) return false
  return plain.slice(start + SUBJECT.length + 1, end) !== caller
}

/** The API server knows the credential of this process, and does not let its account act. */
export class AccountRefused extends Error {
  override readonly name = 'AccountRefused'
  /** The body of the 403, cut at 16 KiB. It names the account and the caller. */
  readonly body: Buffer

  constructor(body: Buffer) {
    super('the API server does not let this process act')
    this.body = body
  }
}

/**
 * The answer, or AccountRefused for a 403 of that kind. Only the first piece of a body is looked at; UpstreamError when it
 * breaks off before that, as a stream that has ended already tells nobody.
 */
export async function unlessAccountRefused(
  answer: UpstreamAnswer,
  { impersonation }: Pick<UpstreamCall, 'impersonation'>,
): Promise<UpstreamAnswer | AccountRefused | UpstreamError> {
  const isPast = answer.headers[PAST_IMPERSONATION] !== undefined
  if (answer.status !== FORBIDDEN || (impersonation !== null && isPast)) return answer
  const { status, headers, body } = answer
  const caller = impersonation?.['impersonate-user'] ?? null
  const first = await firstPieceOf(body).catch((cause: unknown) => new UpstreamError('lost', cause))
  if (first instanceof UpstreamError) return first
  if (first === null) return new ArrivedAnswer(status, headers, Buffer.alloc(0))
  if (!refusesAccount(first.toString('utf8'), caller, isPast)) return answer
  body.destroy()
  return new AccountRefused(first.subarray(0, LOOKED_AT))
}

/** The first piece of a body, which keeps it for its reader; null = it has none. @throws Error when it breaks off before */
function firstPieceOf(body: Readable): Promise<Buffer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | null>()
  const settle = (result: () => void): void => {
    body.off('readable', look).off('end', ended).off('error', brokenOff).off('close', brokenOff)
    result()
  }
  function look(): void {
    const piece = body.read() as Buffer | null
    if (piece === null) return
    settle(() => {
      body.unshift(piece)
      resolve(piece)
    })
  }
  function ended(): void {
    settle(() => resolve(null))
  }
  function brokenOff(): void {
    settle(() => reject(body.errored ?? new Error('the answer broke off')))
  }
  body.on('readable', look).once('end', ended).once('error', brokenOff).once('close', brokenOff)
  if (body.destroyed) brokenOff()
  return promise
}
