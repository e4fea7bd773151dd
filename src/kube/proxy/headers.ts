// The headers of a forwarded request: refuses those that it must not carry, and adds ours last.
import type { UpstreamCall, UpstreamHeaders } from './types.ts'

/** Headers of one connection or of a body's framing (RFC 9110, 7.6.1); HTTP/2 has none of them. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
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

/** Whether a server might impersonate by this header, or a proxy before it that turns `_` into `-`. */
const isImpersonation = (name: string): boolean =>
  name.replaceAll('_', '-').startsWith('impersonate-')

const isForbidden = (name: string): boolean =>
  !TOKEN.test(name) || HOP_BY_HOP.has(name) || name === 'authorization' || isImpersonation(name)

/**
 * The headers to send: the call's, then impersonation, then the credential of this process.
 *
 * The last check before the API server. Callers have checked all this; a mistake there must not let a request
 * run as this process.
 *
 * @param credential headers of the connection, in any case of letters
 * @throws Error that names the header
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
    throw new Error('the kubeconfig impersonates a user: requests of others can not run by it')
  return { ...headers, ...impersonation, ...own }
}

/** Without a user the request would run as this process. The extra proves that the caller meant a user. */
function checkImpersonation(impersonation: UpstreamHeaders): void {
  const names = Object.keys(impersonation)
  const user = impersonation['impersonate-user']
  const isNamed = typeof user === 'string' && /^[!-~]+$/.test(user)
  const hasExtra = names.some((name) => name.startsWith('impersonate-extra-'))
  if (!isNamed || !hasExtra || !names.every(isImpersonation))
    throw new Error('an impersonation names a user and an extra, and nothing else')
}
