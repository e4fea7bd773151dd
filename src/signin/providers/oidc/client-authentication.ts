// How the client proves itself to the token endpoint (contract 25.6).
import type * as client from 'openid-client'
import { ClientSecretPost, None } from 'openid-client'

/**
 * The authentication of a client.
 *
 * @param secret absent or empty = a public client
 * @param takesBasic whether the token endpoint takes header Authorization
 */
export function authenticationOf(
  secret: string | undefined,
  takesBasic: boolean,
): client.ClientAuth {
  if (!secret) return None()
  return takesBasic ? basicAuthentication(secret) : ClientSecretPost(secret)
}

/**
 * Id and secret in header Authorization, encoded as in forms (RFC 6749 2.3.1). openid-client encodes more than a form must,
 * such as `-`, which fails at servers that decode nothing: GitLab's secrets begin with `gloas-`.
 */
const basicAuthentication =
  (secret: string): client.ClientAuth =>
  (_server, { client_id: id }, _body, headers) => {
    const credentials = Buffer.from([id, secret].map(formEncoded).join(':'))
    headers.set('authorization', `Basic ${credentials.toString('base64')}`)
  }

/** A text as in a form, but for `~`, which every decoder leaves as it is. */
const formEncoded = (text: string): string =>
  new URLSearchParams({ '': text }).toString().slice(1).replaceAll('%7E', '~')
