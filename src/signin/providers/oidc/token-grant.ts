// What every call of the token endpoint has in common (contract 25.6): the client that makes it, the keys that may have signed the
// ID token, the checks of what came, and userinfo. openid-client checks signature, iss, aud and exp; id-token.ts the rest.
import * as client from 'openid-client'
import { type JsonMap, stringOf } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { OutgoingAnswer } from '../outgoing.ts'
import type { ProviderTokens } from '../provider.ts'
import { withUserinfo } from './claims.ts'
import { authenticationOf } from './client-authentication.ts'
import { createFetch, type FetchOptions } from './client-fetch.ts'
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
import type { OidcSetup } from './setup.ts'

/** A call of the token endpoint, and what follows from it. */
interface TokenGrant extends Pick<FetchOptions, 'answered' | 'receive' | 'signal'> {
  readonly setup: OidcSetup
  readonly published: Published
  /** That the ID token must name. */
  readonly issuer: string
}

/** The ID token is one of another issuer of the provider than the expected one, such as of another tenant. */
export class OtherIssuer extends SignInRefused {
  readonly issuer: string
  /** The answer with the token: a code works once. */
  readonly answer: OutgoingAnswer

  constructor(issuer: string, answer: OutgoingAnswer) {
    super('provider_answer', 'the ID token is of another issuer than the account')
    this.issuer = issuer
    this.answer = answer
  }
}

/** A client for one call: openid-client keeps what it has seen in it. Its calls fail with OtherIssuer, too. */
export function clientFor(grant: TokenGrant): client.Configuration {
  const { setup, published, answered, receive, signal } = grant
  const { send, redirectURI } = setup
  const { tokenEndpoint } = published.metadata
  const config = configurationOf(grant)
  const expectToken = (token: UnverifiedToken, answer: OutgoingAnswer): Promise<void> =>
    offerKeys(config, grant, token, answer)
  const sent = { send, tokenEndpoint, redirectURI, signal }
  config[client.customFetch] = createFetch({ ...sent, answered, receive, expectToken })
  return config
}

function configurationOf({ setup, published, issuer }: TokenGrant): client.Configuration {
  const { dialect, clientId, clock } = setup
  const { metadata } = published
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

/** Gives openid-client the keys that sign for the issuer, among them the one that the token names. */
async function offerKeys(
  config: client.Configuration,
  { setup, issuer }: TokenGrant,
  token: UnverifiedToken,
  answer: OutgoingAnswer,
): Promise<void> {
  const { issuers } = setup.dialect
  const expected = issuers.ofToken(token.claims)
  if (expected === null)
    throw new SignInRefused('provider_answer', 'no issuer of the provider has such an ID token')
  if (expected !== issuer) throw new OtherIssuer(expected, answer)
  const { keys } = await setup.discovery.withKey(token.keyId)
  const usable = keys.filter((key) => issuers.signs(key, issuer))
  // A set that looks new to openid-client, so that it fetches none itself.
  client.setJwksCache(config, { jwks: { keys: usable }, uat: Math.floor(Date.now() / 1000) })
}

/** Parameters of every request for tokens. */
export const tokenParameters = ({ dialect }: OidcSetup): Readonly<Record<string, string>> =>
  dialect.client.resource ? { resource: dialect.client.resource } : {}

/** Tokens that have come. */
export interface GrantedTokens {
  /** Of the ID token, verified; null = none has come. */
  readonly claims: JsonMap | null
  readonly tokens: ProviderTokens & { readonly accessToken: string }
}

/** The tokens of an answer, after the checks that openid-client leaves to its user. @throws SignInRefused */
export function grantedTokens(
  { clientId, clock }: OidcSetup,
  answer: client.TokenEndpointResponse & client.TokenEndpointResponseHelpers,
): GrantedTokens {
  const { access_token: accessToken, id_token: idToken = null, refresh_token } = answer
  const refreshToken = refresh_token ?? null
  if (![accessToken, refreshToken].every(isStorable))
    throw new SignInRefused('provider_answer', 'a token is too large')
  const tokens = { accessToken, idToken, refreshToken, ...refreshEnd(answer, clock) }
  if (idToken === null) return { claims: null, tokens }
  const header = unverifiedToken(idToken)
  const claims = answer.claims()
  if (header === null || claims === undefined)
    throw new SignInRefused('provider_answer', 'the ID token has another form')
  const expected = { clientId, algorithm: header.algorithm, accessToken, nowMs: clock.nowMs() }
  const wrong = wrongClaim(claims as JsonMap, expected)
  if (wrong !== null) throw new SignInRefused('provider_answer', `claim ${wrong} of the ID token`)
  return { claims: claims as JsonMap, tokens }
}

/**
 * When the refresh token of an answer ends, where the provider says so. No standard has the field, but products whose tokens end
 * with a session there send it (Keycloak; 0 = it does not end).
 */
export function refreshEnd(
  { refresh_expires_in: seconds }: { readonly [field: string]: unknown },
  clock: Clock,
): Pick<ProviderTokens, 'refreshEndsMs'> {
  const isTime = typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0
  return isTime ? { refreshEndsMs: Math.round(clock.nowMs() + seconds * 1000) } : {}
}

/** What the provider vouches for by claims of an ID token, and by userinfo where it is asked for. @throws as openid-client does */
export async function vouchedFor(
  { setup, published }: TokenGrant,
  config: client.Configuration,
  claims: JsonMap,
  accessToken: string,
): Promise<VerifiedClaims> {
  const { client: settings } = setup.dialect
  const { issuer } = published.metadata
  if (settings.getUserInfo !== true) return { claims, userinfo: null, accessToken, issuer }
  const subject = stringOf(claims['sub']) ?? ''
  const userinfo = (await client.fetchUserInfo(config, accessToken, subject)) as JsonMap
  return { claims: withUserinfo(claims, userinfo, settings), userinfo, accessToken, issuer }
}
