// New tokens for a refresh token (contract 26.3).
import { isConflict } from '../../../kube/client/api-error.ts'
import type { RouteContext } from '../route.ts'
import type { AppClient } from '../../apps/clients.ts'
import { endGrant, readGrant, replaceChain } from '../../apps/grant-writes.ts'
import type { AppGrant, StoredGrant } from '../../apps/grants.ts'
import { issueTokens } from './issue.ts'
import { readPerson } from './person.ts'
import { grantOfToken, refreshVerdict } from '../../apps/refresh-chain.ts'
import { TokenRefused } from '../../apps/refusal.ts'
import type { TokenTrace } from '../../apps/parts.ts'

const REFRESH_REFUSED = 'the refresh token is wrong or has ended'

/** The answer to a refresh token. @throws TokenRefused */
export async function refreshedTokens(
  context: RouteContext,
  client: AppClient,
  fields: ReadonlyMap<string, string>,
  trace: TokenTrace,
): Promise<object> {
  const { deps } = context
  const sent = fields.get('refresh_token') ?? ''
  const stored = await grantOf(sent, client, context)
  const { grant } = stored
  trace.user = grant.user
  const scopes = narrowedScopes(grant, fields.get('scope'))
  const user = await readPerson(grant, deps)
  if (user === null) throw new TokenRefused('invalid_grant', 'the person may not enter')
  if (isOverCap(grant, context))
    throw new TokenRefused('invalid_grant', 'accessKeyMaxTTLSeconds has ended it: sign in again')
  const refreshToken = await rotated(sent, stored, deps)
  return issueTokens({ grant, user, scopes, nonce: null, refreshToken }, context)
}

/** The grant of the client that issued the token, however old that is. @throws TokenRefused */
async function grantOf(
  sent: string,
  client: AppClient,
  { request, deps }: RouteContext,
): Promise<StoredGrant> {
  const { apps, sessions, clock } = deps
  const name = grantOfToken(sent)
  // A new grant of another replica may not have come by the watch yet. Names that anybody makes up ask the API server seldom.
  const mayAsk =
    name !== null &&
    (apps.secrets.get(name, sessions.namespace) !== undefined ||
      apps.limits.admitsUnknown(client.id, request.remoteAddress, clock.monotonicMs()))
  const stored = mayAsk ? await readGrant(name, sessions) : null
  const { clientId, chain = null } = stored?.grant ?? {}
  const isIts =
    clientId === client.id &&
    chain !== null &&
    refreshVerdict(sent, chain, clock.nowMs()).kind !== 'foreign'
  if (stored === null || !isIts) throw new TokenRefused('invalid_grant', REFRESH_REFUSED)
  return stored
}

/** The scopes to issue. @throws TokenRefused for one that was not granted */
function narrowedScopes(grant: AppGrant, sent: string | undefined): readonly string[] {
  if (sent === undefined) return grant.scopes
  const asked = sent.split(' ').filter((scope) => scope !== '')
  if (asked.length === 0 || !asked.every((scope) => grant.scopes.includes(scope)))
    throw new TokenRefused('invalid_scope', 'scope may name what was granted, and no more')
  return grant.scopes.filter((scope) => asked.includes(scope))
}

/** Whether the cap on keys has ended the grant: its key is deleted later, and not readable here. */
function isOverCap({ madeMs }: AppGrant, { state, deps }: RouteContext): boolean {
  const capSeconds = state.settings.auth?.accessKeyMaxTTLSeconds ?? 0
  return capSeconds > 0 && deps.clock.nowMs() >= madeMs + capSeconds * 1000
}

/** Another worker of the app may send the same token at another replica. */
const MOST_TRIES = 4

/** The token that follows. @throws TokenRefused */
async function rotated(
  sent: string,
  first: StoredGrant,
  { sessions, clock }: RouteContext['deps'],
): Promise<string> {
  const { name } = first.grant
  let stored: StoredGrant | null = first
  for (let tries = 1; ; tries += 1) {
    const chain = stored?.grant.chain ?? null
    const verdict = chain && refreshVerdict(sent, chain, clock.nowMs())
    if (stored === null || verdict === null || verdict.kind === 'foreign')
      throw new TokenRefused('invalid_grant', REFRESH_REFUSED)
    if (verdict.kind === 'again') return verdict.token
    if (verdict.kind === 'reused') {
      await endGrant(name, sessions)
      throw new TokenRefused(
        'invalid_grant',
        'the refresh token was replaced before: all have ended',
      )
    }
    try {
      await replaceChain(stored, verdict.chain, sessions)
      return verdict.token
    } catch (error) {
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
    stored = await readGrant(name, sessions)
  }
}
