// The claims of a person for an app, current at each request (contract 26.3, OpenID Connect Core 5.3).
import type { RouteAnswer } from '../../answers.ts'
import type { RouteContext } from '../route.ts'
import { readGrant } from '../../apps/grant-writes.ts'
import { issueOf } from './served.ts'
import { currentClaims, hasSession, readPerson } from './person.ts'
import { type AccessToken, verifyAccessToken } from '../../apps/tokens.ts'

const BEARER = /^bearer ([\w.-]+)$/i

/** `GET` and `POST /oidc/apps/userinfo`, with an access token in header `Authorization` and nowhere else. */
export async function userinfoRoute(context: RouteContext): Promise<RouteAnswer> {
  const { request, deps } = context
  const sent = BEARER.exec(request.appAuthorization ?? '')?.[1]
  if (sent === undefined) return refused('Bearer realm="apps"', 'an access token is needed')
  const token = await verifyAccessToken(sent, issueOf(context))
  const user = token === null ? null : await personOf(token, context)
  if (token === null || user === null)
    return refused(
      'Bearer realm="apps", error="invalid_token"',
      'the access token is wrong, or has ended',
    )
  const claims = currentClaims(user, token.scopes, deps)
  return { status: 200, content: { json: { sub: user.uid, ...claims } } }
}

/** The person of a token; null = its grant, person or session has ended. */
async function personOf({ grant: name, subject, clientId }: AccessToken, { deps }: RouteContext) {
  const grant = (await readGrant(name, deps.sessions))?.grant ?? null
  if (grant === null || grant.userUid !== subject || grant.clientId !== clientId) return null
  const isOffline = grant.chain !== null
  return isOffline || (await hasSession(grant, deps)) ? readPerson(grant, deps) : null
}

const refused = (challenge: string, text: string): RouteAnswer => ({
  status: 401,
  content: { json: { error: 'invalid_token', error_description: text } },
  headers: { 'www-authenticate': challenge },
})
