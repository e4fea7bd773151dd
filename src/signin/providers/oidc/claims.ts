// Who the claims of a provider name (contract 25.6, table `oidc`).
import type { OidcProvider } from '../../../api/config.gen.ts'
import { isMap, type JsonMap, ownValue } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { LONGEST_TEXT, shownName } from '../answers.ts'
import { groupsWithoutTitle, MOST_GROUPS, requireGroup } from '../groups.ts'
import type { VerifiedIdentity } from './dialect.ts'

/** The claims that say for whom and by whom a token was made; userinfo does not replace them. */
const FIXED_CLAIMS = ['iss', 'sub', 'aud', 'azp', 'nonce', 'exp', 'iat']

const emailClaimOf = ({ emailClaim }: OidcProvider): string => emailClaim || 'email'

/** The claims of the ID token; the claims of userinfo replace them (`getUserInfo`). */
export function withUserinfo(idToken: JsonMap, userinfo: JsonMap, settings: OidcProvider): JsonMap {
  const emailClaim = emailClaimOf(settings)
  const hasEmail = Object.hasOwn(userinfo, emailClaim)
  // email_verified speaks of the address beside it: one document must not vouch for the address in the other.
  const left = hasEmail ? ['email_verified'] : []
  const kept = Object.entries(idToken).filter(([name]) => !left.includes(name))
  const ignored = hasEmail ? FIXED_CLAIMS : [...FIXED_CLAIMS, 'email_verified']
  const replacing = Object.entries(userinfo).filter(([name]) => !ignored.includes(name))
  return Object.fromEntries([...kept, ...replacing])
}

/**
 * Who verified claims name, with the groups that they have.
 *
 * @throws SignInRefused whose cause names claims and settings, never their values
 */
export function identityOf(claims: JsonMap, settings: OidcProvider): VerifiedIdentity {
  const groups = groupsIn(claims, settings.groupsClaim || 'groups')
  requireGroup(groups, settings.groups)
  return {
    ...personOf(claims, settings),
    groups: groupsWithoutTitle(groups),
    groupsPrefix: settings.groupsPrefix ?? '',
  }
}

/** Who verified claims name. @throws SignInRefused as identityOf does */
export function personOf(
  claims: JsonMap,
  settings: OidcProvider,
): Omit<VerifiedIdentity, 'groups' | 'groupsPrefix'> {
  const email = textIn(claims, emailClaimOf(settings))
  const displayName = ownValue(claims, 'name')
  const preferredClaim = settings.preferredUsername || 'preferred_username'
  return {
    subject: `${requiredText(claims, 'iss')}#${requiredText(claims, 'sub')}`,
    username: usernameIn(claims, settings, preferredClaim),
    displayName: shownName(displayName),
    email,
    emailVerified: email !== null && ownValue(claims, 'email_verified') === true,
    userId: requiredText(claims, settings.usernameClaim || 'sub'),
    preferredUsername: textIn(claims, preferredClaim),
    extraClaims: extraClaimsIn(claims, settings.allowedExtraClaims ?? []),
  }
}

/** The user name with its prefix; null = no claim has one. */
function usernameIn(
  claims: JsonMap,
  settings: OidcProvider,
  preferredClaim: string,
): string | null {
  const emailClaim = emailClaimOf(settings)
  const isVerified = ownValue(claims, 'email_verified') === true
  const named = settings.platformUsernameClaim || preferredClaim
  const name = textIn(claims, named)
  if (name !== null && named === emailClaim && !isVerified && hasVerdict(claims))
    throw new SignInRefused(
      'name_refused',
      `the name is claim ${named}, and email_verified is not true`,
    )
  const other = settings.platformUsernameClaim || !isVerified ? null : textIn(claims, emailClaim)
  const found = name ?? other
  return found === null ? null : `${settings.usernamePrefix ?? ''}${found}`
}

const hasVerdict = (claims: JsonMap): boolean =>
  (ownValue(claims, 'email_verified') ?? undefined) !== undefined

/** A claim that is a text, if it is there. @throws SignInRefused */
export function textIn(claims: JsonMap, name: string): string | null {
  const value = ownValue(claims, name) ?? null
  if (value === null || value === '') return null
  if (typeof value !== 'string' || value.length > LONGEST_TEXT)
    throw new SignInRefused(
      'provider_answer',
      `claim ${name} must be a text of at most ${LONGEST_TEXT} characters`,
    )
  return value
}

function requiredText(claims: JsonMap, name: string): string {
  const text = textIn(claims, name)
  if (text === null) throw new SignInRefused('provider_answer', `claim ${name} is absent`)
  return text
}

/** The names of the groups in a claim, each once. @throws SignInRefused */
export function groupsIn(claims: JsonMap, claim: string): readonly string[] {
  const value = ownValue(claims, claim) ?? []
  const elsewhere = ownValue(claims, '_claim_names')
  // The groups were too many for the token, and the provider says where they are (OpenID Connect Core 5.6.2).
  if (!Object.hasOwn(claims, claim) && isMap(elsewhere) && Object.hasOwn(elsewhere, claim))
    throw new SignInRefused('groups_unreadable', `claim ${claim} is not in the token`)
  const found = typeof value === 'string' ? [value] : value
  if (!Array.isArray(found) || !found.every(isGroupName))
    throw new SignInRefused('provider_answer', `claim ${claim} must be a text or a list of texts`)
  if (found.length > MOST_GROUPS)
    throw new SignInRefused(
      'groups_unreadable',
      `claim ${claim} has more than ${MOST_GROUPS} groups`,
    )
  return [...new Set(found.filter((name) => name !== ''))]
}

const isGroupName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= LONGEST_TEXT

const EXTRA_CLAIMS_BYTES = 16_384

function extraClaimsIn(claims: JsonMap, allowed: readonly string[]): JsonMap {
  const extra = Object.fromEntries(
    Object.entries(claims).filter(([name]) => allowed.includes(name)),
  )
  if (Buffer.byteLength(JSON.stringify(extra)) > EXTRA_CLAIMS_BYTES)
    throw new SignInRefused('provider_answer', 'the claims of allowedExtraClaims exceed 16 KiB')
  return extra
}
