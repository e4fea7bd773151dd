// The person whose token it is: account, e-mail address, organizations and teams (contract 25.6 "sourceHostA").
import { isMap, type Json, type JsonMap, ownValue } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { LONGEST_TEXT, shownName } from '../answers.ts'
import type { ProviderGroupName, ProviderIdentity } from '../provider.ts'
import { type HostList, type PersonAccess, readList, readObject } from './api.ts'
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
  const login = requiredText(user, 'login', { path: '/user', unreadable: 'provider_answer' })
  const displayName = ownValue(user, 'name')
  const email = await primaryEmail(access)
  return {
    subject: `${access.setup.addresses.api}#${id}`,
    username: login,
    displayName: shownName(displayName),
    email,
    emailVerified: email !== null,
    userId: String(id),
    preferredUsername: login,
    extraClaims: {},
    groups: await groupsOf(access),
    groupsPrefix: '',
  }
}

/** The one address that is both primary and verified: anybody can enter any other. */
async function primaryEmail(access: PersonAccess): Promise<string | null> {
  const found = await readList(access, EMAILS)
  return found.find((email) => email !== null) ?? null
}

const EMAILS: HostList<string | null> = {
  path: '/user/emails',
  unreadable: 'provider_answer',
  entryOf: ({ email, primary, verified }) =>
    primary === true && verified === true && isText(email) ? email : null,
}

async function groupsOf(access: PersonAccess): Promise<readonly ProviderGroupName[]> {
  const { orgs = [] } = access.setup.settings
  if (orgs.length === 0) return []
  const groups = admittedGroups(orgs, await membershipsOf(access))
  if (groups === null)
    throw new SignInRefused('groups_required', 'none of orgs admits the person', { detail: 'orgs' })
  return groups
}

const ORGS: HostList<string> = {
  path: '/user/orgs',
  unreadable: 'groups_unreadable',
  entryOf: (org) => requiredText(org, 'login', ORGS),
}

const TEAMS: HostList<Memberships['teams'][number]> = {
  path: '/user/teams',
  unreadable: 'groups_unreadable',
  entryOf: (team) => ({
    org: requiredText(mapIn(team, 'organization'), 'login', TEAMS),
    slug: requiredText(team, 'slug', TEAMS),
    name: requiredText(team, 'name', TEAMS),
  }),
}

async function membershipsOf(access: PersonAccess): Promise<Memberships> {
  const orgs = await readList(access, ORGS)
  return { orgs, teams: await readList(access, TEAMS) }
}

function mapIn(map: JsonMap, name: string): JsonMap {
  const value = ownValue(map, name)
  return isMap(value) ? value : {}
}

const isText = (value: Json | undefined): value is string =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT

/** A field that must be a text. @throws SignInRefused that names field and path */
function requiredText(
  map: JsonMap,
  name: string,
  { path, unreadable }: Pick<HostList<unknown>, 'path' | 'unreadable'>,
): string {
  const value = ownValue(map, name)
  if (isText(value)) return value
  throw new SignInRefused(unreadable, `${name} of ${path}`)
}
