// The person whose token it is: account, e-mail address, organizations and teams (contract 25.6 "sourceHostA").
import { isMap, type JsonMap, ownValue } from '../../../domain/json/json.ts'
import { type SignInReason, SignInRefused } from '../../../domain/signin/refusals.ts'
import type { ProviderGroupName, ProviderIdentity } from '../provider.ts'
import { type PersonAccess, readList, readObject } from './api.ts'
import { admittedGroups, type Memberships } from './membership.ts'

/**
 * Reads the account, with the groups that count.
 *
 * @throws SignInRefused `groups_required` for who is in none of `orgs`, `groups_unreadable`, `provider_answer`, and as calls do
 */
export async function readPerson(access: PersonAccess): Promise<Omit<ProviderIdentity, 'tokens'>> {
  const user = await readObject(access, '/user')
  const id = ownValue(user, 'id')
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id <= 0)
    throw new SignInRefused('provider_answer', 'id of /user')
  const login = requiredText(user, 'login', { path: '/user', reason: 'provider_answer' })
  const displayName = ownValue(user, 'name')
  const email = await primaryEmail(access)
  return {
    subject: `${access.setup.addresses.api}#${id}`,
    username: login,
    displayName:
      typeof displayName === 'string'
        ? displayName.slice(0, LONGEST_NAME).toWellFormed() || null
        : null,
    email,
    emailVerified: email !== null,
    userId: String(id),
    preferredUsername: login,
    extraClaims: {},
    groups: await groupsOf(access),
    groupsPrefix: '',
  }
}

/** Maximum length of a name for people, which is cut. */
const LONGEST_NAME = 256

/** Maximum length of any other text. */
const LONGEST_TEXT = 1024

/** The one address that is both primary and verified: anybody can enter any other. */
async function primaryEmail(access: PersonAccess): Promise<string | null> {
  const found = await readList(access, { path: '/user/emails', unreadable: 'provider_answer' })
  const entry = found.find(({ primary, verified }) => primary === true && verified === true)
  const email = entry && ownValue(entry, 'email')
  return typeof email === 'string' && email.length <= LONGEST_TEXT ? email : null
}

async function groupsOf(access: PersonAccess): Promise<readonly ProviderGroupName[]> {
  const { orgs = [] } = access.setup.settings
  if (orgs.length === 0) return []
  const groups = admittedGroups(orgs, await membershipsOf(access))
  if (groups === null)
    throw new SignInRefused('groups_required', 'none of orgs admits the person', { detail: 'orgs' })
  return groups
}

const ORGS = { path: '/user/orgs', reason: 'groups_unreadable' } as const
const TEAMS = { path: '/user/teams', reason: 'groups_unreadable' } as const

async function membershipsOf(access: PersonAccess): Promise<Memberships> {
  const orgs = await readList(access, { path: ORGS.path, unreadable: ORGS.reason })
  const teams = await readList(access, { path: TEAMS.path, unreadable: TEAMS.reason })
  return {
    orgs: orgs.map((org) => requiredText(org, 'login', ORGS)),
    teams: teams.map((team) => ({
      org: requiredText(mapIn(team, 'organization'), 'login', TEAMS),
      slug: requiredText(team, 'slug', TEAMS),
      name: requiredText(team, 'name', TEAMS),
    })),
  }
}

function mapIn(map: JsonMap, name: string): JsonMap {
  const value = ownValue(map, name)
  return isMap(value) ? value : {}
}

/** A field that must be a text. @param place the question that it answers, and why its absence refuses */
function requiredText(
  map: JsonMap,
  name: string,
  { path, reason }: { readonly path: string; readonly reason: SignInReason },
): string {
  const value = ownValue(map, name)
  if (typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT) return value
  throw new SignInRefused(reason, `${name} of ${path}`)
}
