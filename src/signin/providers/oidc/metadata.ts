// What a provider says about itself: its discovery document and its keys (contract 25.6). Only the fields that are used are
// taken over, each in its type.
import { isMap, type JsonMap } from '../../../domain/json/json.ts'
import { boundedJsonMap } from '../answers.ts'
import { allowedUrl } from '../outgoing.ts'
import type { IssuerRules } from './dialect.ts'

/** The discovery document of a provider, checked. */
export interface ProviderMetadata {
  /** One that the provider may have. */
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly keysUrl: string
  /** null = it has none. */
  readonly userinfoEndpoint: string | null
  /** null = it has none. */
  readonly endSessionEndpoint: string | null
  /** Whether its token endpoint takes the client's secret in header Authorization. */
  readonly takesBasic: boolean
  /** Whether it names itself in each callback (RFC 9207). */
  readonly namesItself: boolean
}

/** A document that is accepted, or why it is not: a clause without a value of the document. */
export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: string }

/** Where the discovery document of an issuer is (OpenID Connect Discovery 4.1). */
export const discoveryUrl = (issuer: URL): string =>
  `${issuer.origin}${issuer.pathname.replace(/\/$/, '')}/.well-known/openid-configuration`

/** Reads a discovery document. @param configured decides which addresses are allowed */
export function metadataIn(
  body: Buffer,
  { isOwn, field }: IssuerRules,
  configured: URL,
): Read<ProviderMetadata> {
  const document = boundedJsonMap(body)
  if (document === null) return refused('must be a JSON object within the bounds')
  const { issuer } = document
  if (typeof issuer !== 'string' || !isOwn(issuer))
    return refused(`names another issuer than ${field}`)
  const endpoint = (name: string): string | null => {
    const value = document[name]
    return typeof value === 'string' ? (allowedUrl(value, configured)?.href ?? null) : null
  }
  const required = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const
  const [authorizationEndpoint, tokenEndpoint, keysUrl] = required.map(endpoint)
  if (!authorizationEndpoint || !tokenEndpoint || !keysUrl)
    return refused(`has no usable ${required.find((name) => endpoint(name) === null)}`)
  const methods = document['token_endpoint_auth_methods_supported']
  const value = {
    issuer,
    authorizationEndpoint,
    tokenEndpoint,
    keysUrl,
    userinfoEndpoint: endpoint('userinfo_endpoint'),
    endSessionEndpoint: endpoint('end_session_endpoint'),
    takesBasic: !Array.isArray(methods) || methods.includes('client_secret_basic'),
    namesItself: document['authorization_response_iss_parameter_supported'] === true,
  }
  return { ok: true, value }
}

/** A large provider publishes ten. */
const MOST_KEYS = 100

/** Reads the keys of a provider. */
export function keysIn(body: Buffer): Read<readonly JsonMap[]> {
  const keys = boundedJsonMap(body)?.['keys']
  if (!Array.isArray(keys) || !keys.every(isMap)) return refused('has no list of keys')
  if (keys.length > MOST_KEYS) return refused(`has more than ${MOST_KEYS} keys`)
  return { ok: true, value: keys }
}

const refused = (fault: string) => ({ ok: false, fault }) as const
