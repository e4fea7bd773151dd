// The second half of a sign-in (contract 25.6): the code of the callback for tokens, and the claims of these. openid-client checks
// state, nonce and the issuer of the callback; token-grant.ts has the rest.
import * as client from 'openid-client'
import type { JsonMap } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import type { OutgoingAnswer } from '../outgoing.ts'
import type { AttemptSecrets, ProviderCallback, ProviderIdentity } from '../provider.ts'
import type { VerifiedClaims } from './dialect.ts'
import type { Published } from './discovery.ts'
import { causeOf, refusalOf } from './refusal.ts'
import type { OidcSetup } from './setup.ts'
import {
  clientFor,
  type GrantedTokens,
  grantedTokens,
  OtherIssuer,
  tokenParameters,
  vouchedFor,
} from './token-grant.ts'

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
  readonly tokens: GrantedTokens['tokens']
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
  { setup, published, callback, secrets, signal }: CodeExchange,
  issuer: string,
  answered: OutgoingAnswer | null,
): Promise<Redeemed> {
  // openid-client would not say what is absent.
  const receive = async ({ id_token: idToken }: JsonMap): Promise<void> => {
    if (idToken === undefined) throw idTokenAbsent()
  }
  const grant = { setup, published, issuer, answered, receive, signal }
  const config = clientFor(grant)
  const { state: expectedState, nonce: expectedNonce, verifier: pkceCodeVerifier } = secrets
  const url = new URL(setup.redirectURI)
  url.search = callback.parameters.toString()
  const answer = await client.authorizationCodeGrant(
    config,
    url,
    { expectedState, expectedNonce, pkceCodeVerifier, idTokenExpected: true },
    tokenParameters(setup),
  )
  const { claims, tokens } = grantedTokens(setup, answer)
  if (claims === null) throw idTokenAbsent()
  return { verified: await vouchedFor(grant, config, claims, tokens.accessToken), tokens }
}

const idTokenAbsent = (): SignInRefused =>
  new SignInRefused('provider_answer', 'the ID token is absent')
