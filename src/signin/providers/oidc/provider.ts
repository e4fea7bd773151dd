// Sign-in through an OpenID Connect provider (contract 25.6): authorization code flow with PKCE.
import { calculatePKCECodeChallenge } from 'openid-client'
import type { OidcProvider } from '../../../api/config.gen.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import {
  type AttemptSecrets,
  OAUTH_BINDING,
  type ProviderHealth,
  type ProviderOptions,
  type SignInProvider,
} from '../provider.ts'
import { exchangeCode } from './code-exchange.ts'
import { type OidcSetup, setupOf } from './setup.ts'

/** Creates a provider. It calls none until it is used; unusable settings are refused then. */
export function createOidcProvider(options: ProviderOptions<OidcProvider>): SignInProvider {
  const { id, displayName, settings } = options
  const made = setupOf(options)
  const setup = (): OidcSetup => {
    if (typeof made === 'string') throw new SignInRefused('provider_unusable', made)
    return made
  }
  const host = URL.parse(settings.issuerUrl ?? '')?.host ?? id
  const warnings = settings.insecureCa === true ? [INSECURE] : []
  return {
    id,
    kind: 'oidc',
    label: displayName || settings.type || `OpenID Connect (${host})`,
    binding: OAUTH_BINDING,
    begin: async (secrets, signal) => ({
      url: await unlessAborted(signal, () => authorizationUrl(setup(), secrets)),
      form: null,
    }),
    finish: (callback, secrets, signal) =>
      unlessAborted(signal, () => exchangeCode(setup(), callback, secrets, signal)),
    endSession: (idToken, signal) =>
      unlessAborted(signal, () => endSessionUrl(setup(), idToken)).catch(() => null),
    check: (signal) =>
      unlessAborted(signal, () => setup().discovery.read()).then(
        () => ({ fault: null, warnings }),
        (error) => ({ fault: faultOf(error), warnings }),
      ),
  }
}

const INSECURE: ProviderHealth['warnings'][number] =
  'its certificates are not validated (insecureCa)'

const faultOf = (error: unknown): string =>
  error instanceof SignInRefused ? error.because : 'it cannot be tried'

/** Ends early when the signal aborts; documents that other callers wait for are still read. */
async function unlessAborted<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(new SignInRefused('provider_unreachable', 'the caller has gone'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, act()])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const DEFAULT_SCOPES = ['email', 'profile']

async function authorizationUrl(
  { settings, clientId, redirectURI, discovery }: OidcSetup,
  { state, nonce, verifier }: AttemptSecrets,
): Promise<URL> {
  const { metadata } = await discovery.current()
  const scopes = settings.scopes?.length ? settings.scopes : DEFAULT_SCOPES
  return withParameters(metadata.authorizationEndpoint, {
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectURI,
    scope: [...new Set(['openid', ...scopes])].join(' '),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    // A provider gives a refresh token only to who has just consented (OpenID Connect Core 11).
    ...(scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
  })
}

async function endSessionUrl(
  { settings: { postLogoutRedirectURI }, clientId, discovery }: OidcSetup,
  idToken: string | null,
): Promise<URL | null> {
  const { endSessionEndpoint } = (await discovery.current()).metadata
  if (endSessionEndpoint === null) return null
  return withParameters(endSessionEndpoint, {
    client_id: clientId,
    ...(idToken === null ? {} : { id_token_hint: idToken }),
    ...(postLogoutRedirectURI ? { post_logout_redirect_uri: postLogoutRedirectURI } : {}),
  })
}

/** The address with parameters, which replace those that it has. */
function withParameters(address: string, parameters: Readonly<Record<string, string>>): URL {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}
