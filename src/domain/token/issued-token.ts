// The claims of a token that was issued, as later decisions compare them with its owner.
import type { Scope } from '../../api/scope.gen.ts'
import { parseJsonMap } from '../json/json.ts'
import { firstUncoveredEntry } from '../scope/covers.ts'
import { claimedGroupsOf, groupsClaimOf, isScopedAudience, scopeClaimOf } from './token-claims.ts'
import { NO_TEAMS } from '../people/people.ts'

/** The claims of an issued token that later decisions use, without the token itself. */
export interface IssuedToken {
  readonly identity: string
  /** The groups claim without teams, as one text from `canonicalGroups`, for comparison. */
  readonly groups: string
  /** The teams of the user at issue, by name. */
  readonly teams: readonly string[]
  /** The scope claim: compact JSON, `*` when unrestricted. */
  readonly scope: string
  /** Whether only verifiers that enforce scopes accept the token (contract 7.1). */
  readonly isConfined: boolean
  readonly expiresMs: number
}

/**
 * Parses a token of the operator. It verifies no signature, because only the operator may write status. null when the
 * token is malformed, or was issued for another object.
 *
 * @param jti uid of the token object
 */
export function parseIssuedToken(token: string, jti: string): IssuedToken | null {
  const [, payload = ''] = token.split('.')
  const claims = decodePayload(payload)
  if (claims?.['jti'] !== jti) return null
  const { sub, groups, exp, iss, aud } = claims
  const scope = (claims['platform.sh'] as { readonly scope?: unknown } | null | undefined)?.scope
  const isWellFormed = typeof sub === 'string' && isScopeText(scope) && Number.isSafeInteger(exp)
  if (!isWellFormed || !Array.isArray(groups)) return null
  const isConfined = isScopedAudience(aud, String(iss))
  const { teams, others } = claimedGroupsOf(sub, groups)
  return {
    identity: sub,
    groups: canonicalGroups(others),
    teams,
    scope,
    isConfined,
    expiresMs: Number(exp) * 1000,
  }
}

/** Groups as one text: equal sets give equal text, whatever their order. */
const canonicalGroups = (groups: readonly string[]): string =>
  [...new Set(groups)].toSorted().join('\n')

/** Whether it was issued for this identity, and these groups besides teams. */
export const isIssuedFor = (
  issued: IssuedToken,
  identity: string | null,
  groups: readonly string[],
): boolean =>
  identity !== null &&
  identity === issued.identity &&
  canonicalGroups(groupsClaimOf(identity, groups, NO_TEAMS)) === issued.groups

/** A team in the token's groups that is not among the user's; undefined = there is none (contract 5.4). */
export const lostTeamOf = (
  { teams }: IssuedToken,
  isInTeam: (team: string) => boolean,
): string | undefined => teams.find((team) => !isInTeam(team))

/** Whether the scope covers the issued one. An equal scope does, even if this version can't parse it. */
export function isWithinScope(issued: IssuedToken, scope: Scope | null): boolean {
  if (issued.scope === scopeClaimOf(scope)) return true
  const granted = issuedScopeOf(issued)
  return scope === null || (granted !== null && firstUncoveredEntry(granted, scope) === null)
}

/** The scope that a token was issued with; null = unrestricted. */
export const issuedScopeOf = ({ scope }: IssuedToken): Scope | null =>
  scope === '*' ? null : (JSON.parse(scope) as Scope)

const isScopeText = (text: unknown): text is string =>
  text === '*' || (typeof text === 'string' && parseJsonMap(text) !== null)

function decodePayload(payload: string): Readonly<Record<string, unknown>> | null {
  try {
    const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    return parseJsonMap(new TextDecoder().decode(bytes))
  } catch {
    return null
  }
}
