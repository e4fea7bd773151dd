// Which app asks for tokens (contract 26.2, RFC 6749 2.3): by HTTP Basic, by fields of the form, or, of a public one, by its id.
import type { RouteContext } from '../route.ts'
import { type AppClient, isSecretOf } from '../../apps/clients.ts'
import { TokenRefused } from '../../apps/refusal.ts'

/** What an app says of itself. */
interface ClaimedClient {
  readonly id: string
  /** null = it sent none. */
  readonly secret: string | null
  readonly isBasic: boolean
}

const BASIC = /^basic ([A-Za-z0-9+/]+={0,2})$/i

/**
 * The app that asks.
 *
 * @param fields of the form
 * @throws TokenRefused
 */
export function authenticatedClient(
  { request, deps }: Pick<RouteContext, 'request' | 'deps'>,
  fields: ReadonlyMap<string, string>,
): AppClient {
  const claimed = claimedClient(request.appAuthorization, fields)
  const { limits, clients } = deps.apps
  const nowMs = deps.clock.monotonicMs()
  const waitMs = limits.waitMs(claimed.id, request.remoteAddress, nowMs)
  if (waitMs > 0)
    throw new TokenRefused('temporarily_unavailable', 'too many wrong secrets, wait a while', {
      status: 429,
      headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) },
    })
  const client = clients().working.get(claimed.id)
  if (client !== undefined && isItself(client, claimed)) return client
  limits.failed(claimed.id, request.remoteAddress, nowMs)
  throw new TokenRefused('invalid_client', 'client_id or client_secret is wrong', {
    status: 401,
    ...(claimed.isBasic ? { headers: { 'www-authenticate': 'Basic realm="apps"' } } : {}),
  })
}

const isItself = (client: AppClient, { secret }: ClaimedClient): boolean =>
  secret === null ? client.isPublic : isSecretOf(client, secret)

/** @throws TokenRefused for two ways at once, or none */
function claimedClient(
  authorization: string | null,
  fields: ReadonlyMap<string, string>,
): ClaimedClient {
  const [id, secret] = [fields.get('client_id'), fields.get('client_secret')]
  if (authorization === null) {
    if (!id) throw new TokenRefused('invalid_request', 'client_id is missing')
    return { id, secret: secret ?? null, isBasic: false }
  }
  const basic = basicIn(authorization)
  if (basic === null)
    throw new TokenRefused('invalid_request', 'Authorization is not as RFC 6749, 2.3.1 has it')
  if (secret !== undefined || (id !== undefined && id !== basic.id))
    throw new TokenRefused('invalid_request', 'the client authenticates in two ways: use one')
  return basic
}

/** Id and secret, each written as in a form. */
function basicIn(authorization: string): ClaimedClient | null {
  const base64 = BASIC.exec(authorization)?.[1]
  const text = Buffer.from(base64 ?? '', 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (base64 === undefined || colon === -1) return null
  try {
    const [id = '', secret = ''] = [text.slice(0, colon), text.slice(colon + 1)].map((part) =>
      decodeURIComponent(part.replaceAll('+', ' ')),
    )
    // A public client that has only Basic sends an empty secret.
    return { id, secret: secret === '' ? null : secret, isBasic: true }
  } catch {
    return null
  }
}
