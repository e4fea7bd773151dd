// The client of OpenID Connect that all dialects share (contract 25.6): authorization code flow with PKCE.
import { calculatePKCECodeChallenge } from 'openid-client'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import {
  type AttemptSecrets,
  authorityIn,
  OAUTH_BINDING,
  type ProviderOptions,
  type ProviderRefresh,
  type SignInProvider,
  healthOf,
  usable,
} from '../provider.ts'
import { exchangeCode } from './code-exchange.ts'
import type { OidcDialect } from './dialect.ts'
import { type OidcSetup, setupOf } from './setup.ts'
import { refreshTokens } from './token-refresh.ts'

/** Creates a provider of a dialect. It calls none until it is used; unusable settings are refused then. */
export function createOidcClient(
  options: ProviderOptions<unknown>,
  dialect: OidcDialect,
): SignInProvider {
  const { id, displayName } = options
  const { kind, label, warnings } = dialect
  const made = setupOf(options, dialect)
  const setup = (): OidcSetup => usable(made)
  return {
    id,
    kind,
    label: displayName || label,
    binding: OAUTH_BINDING,
    begin: async (secrets, signal) => ({
      url: await unlessAborted(signal, () => authorizationUrl(setup(), secrets)),
      form: null,
    }),
    finish: (callback, secrets, signal) =>
      unlessAborted(signal, () => exchangeCode(setup(), callback, secrets, signal)),
    refresh: refreshOf(made),
    endSession: (idToken, signal) =>
      unlessAborted(signal, () => endSessionUrl(setup(), idToken)).catch(() => null),
    check: (signal) =>
      healthOf(warnings, () => unlessAborted(signal, () => tryAll(setup(), signal))),
  }
}

/** @param made a text = why the settings are unusable */
const refreshOf = (made: OidcSetup | string): ProviderRefresh => ({
  knows: (subject) =>
    typeof made === 'string' || made.dialect.issuers.mayAnswer(authorityIn(subject)),
  isPossible: ({ refreshToken }) => refreshToken !== null,
  ask: (account, keep, signal) =>
    unlessAborted(signal, () => refreshTokens(usable(made), account, keep, signal)),
})

async function tryAll({ discovery, dialect }: OidcSetup, signal: AbortSignal): Promise<[]> {
  await discovery.read()
  await dialect.tryLookUps(signal)
  return []
}

/** Ends early when the signal aborts; documents that other callers wait for are still read. */
async function unlessAborted<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  // Nobody would handle a rejection before `act` has returned.
  if (signal.aborted) throw callerGone()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(callerGone())
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, act()])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const callerGone = (): SignInRefused =>
  new SignInRefused('provider_unreachable', 'the caller has gone')

async function authorizationUrl(
  { dialect: { client, parameters }, clientId, redirectURI, discovery }: OidcSetup,
  { state, nonce, verifier }: AttemptSecrets,
): Promise<URL> {
  const { metadata } = await discovery.current()
  return withParameters(metadata.authorizationEndpoint, {
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectURI,
    scope: [...new Set(['openid', ...(client.scopes ?? [])])].join(' '),
    state,
    nonce,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...parameters,
  })
}

/**
 * Maximum length of a token in an address, in characters: servers refuse longer ones, and the gateway refuses answers with such
 * a header. Without the hint, a provider asks the person.
 */
const LONGEST_HINT = 6144

async function endSessionUrl(
  { dialect: { client }, clientId, discovery }: OidcSetup,
  idToken: string | null,
): Promise<URL | null> {
  const { postLogoutRedirectURI } = client
  const { endSessionEndpoint } = (await discovery.current()).metadata
  if (endSessionEndpoint === null) return null
  return withParameters(endSessionEndpoint, {
    client_id: clientId,
    ...(idToken === null || idToken.length > LONGEST_HINT ? {} : { id_token_hint: idToken }),
    ...(postLogoutRedirectURI ? { post_logout_redirect_uri: postLogoutRedirectURI } : {}),
  })
}

/** The address with parameters, which replace those that it has. */
function withParameters(address: string, parameters: Readonly<Record<string, string>>): URL {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}
