// The groups of a person at a provider (contract 24.4, 25.4): which are kept, how they are named here, and which Teams they make.
// Pure.
import type { SignInSettings } from '../../domain/settings/secret-settings.ts'
import { isPersonName } from '../../domain/people/object-name.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import type { ProviderGroupName, ProviderIdentity } from '../providers/provider.ts'
import { textForPeople } from './plan.ts'
import type { UserGroup } from './sign-in-user.ts'

/** The most groups of one person. */
const MOST_GROUPS = 200
/** Characters of a group's name that a User holds; a longer one is left out. */
const LONGEST_NAME = 1024

/** Whether one of the regular expressions matches; without any, all match. Linear in the text (RE2). */
export type GroupFilter = (group: string) => boolean

/**
 * The groups to keep: each once, as far as the filters let it through, with the prefix.
 *
 * @throws SignInRefused `too_many_groups`
 */
export function keptGroups(
  { groups, groupsPrefix }: Pick<ProviderIdentity, 'groups' | 'groupsPrefix'>,
  filter: GroupFilter,
): readonly ProviderGroupName[] {
  const byName = new Map<string, ProviderGroupName>()
  for (const { name, displayName } of groups) {
    const prefixed = groupsPrefix + name
    if (name === '' || prefixed.length > LONGEST_NAME || !filter(name)) continue
    byName.set(name, { name: prefixed, displayName })
    if (byName.size > MOST_GROUPS) throw tooMany()
  }
  return [...byName.values()]
}

/**
 * The groups of the User after a sign-in: of this connector the new ones, and of others what they were.
 *
 * @throws SignInRefused `too_many_groups` when they are more than a User holds
 */
export function mergedMemberships(
  before: readonly UserGroup[],
  connector: string,
  kept: readonly ProviderGroupName[],
): readonly UserGroup[] {
  const merged = [
    ...before.filter((group) => group.connector !== connector),
    ...kept.map(({ name }) => ({ connector, name })),
  ]
  if (merged.length > MOST_GROUPS) throw tooMany()
  return merged
}

/** Whether two lists have the same groups, in any order. */
export function sameMemberships(some: readonly UserGroup[], others: readonly UserGroup[]): boolean {
  const known = new Set(some.map(membershipKey))
  return some.length === others.length && others.every((one) => known.has(membershipKey(one)))
}

const membershipKey = ({ connector, name }: UserGroup): string => JSON.stringify([connector, name])

const tooMany = (): SignInRefused =>
  new SignInRefused('too_many_groups', `more than ${MOST_GROUPS} groups after groupsFilters`)

/** A Team to make for a group. */
export interface GroupTeam {
  readonly teamName: string
  readonly displayName: string | null
  readonly group: UserGroup
}

/** The Teams of the groups, but for those that exist, and for groups whose name no Team can have. */
export function newTeams(
  connector: string,
  kept: readonly ProviderGroupName[],
  exists: (teamName: string) => boolean,
): readonly GroupTeam[] {
  return kept.flatMap(({ name, displayName }) => {
    const teamName = `${connector}:${name}`
    const isNew = isPersonName(teamName) && !exists(teamName)
    return isNew
      ? [{ teamName, displayName: textForPeople(displayName), group: { connector, name } }]
      : []
  })
}

/** Whether a sign-in by this provider makes Users, and Teams: by the global switches and those of its connector (contract 25.4). */
export function creationSwitches(
  { auth = {} }: SignInSettings,
  provider: string,
): {
  readonly users: boolean
  readonly teams: boolean
} {
  const connector = auth.connectors?.find(({ id }) => id === provider)
  const places = [auth, ...(connector === undefined ? [] : [connector])]
  return {
    users: places.every(({ disableUserCreation }) => disableUserCreation !== true),
    teams: places.every(({ disableTeamCreation }) => disableTeamCreation !== true),
  }
}
