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

const isForbidden = (name: string): boolean =>
  !TOKEN.test(name) || HOP_BY_HOP.has(name) || name === 'authorization' || isImpersonation(name)

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
  const own = Object.fromEntries(
    Object.entries(credential).map(([name, value]) => [name.toLowerCase(), value]),
  )
  if (impersonation === null) return { ...headers, ...own }
  checkImpersonation(impersonation)
  if (Object.keys(own).some(isImpersonation))
    throw new Error('the kubeconfig impersonates a user: requests of others cannot run by it')
  return { ...headers, ...impersonation, ...own }
}

/** Without a user the request would run as this process. The extra proves that the caller intended to impersonate. */
function checkImpersonation(impersonation: UpstreamHeaders): void {
  const names = Object.keys(impersonation)
  const user = impersonation['impersonate-user']
  const isNamed = typeof user === 'string' && /^[!-~]+$/.test(user)
  const hasExtra = names.some((name) => name.startsWith('impersonate-extra-'))
  if (!isNamed || !hasExtra || !names.every(isImpersonation))
    throw new Error('an impersonation names a user and an extra, and nothing else')
}
