// The second half of a sign-in (contract 25.6): the code of the callback for tokens, and the claims of these. openid-client
// checks state, issuer of the callback, signature, iss, aud, nonce and exp; id-token.ts the rest.
import * as client from 'openid-client'
import { type JsonMap, stringOf } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import type { OutgoingAnswer } from '../outgoing.ts'
import type {
  AttemptSecrets,
  ProviderCallback,
  ProviderIdentity,
  ProviderTokens,
} from '../provider.ts'
import { withUserinfo } from './claims.ts'
import { authenticationOf } from './client-authentication.ts'
import { createFetch } from './client-fetch.ts'
import type { VerifiedClaims } from './dialect.ts'
import type { Published } from './discovery.ts'
import {
  ALGORITHMS,
  isStorable,
  TOLERANCE_SECONDS,
  type UnverifiedToken,
  unverifiedToken,
  wrongClaim,
} from './id-token.ts'
import { causeOf, refusalOf } from './refusal.ts'
import type { OidcSetup } from './setup.ts'

/** A code, and all that it is exchanged with. */
interface CodeExchange {
  readonly setup: OidcSetup
  readonly published: Published
  readonly callback: ProviderCallback
  readonly secrets: AttemptSecrets
  readonly signal: AbortSignal
}

/** Who has signed in. @throws SignInRefused */
export async function exchangeCode(
  setup: OidcSetup,
  callback: ProviderCallback,
  secrets: AttemptSecrets,
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  const published = await setup.discovery.current()
  const exchange = { setup, published, callback, secrets, signal }
  try {
    const { verified, tokens } = await redeem(exchange)
    return { ...(await setup.dialect.identify(verified, signal)), tokens }
  } catch (error) {
    throw refusalOf(error)
  }
}

/** Claims that every check has passed, and the tokens that came with them. */
interface Redeemed {
  readonly verified: VerifiedClaims
  readonly tokens: ProviderTokens & { readonly accessToken: string }
}

/** The ID token is one of another issuer of the provider than the expected one, such as of another tenant. */
class OtherIssuer extends Error {
  readonly issuer: string
  /** The answer with the token: a code works once. */
  readonly answer: OutgoingAnswer

  constructor(issuer: string, answer: OutgoingAnswer) {
    super('the token is of another issuer')
    this.issuer = issuer
    this.answer = answer
  }
}

/** Asks the token endpoint once, and verifies the answer as one of the issuer that the token should be of. */
async function redeem(exchange: CodeExchange): Promise<Redeemed> {
  const { setup, published, callback } = exchange
  const named = callback.parameters.get('iss')
  const isNamed = named !== null && setup.dialect.issuers.mayAnswer(named)
  try {
    return await redeemAt(exchange, isNamed ? named : published.metadata.issuer, null)
  } catch (error) {
    const other = causeOf(error, OtherIssuer)
    if (other === null) throw error
    return redeemAt(exchange, other.issuer, other.answer)
  }
}

async function redeemAt(
  exchange: CodeExchange,
  issuer: string,
  answered: OutgoingAnswer | null,
): Promise<Redeemed> {
  const { setup, published, signal } = exchange
  const { send, redirectURI, discovery } = setup
  const { issuers } = setup.dialect
  const config = configurationOf(setup, published, issuer)
  const expectToken = async (token: UnverifiedToken, answer: OutgoingAnswer): Promise<void> => {
    const expected = issuers.ofToken(token.claims)
    if (expected === null)
      throw new SignInRefused('provider_answer', 'no issuer of the provider has such an ID token')
    if (expected !== issuer) throw new OtherIssuer(expected, answer)
    const { keys } = await discovery.withKey(token.keyId)
    const usable = keys.filter((key) => issuers.signs(key, issuer))
    // A set that looks new to openid-client, so that it fetches none itself.
    client.setJwksCache(config, { jwks: { keys: usable }, uat: Math.floor(Date.now() / 1000) })
  }
  const { tokenEndpoint } = published.metadata
  const fetchOptions = { send, tokenEndpoint, redirectURI, answered, expectToken, signal }
  config[client.customFetch] = createFetch(fetchOptions)
  const { claims, tokens } = await verifiedTokens(exchange, config)
  const userinfo = await userinfoOf(setup, config, claims, tokens)
  const { client: settings } = setup.dialect
  const all = userinfo === null ? claims : withUserinfo(claims, userinfo, settings)
  const { accessToken } = tokens
  const verified = { claims: all, userinfo, accessToken, issuer: published.metadata.issuer }
  return { verified, tokens }
}

/** A configuration for one sign-in: openid-client keeps what it has seen in it. */
function configurationOf(
  { dialect, clientId, clock }: OidcSetup,
  { metadata }: Published,
  issuer: string,
): client.Configuration {
  const { tokenEndpoint, keysUrl, userinfoEndpoint, namesItself, takesBasic } = metadata
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
  const authentication = authenticationOf(dialect.client.clientSecret, takesBasic)
  const config = new client.Configuration(server, clientId, times, authentication)
  // The schemes of all addresses were checked when they were read.
  client.allowInsecureRequests(config)
  client.enableNonRepudiationChecks(config)
  return config
}

async function verifiedTokens(
  { setup, callback: { parameters }, secrets }: CodeExchange,
  config: client.Configuration,
): Promise<{ readonly claims: JsonMap; readonly tokens: Redeemed['tokens'] }> {
  const { redirectURI, clientId, clock, dialect } = setup
  const { resource } = dialect.client
  const { state: expectedState, nonce: expectedNonce, verifier: pkceCodeVerifier } = secrets
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
  const header = unverifiedToken(idToken)
  const claims = answer.claims()
  if (header === null || claims === undefined || ![accessToken, refreshToken].every(isStorable))
    throw new SignInRefused('provider_answer', 'a token is absent or too large')
  const expected = { clientId, algorithm: header.algorithm, accessToken, nowMs: clock.nowMs() }
  const wrong = wrongClaim(claims as JsonMap, expected)
  if (wrong !== null) throw new SignInRefused('provider_answer', `claim ${wrong} of the ID token`)
  return { claims: claims as JsonMap, tokens: { accessToken, idToken, refreshToken } }
}

async function userinfoOf(
  { dialect }: OidcSetup,
  config: client.Configuration,
  claims: JsonMap,
  { accessToken }: Redeemed['tokens'],
): Promise<JsonMap | null> {
  if (dialect.client.getUserInfo !== true) return null
  const subject = stringOf(claims['sub']) ?? ''
  return (await client.fetchUserInfo(config, accessToken, subject)) as JsonMap
}
