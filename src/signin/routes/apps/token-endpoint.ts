// Where apps get tokens for a code or a refresh token (contract 26.3). It is for programs: no cookie is read here, and no header
// lets scripts of other sites read an answer.
import { hash, timingSafeEqual } from 'node:crypto'
import type { RouteAnswer } from '../../answers.ts'
import { FORM_TYPE, bodyFields, withValues } from '../../http/request.ts'
import { nameDigits } from '../../attempts/attempt.ts'
import { MAX_BODY_BYTES } from '../password.ts'
import type { RouteContext } from '../route.ts'
import { authenticatedClient } from './client-authentication.ts'
import type { AppClient } from '../../apps/clients.ts'
import { openCode } from '../../apps/codes.ts'
import { createGrant, endSurplus } from '../../apps/grant-writes.ts'
import type { AppGrant } from '../../apps/grants.ts'
import { issueTokens } from './issue.ts'
import { issueOf } from './served.ts'
import { APP_GRANT_TYPES, type TokenTrace } from '../../apps/parts.ts'
import { hasSession, readPerson } from './person.ts'
import { newChain } from '../../apps/refresh-chain.ts'
import { refreshedTokens } from './refresh.ts'
import { TokenRefused, refusalOf, tokenRefusal } from '../../apps/refusal.ts'
import { scopesIn } from '../../apps/scopes.ts'

/** `POST /oidc/apps/token`. */
export async function tokenRoute(context: RouteContext): Promise<RouteAnswer> {
  const trace: TokenTrace = { grant: null, client: '', user: '' }
  try {
    const json = await answered(context, trace)
    report(context, trace, null)
    return { status: 200, content: { json } }
  } catch (error) {
    const refused = refusalOf(error)
    report(context, trace, refused)
    return tokenRefusal(refused)
  }
}

function report(
  { request, deps }: RouteContext,
  { grant, client, user }: TokenTrace,
  refused: TokenRefused | null,
): void {
  const outcome = refused?.error ?? 'issued'
  deps.apps.reported({ grant, outcome })
  const { remoteAddress: address, id: requestID } = request
  const fields = { grant, client, user, outcome, ...causeOf(refused), address, requestID }
  deps.sessions.log.info(fields, 'tokens for an app')
}

/** Fields of the log. */
function causeOf(refused: TokenRefused | null): object {
  if (refused === null) return {}
  const { message: because, cause: err } = refused
  return { because, ...(err === undefined ? {} : { err }) }
}

async function answered(context: RouteContext, trace: TokenTrace): Promise<object> {
  // Before a code is taken for which nothing could be signed.
  issueOf(context)
  const fields = new Map(withValues(await bodyFields(context.request, [FORM_TYPE], MAX_BODY_BYTES)))
  const client = authenticatedClient(context, fields)
  trace.client = client.id
  const asked = fields.get('grant_type')
  if (asked === undefined) throw new TokenRefused('invalid_request', 'grant_type is missing')
  trace.grant = APP_GRANT_TYPES.find((type) => type === asked) ?? null
  if (trace.grant === 'authorization_code') return codeTokens(context, client, fields, trace)
  if (trace.grant === 'refresh_token') return refreshedTokens(context, client, fields, trace)
  throw new TokenRefused(
    'unsupported_grant_type',
    'grant_type is authorization_code or refresh_token',
  )
}

const CODE_REFUSED = 'the code is wrong or older than a minute, or was not made for this request'

async function codeTokens(
  context: RouteContext,
  client: AppClient,
  fields: ReadonlyMap<string, string>,
  trace: TokenTrace,
): Promise<object> {
  const { deps, keys } = context
  const nowMs = deps.clock.nowMs()
  const code = await openCode(fields.get('code') ?? '', keys, nowMs)
  const isItsCode =
    code !== null &&
    code.clientId === client.id &&
    code.redirectUri === fields.get('redirect_uri') &&
    isVerified(code.challenge, fields.get('code_verifier'), client)
  if (!isItsCode) throw new TokenRefused('invalid_grant', CODE_REFUSED)
  trace.user = code.user
  const user = await readPerson(code, deps)
  if (user === null || !(await hasSession(code, deps)))
    throw new TokenRefused('invalid_grant', 'the person may not enter, or has signed out')
  const scopes = scopesIn(code.scope)
  const name = `oidc-${nameDigits(code.id)}`
  const refresh = scopes.includes('offline_access') ? newChain(name, deps.random) : null
  const { clientId, userUid, session, authMs, nonce, redirectUri } = code
  const made: AppGrant = {
    name,
    clientId,
    user: code.user,
    userUid,
    scopes,
    authMs,
    session,
    madeMs: nowMs,
    chain: refresh?.chain ?? null,
    isEnded: false,
  }
  const token = refresh?.token ?? null
  await createGrant(made, token === null ? null : { nonce, redirectUri, user, token }, deps)
  await endSurplus(made, deps)
  return issueTokens({ grant: made, user, scopes, nonce, refreshToken: token }, context)
}

const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

/** Whether the verifier answers the challenge (RFC 7636). A verifier without a challenge is a mix-up of two requests. */
function isVerified(
  challenge: string | null,
  verifier: string | undefined,
  { isPublic }: AppClient,
): boolean {
  if (challenge === null) return verifier === undefined && !isPublic
  if (verifier === undefined || !VERIFIER.test(verifier)) return false
  const answer = hash('sha256', verifier, 'base64url')
  return (
    answer.length === challenge.length &&
    timingSafeEqual(Buffer.from(answer), Buffer.from(challenge))
  )
}
