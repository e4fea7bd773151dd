// Why a call to the store of secrets failed. Neither messages nor causes quote an answer, the token or a value: what the store
// says may have them.
import { AddressRefused } from '../../runtime/address-guard.ts'
import { AnswerTooLarge } from '../../runtime/http-client.ts'

/**
 * `unreachable` = the store is away, sealed or busy; `denied` = it does not allow the token that; `refused` = the settings, the
 * request or the answer is unusable, which time alone does not heal.
 */
type StoreErrorKind = 'unreachable' | 'denied' | 'refused'

/** A call to the store failed. */
export class SecretStoreError extends Error {
  override readonly name = 'SecretStoreError'
  readonly kind: StoreErrorKind
  /** The status of the answer; null = there was none. */
  readonly code: number | null

  constructor(kind: StoreErrorKind, message: string, code: number | null) {
    super(message)
    this.kind = kind
    this.code = code
  }

  /** The message as a sentence. */
  get sentence(): string {
    return `${this.message.charAt(0).toUpperCase()}${this.message.slice(1)}.`
  }
}

/** The error of an answer with this fault, which is a clause such as `has no such mount`. */
export const faultOfAnswer = (fault: string, code: number): SecretStoreError =>
  new SecretStoreError('refused', `the store ${fault}`, code)

/** The error of an answer without data, by its status. */
export function faultOfStatus(code: number): SecretStoreError {
  if (code === 403) return new SecretStoreError('denied', DENIED, code)
  if (code >= 500 || BUSY.has(code))
    return new SecretStoreError(
      'unreachable',
      `the store answered ${code}${AWAY[code] ?? ''}`,
      code,
    )
  const isRedirect = code >= 300 && code < 400
  return faultOfAnswer(`answered ${code}${isRedirect ? REDIRECT : ''}`, code)
}

const DENIED =
  'the store answered 403: its token is not valid there, or no policy of the token allows this path'

/** Too many requests, a node that lags behind, and standbys: another attempt may be served. */
const BUSY: ReadonlySet<number> = new Set([408, 412, 429, 472, 473])

const AWAY: Readonly<Record<number, string>> = {
  429: ': too many requests, or a standby',
  472: ': a node for disaster recovery',
  473: ': a standby',
  503: ': sealed, or in maintenance',
}

const REDIRECT =
  ', which is not followed: secretStore.address must name the active node, or a load balancer before it'

/** The error of a call without an answer. */
export function faultOfCall(error: unknown): SecretStoreError {
  if (error instanceof SecretStoreError) return error
  if (error instanceof AddressRefused)
    return new SecretStoreError(
      'unreachable',
      `the host of secretStore.address ${error.fault}`,
      null,
    )
  if (error instanceof AnswerTooLarge)
    return new SecretStoreError('refused', `the store: ${error.message}`, null)
  const { code = '' } = error as NodeJS.ErrnoException
  const known = CODE.test(code) ? `: ${code}` : ''
  const hint = UNTRUSTED.test(code) ? UNTRUSTED_HINT : ''
  return new SecretStoreError('unreachable', `no answer of the store${known}${hint}`, null)
}

/** Codes of Node, such as ECONNREFUSED; other texts may quote the store. */
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/

const UNTRUSTED = /^(?:UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|CERT_)/

const UNTRUSTED_HINT =
  ' (no certificate that is trusted: --secret-store-ca-file names the issuers of a private one)'
