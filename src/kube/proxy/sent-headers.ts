// The headers of a forwarded request: forbidden ones are refused, and this process adds its own last.
import type { UpstreamCall, UpstreamHeaders } from './types.ts'

/** Headers of the connection or of the framing of a body (RFC 9110, 7.6.1), which HTTP/2 does not have. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/

/** Whether an API server might impersonate by this header, perhaps after a proxy has replaced `_` by `-`. */
const isImpersonation = (name: string): boolean =>
  name.replaceAll('_', '-').startsWith('impersonate-')

/** Names that have passed before. Callers forward the same few again and again; others are checked each time. */
const passed = new Set<string>()
const MOST_PASSED = 100

function isForbidden(name: string): boolean {
  if (passed.has(name)) return false
  const isRefused =
    !TOKEN.test(name) || HOP_BY_HOP.has(name) || name === 'authorization' || isImpersonation(name)
  if (!isRefused && passed.size < MOST_PASSED) passed.add(name)
  return isRefused
}

/**
 * The headers to send: those of the call, then impersonation, then the credential of this process.
 *
 * This is the last check before the API server. Callers check all of it too, but a mistake there must not let a
 * request run as this process.
 *
 * @param credential headers of the connection; their names in upper or lower case
 * @throws Error for a forbidden header or an incomplete impersonation
 */
export function headersToSend(
  { headers, impersonation }: Pick<UpstreamCall, 'headers' | 'impersonation'>,
  credential: Readonly<Record<string, string>>,
): UpstreamHeaders {
  const forbidden = Object.keys(headers).find(isForbidden)
  if (forbidden !== undefined) throw new Error(`header ${forbidden} must not be passed on`)
  const own = ownHeaders(credential)
  if (impersonation === null) return { ...headers, ...own.headers }
  if (!checked.has(impersonation)) checkImpersonation(impersonation)
  if (own.impersonates)
    throw new Error('the kubeconfig impersonates a user: requests of others cannot run by it')
  return { ...headers, ...impersonation, ...own.headers }
}

/** The headers of this process. */
interface OwnHeaders {
  /** By lower-case name. */
  readonly headers: UpstreamHeaders
  readonly impersonates: boolean
}

/** By the credential of a connection, whose object is another one after each change. */
const ownByCredential = new WeakMap<Readonly<Record<string, string>>, OwnHeaders>()

function ownHeaders(credential: Readonly<Record<string, string>>): OwnHeaders {
  const known = ownByCredential.get(credential)
  if (known !== undefined) return known
  const headers = Object.fromEntries(
    Object.entries(credential).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const own = { headers, impersonates: Object.keys(headers).some(isImpersonation) }
  ownByCredential.set(credential, own)
  return own
}

/** Impersonations that were found complete and can't change. */
const checked = new WeakSet<UpstreamHeaders>()

/** Without a user the request would run as this process. The extra proves that the caller intended to impersonate. */
function checkImpersonation(impersonation: UpstreamHeaders): void {
  const names = Object.keys(impersonation)
  const user = impersonation['impersonate-user']
  const isNamed = typeof user === 'string' && /^[!-~]+$/.test(user)
  const hasExtra = names.some((name) => name.startsWith('impersonate-extra-'))
  if (!isNamed || !hasExtra || !names.every(isImpersonation))
    throw new Error('an impersonation names a user and an extra, and nothing else')
  if (Object.isFrozen(impersonation)) checked.add(impersonation)
}
