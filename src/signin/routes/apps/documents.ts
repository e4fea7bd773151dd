// The documents by which apps find and verify everything (contract 26.1).
import type { RouteAnswer } from '../../answers.ts'
import type { RouteContext } from '../route.ts'
import { issueOf, servedIssuer } from './served.ts'
import { CLAIMS, SCOPES } from '../../apps/scopes.ts'
import { publishedKeys } from '../../apps/signing-keys.ts'

/** `GET /oidc/apps/.well-known/openid-configuration`. */
export function discoveryRoute({ state }: RouteContext): RouteAnswer {
  const issuer = servedIssuer(state)
  const json = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/keys`,
    end_session_endpoint: `${issuer}/end_session`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    code_challenge_methods_supported: ['S256'],
    scopes_supported: SCOPES,
    claims_supported: ['sub', ...Object.values(CLAIMS).flat(), 'auth_time', 'nonce'],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    authorization_response_iss_parameter_supported: true,
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
  return { status: 200, content: { json } }
}

/** `GET /oidc/apps/keys`. */
export function keysRoute(context: RouteContext): RouteAnswer {
  const { keys, nowMs } = issueOf(context)
  const shown = publishedKeys(keys, nowMs).map(({ publicKey }) => publicKey)
  return { status: 200, content: { json: { keys: shown } } }
}

/**
 * `/oidc/apps/end_session`: the page on which the person signs out by a button. A link of another site can't sign a person
 * out, and the person stays on the platform: the settings list no address for later.
 */
export const endSessionRoute = (): RouteAnswer => ({
  status: 303,
  content: { location: '/login' },
})
