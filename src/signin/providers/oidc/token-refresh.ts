// A person is asked for again (contract 25.7): the refresh token for new tokens, and the claims of these. A provider may end the old
// refresh token with its answer, so what came is kept before anything can fail.
import * as client from 'openid-client'
import type { JsonMap } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import type { Clock } from '../../../runtime/clock.ts'
import {
  authorityIn,
  type KnownAccount,
  type ProviderIdentity,
  type ProviderTokens,
} from '../provider.ts'
import { isStorable, unverifiedToken } from './id-token.ts'
import { causeOf, refusalOf } from './refusal.ts'
import type { OidcSetup } from './setup.ts'
import { clientFor, grantedTokens, refreshEnd, tokenParameters, vouchedFor } from './token-grant.ts'

/** Stores tokens. */
type Keep = (tokens: ProviderTokens) => Promise<void>

/** `keep` has failed; its error is the cause. */
class KeepFailed extends Error {}

/**
 * Who the account is now.
 *
 * @throws SignInRefused, GrantEnded where the refresh token has ended; what `keep` throws
 */
export async function refreshTokens(
  setup: OidcSetup,
  account: KnownAccount,
  keep: Keep,
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  try {
    return await askAgain(setup, account, keep, signal)
  } catch (error) {
    const failed = causeOf(error, KeepFailed)
    throw failed === null ? refusalOf(error) : failed.cause
  }
}

async function askAgain(
  setup: OidcSetup,
  { subject, tokens: old }: KnownAccount,
  keep: Keep,
  signal: AbortSignal,
): Promise<ProviderIdentity> {
  const issuer = authorityIn(subject)
  if (!setup.dialect.issuers.mayAnswer(issuer))
    throw new SignInRefused('provider_unusable', 'the account is of another provider')
  if (old.refreshToken === null)
    throw new SignInRefused('provider_answer', 'the session has no refresh token')
  const published = await setup.discovery.current()
  const receive = (fields: JsonMap): Promise<void> =>
    keepNew(replacedTokens(fields, old, setup.clock), keep)
  const grant = { setup, published, issuer, answered: null, receive, signal }
  const config = clientFor(grant)
  const parameters = tokenParameters(setup)
  const answer = await client.refreshTokenGrant(config, old.refreshToken, parameters)
  const { claims, tokens: granted } = grantedTokens(setup, answer)
  const { accessToken, refreshToken, idToken } = granted
  const known = claims ?? storedClaims(old)
  const verified = await vouchedFor(grant, config, known, accessToken)
  return {
    ...(await setup.dialect.identify(verified, signal)),
    tokens: {
      accessToken,
      refreshToken: refreshToken ?? old.refreshToken,
      idToken: idToken ?? old.idToken,
    },
  }
}

async function keepNew(tokens: ProviderTokens | null, keep: Keep): Promise<void> {
  if (tokens === null) return
  try {
    await keep(tokens)
  } catch (cause) {
    throw new KeepFailed('the new tokens could not be kept', { cause })
  }
}

/** The tokens, those that have come in the place of the old ones; null = none has come. The ID token is not verified yet. */
function replacedTokens(fields: JsonMap, old: ProviderTokens, clock: Clock): ProviderTokens | null {
  const refreshToken = storableText(fields['refresh_token'])
  const accessToken = storableText(fields['access_token'])
  if (refreshToken === null && accessToken === null) return null
  return {
    refreshToken: refreshToken ?? old.refreshToken,
    accessToken: accessToken ?? old.accessToken,
    idToken: old.idToken,
    ...(refreshToken === null ? endOf(old) : {}),
    ...refreshEnd(fields, clock),
  }
}

const endOf = ({ refreshEndsMs }: ProviderTokens): Pick<ProviderTokens, 'refreshEndsMs'> =>
  refreshEndsMs === undefined ? {} : { refreshEndsMs }

const storableText = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && isStorable(value) ? value : null

/** What the last ID token said, which was verified when it came: an answer need not have one (OpenID Connect Core 12.2). */
function storedClaims({ idToken }: ProviderTokens): JsonMap {
  const stored = idToken === null ? null : unverifiedToken(idToken)
  if (stored === null)
    throw new SignInRefused('provider_answer', 'neither the answer nor the session has an ID token')
  return stored.claims
}
