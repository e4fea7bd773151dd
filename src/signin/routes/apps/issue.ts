// The answer with tokens (contract 26.3).
import type { SignInUser } from '../../people/sign-in-user.ts'
import type { RouteContext } from '../route.ts'
import type { AppGrant } from '../../apps/grants.ts'
import { issueOf } from './served.ts'
import { currentClaims } from './person.ts'
import { TOKEN_SECONDS, signAccessToken, signIdToken } from '../../apps/tokens.ts'

/** What is issued. */
interface IssuedAppTokens {
  readonly grant: AppGrant
  readonly user: SignInUser
  /** At most what was granted. */
  readonly scopes: readonly string[]
  readonly nonce: string | null
  /** null = there is none. */
  readonly refreshToken: string | null
}

const ID_BYTES = 16

/** The JSON of the answer. @throws TokenRefused while there is no key to sign with */
export async function issueTokens(
  { grant, user, scopes, nonce, refreshToken }: IssuedAppTokens,
  context: RouteContext,
): Promise<object> {
  const { deps } = context
  const issue = issueOf(context)
  const holder = { subject: user.uid, clientId: grant.clientId }
  const id = deps.random(ID_BYTES).toString('base64url')
  const accessToken = await signAccessToken({ ...holder, grant: grant.name, scopes }, id, issue)
  const claims = currentClaims(user, scopes, deps)
  const about = { ...holder, authMs: grant.authMs, nonce, accessToken, claims }
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: TOKEN_SECONDS,
    scope: scopes.join(' '),
    // A refresh may ask for less than a sign-in.
    ...(scopes.includes('openid') ? { id_token: await signIdToken(about, issue) } : {}),
    ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
  }
}
