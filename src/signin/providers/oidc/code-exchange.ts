// The second half of a sign-in (contract 25.6): the code of the callback for tokens, and the claims of these. openid-client
// checks state, issuer of the callback, signature, iss, aud, nonce and exp; id-token.ts the rest.
import * as client from 'openid-client'
import { type JsonMap, stringOf } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import type {
  AttemptSecrets,
  ProviderCallback,
  ProviderIdentity,
  ProviderTokens,
} from '../provider.ts'
import { identityOf, withUserinfo } from './claims.ts'
import { createFetch } from './client-fetch.ts'
import type { Published } from './discovery.ts'
import { ALGORITHMS, isStorable, TOLERANCE_SECONDS, tokenHeader, wrongClaim } from './id-token.ts'
import { refusalOf } from './refusal.ts'
import type { OidcSetup } from './setup.ts'

/** Who has signed in. @throws SignInRefused */
export async function exchangeCode(
  setup: OidcSetup,
  callback: ProviderCallback,
  secrets: AttemptSecrets,
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  const published = await setup.discovery.current()
  const config = configurationOf(setup, published)
  const expectKey = async (keyId: string | null): Promise<void> => {
    const { keys } = await setup.discovery.withKey(keyId)
    // A set that looks new to openid-client, so that it fetches none itself.
    client.setJwksCache(config, { jwks: { keys: [...keys] }, uat: Math.floor(Date.now() / 1000) })
  }
  const { tokenEndpoint } = published.metadata
  const { send, redirectURI } = setup
  config[client.customFetch] = createFetch({ send, tokenEndpoint, redirectURI, expectKey, signal })
  try {
    const { claims, tokens } = await verifiedTokens(setup, config, callback, secrets)
    const all = await allClaims(setup, config, claims, tokens)
    return { ...identityOf(all, setup.settings), tokens }
  } catch (error) {
    throw refusalOf(error)
  }
}

/** A configuration for one sign-in: openid-client keeps what it has seen in it. */
function configurationOf(
  { settings: { clientSecret }, clientId, clock }: OidcSetup,
  { metadata }: Published,
): client.Configuration {
  const { issuer, tokenEndpoint, keysUrl, userinfoEndpoint, namesItself, takesBasic } = metadata
  const server = {
    issuer,
    token_endpoint: tokenEndpoint,
    jwks_uri: keysUrl,
    ...(userinfoEndpoint === null ? {} : { userinfo_endpoint: userinfoEndpoint }),
    authorization_response_iss_parameter_supported: namesItself,
    id_token_signing_alg_values_supported: [...ALGORITHMS],
  }
  // openid-client reads the clock of the machine.
  const skewSeconds = Math.round((clock.nowMs() - Date.now()) / 1000)
  const times = { [client.clockSkew]: skewSeconds, [client.clockTolerance]: TOLERANCE_SECONDS }
  const authentication = authenticationOf(clientSecret, takesBasic)
  const config = new client.Configuration(server, clientId, times, authentication)
  // The schemes of all addresses were checked when they were read.
  client.allowInsecureRequests(config)
  client.enableNonRepudiationChecks(config)
  return config
}

function authenticationOf(secret: string | undefined, takesBasic: boolean): client.ClientAuth {
  if (!secret) return client.None()
  return takesBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret)
}

/** Claims of an ID token that every check has passed, and the tokens that came with it. */
interface VerifiedTokens {
  readonly claims: JsonMap
  readonly tokens: ProviderTokens & { readonly accessToken: string }
}

async function verifiedTokens(
  { settings: { resource }, redirectURI, clientId, clock }: OidcSetup,
  config: client.Configuration,
  { parameters }: ProviderCallback,
  { state: expectedState, nonce: expectedNonce, verifier: pkceCodeVerifier }: AttemptSecrets,
): Promise<VerifiedTokens> {
  const callback = new URL(redirectURI)
  callback.search = parameters.toString()
  const answer = await client.authorizationCodeGrant(
    config,
    callback,
    { expectedState, expectedNonce, pkceCodeVerifier, idTokenExpected: true },
    resource ? { resource } : {},
  )
  const { access_token: accessToken, id_token: idToken = '', refresh_token } = answer
  const refreshToken = refresh_token ?? null
  const header = tokenHeader(idToken)
  const claims = answer.claims()
  if (header === null || claims === undefined || ![accessToken, refreshToken].every(isStorable))
    throw new SignInRefused('provider_answer', 'a token is absent or too large')
  const expected = { clientId, algorithm: header.algorithm, accessToken, nowMs: clock.nowMs() }
  const wrong = wrongClaim(claims as JsonMap, expected)
  if (wrong !== null) throw new SignInRefused('provider_answer', `claim ${wrong} of the ID token`)
  return { claims: claims as JsonMap, tokens: { accessToken, idToken, refreshToken } }
}

async function allClaims(
  { settings }: OidcSetup,
  config: client.Configuration,
  claims: JsonMap,
  { accessToken }: VerifiedTokens['tokens'],
): Promise<JsonMap> {
  if (settings.getUserInfo !== true) return claims
  const subject = stringOf(claims['sub']) ?? ''
  const userinfo = await client.fetchUserInfo(config, accessToken, subject)
  return withUserinfo(claims, userinfo as JsonMap, settings)
}
