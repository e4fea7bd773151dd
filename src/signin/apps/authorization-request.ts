// What an app asks for when it sends a person (contract 26.3). Pure.
import { decodeJwt } from 'jose'
import { stringOf } from '../../domain/json/json.ts'
import { allowsRedirect } from './redirect-uri.ts'
import type { AppClient } from './clients.ts'
import { scopesIn } from './scopes.ts'

/** A request that is right. */
export interface AuthorizationRequest {
  readonly clientId: string
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** null = the app sent none. */
  readonly state: string | null
  readonly nonce: string | null
  /** PKCE challenge; null = the app sent none. */
  readonly challenge: string | null
  /** No page may be shown. */
  readonly isSilent: boolean
  /** The person must sign in for this request, whatever session there is. */
  readonly signsInAnew: boolean
  /** How long ago the person may have signed in, in seconds; null = any time. */
  readonly maxAgeSeconds: number | null
}

/** A request that is wrong. Until client and address are right the person sees a page, and nothing is sent to the address. */
type AuthorizationFault =
  | { readonly kind: 'page'; readonly message: string }
  | { readonly kind: 'redirect'; readonly fault: RedirectedFault }

/** An error that goes to the app, at its own address. */
export interface RedirectedFault {
  readonly redirectUri: string
  readonly state: string | null
  /** Code of OAuth or OpenID Connect. */
  readonly error: string
  /** For people; empty = none. */
  readonly description: string
}

const PAGE = {
  client:
    'No application has this client_id. Its settings name another one, or condition SignInReady says why it does not work',
  redirect: 'This application may not send people to this redirect_uri: it must list the address',
} as const

/** Longest state and nonce: both are kept in a cookie while the person signs in. */
const LONGEST_TEXT = 1024
const TEXT = /^[ -~]*$/
const CHALLENGE = /^[\w-]{43}$/
const MAX_AGE = /^\d{1,9}$/

/** Why a parameter is refused that is right in itself, by its error code (OpenID Connect Core 6, 7.2.1). */
const NOT_SUPPORTED = {
  request: 'request_not_supported',
  request_uri: 'request_uri_not_supported',
  registration: 'registration_not_supported',
} as const

/**
 * Reads a request, each of whose parameters is there once.
 *
 * @param clientOf finds a client that works
 */
export function authorizationRequest(
  parameters: URLSearchParams,
  clientOf: (id: string) => AppClient | undefined,
): AuthorizationRequest | AuthorizationFault {
  const client = clientOf(parameters.get('client_id') ?? '')
  if (client === undefined) return { kind: 'page', message: PAGE.client }
  const redirectUri = parameters.get('redirect_uri') ?? ''
  if (!allowsRedirect(client, redirectUri)) return { kind: 'page', message: PAGE.redirect }
  const found = firstFault(parameters, client)
  const sent = parameters.get('state')
  const state = sent !== null && isText(sent) ? sent : null
  if (found !== null) {
    const [error, description] = found
    return { kind: 'redirect', fault: { redirectUri, state, error, description } }
  }
  const prompts = promptsIn(parameters)
  const maxAge = parameters.get('max_age')
  return {
    clientId: client.id,
    redirectUri,
    scopes: scopesIn(parameters.get('scope') ?? ''),
    state,
    nonce: parameters.get('nonce'),
    challenge: parameters.get('code_challenge'),
    isSilent: prompts.includes('none'),
    signsInAnew: prompts.includes('login') || prompts.includes('select_account'),
    maxAgeSeconds: maxAge === null ? null : Number(maxAge),
  }
}

/**
 * Whom the app expects, by `id_token_hint`: the uid of a User. Nobody else may be the answer (OpenID Connect Core 3.1.2.2), so a
 * forged one only spoils its own request, and its signature plays no part. null = the app sent none, `''` = it names nobody.
 */
export function expectedSubject(parameters: URLSearchParams): string | null {
  const hint = parameters.get('id_token_hint')
  if (hint === null) return null
  try {
    return stringOf(decodeJwt(hint).sub) ?? ''
  } catch {
    return ''
  }
}

/** Whether a request is wrong. */
export const isFault = (
  request: AuthorizationRequest | AuthorizationFault,
): request is AuthorizationFault => 'kind' in request

/** An error code, and what would be right. */
type Found = readonly [error: string, description: string]
type RequestCheck = (parameters: URLSearchParams, client: AppClient) => Found | null

const isText = (text: string): boolean => text.length <= LONGEST_TEXT && TEXT.test(text)

const CHECKS: readonly RequestCheck[] = [
  (parameters) => {
    for (const [name, error] of Object.entries(NOT_SUPPORTED))
      if (parameters.has(name)) return [error, `${name} is not supported: send plain parameters`]
    return null
  },
  (parameters) =>
    ['state', 'nonce'].every((name) => isText(parameters.get(name) ?? ''))
      ? null
      : ['invalid_request', `state and nonce have ${LONGEST_TEXT} ASCII characters at most`],
  (parameters) => {
    const type = parameters.get('response_type')
    if (type === 'code') return null
    if (type === null) return ['invalid_request', 'response_type must be code']
    return ['unsupported_response_type', 'response_type must be code']
  },
  (parameters) =>
    [null, 'query'].includes(parameters.get('response_mode'))
      ? null
      : ['invalid_request', 'response_mode must be query'],
  (parameters) =>
    scopesIn(parameters.get('scope') ?? '').includes('openid')
      ? null
      : ['invalid_scope', 'scope must name openid'],
  challengeFault,
  promptFault,
  (parameters) => {
    const maxAge = parameters.get('max_age')
    return maxAge === null || MAX_AGE.test(maxAge)
      ? null
      : ['invalid_request', 'max_age is a number of seconds']
  },
]

function firstFault(parameters: URLSearchParams, client: AppClient): Found | null {
  for (const check of CHECKS) {
    const found = check(parameters, client)
    if (found !== null) return found
  }
  return null
}

function challengeFault(parameters: URLSearchParams, { isPublic }: AppClient): Found | null {
  const [challenge, method] = ['code_challenge', 'code_challenge_method'].map((name) =>
    parameters.get(name),
  )
  if (challenge === null && method === null)
    return isPublic ? ['invalid_request', 'a public client must send code_challenge'] : null
  // Absent means `plain`, by which whoever sees the request has the verifier.
  if (method !== 'S256') return ['invalid_request', 'code_challenge_method must be S256']
  return CHALLENGE.test(challenge ?? '')
    ? null
    : ['invalid_request', 'code_challenge is a SHA-256 in base64url: 43 characters']
}

/** Consent is the administrator's, who set the app up: `consent` changes nothing. */
const PROMPTS = ['none', 'login', 'consent', 'select_account']

const promptsIn = (parameters: URLSearchParams): readonly string[] =>
  (parameters.get('prompt') ?? '').split(' ').filter((prompt) => prompt !== '')

function promptFault(parameters: URLSearchParams): Found | null {
  const prompts = promptsIn(parameters)
  const isMixed = prompts.includes('none') && prompts.length > 1
  return isMixed || !prompts.every((prompt) => PROMPTS.includes(prompt))
    ? ['invalid_request', 'prompt is none, or of login, consent and select_account']
    : null
}
