// Who may enter by organization and team, and with which groups (contract 25.6 "sourceHostA"). Pure.
import type { SourceHostAOrg } from '../../../api/config.gen.ts'
import type { ProviderGroupName } from '../provider.ts'

/** A team of the person. */
interface HostTeam {
  /** Login of its organization. */
  readonly org: string
  /** Unique in its organization. */
  readonly slug: string
  readonly name: string
}

/** Where the person belongs. */
export interface Memberships {
  /** Logins of organizations. */
  readonly orgs: readonly string[]
  /** Also of organizations that are not in `orgs`; those don't count. */
  readonly teams: readonly HostTeam[]
}

/**
 * The groups of a person who may enter, `<org>:<slug>` with the organization as the setting spells it.
 *
 * @param orgs the setting, not empty
 * @returns null = the person may not enter
 */
export function admittedGroups(
  orgs: readonly SourceHostAOrg[],
  memberships: Memberships,
): readonly ProviderGroupName[] | null {
  const admitting = orgs.flatMap((org) => {
    const teams = countedTeams(org, memberships)
    return teams === null ? [] : [{ org, teams }]
  })
  if (admitting.length === 0) return null
  return admitting.flatMap(({ org, teams }) =>
    teams.map(({ slug, name }) => ({ name: `${org.name}:${slug}`, displayName: name })),
  )
}

/** The teams of the person that this organization counts; null = it does not admit the person. */
function countedTeams(
  { name = '', teams: required = [] }: SourceHostAOrg,
  { orgs, teams }: Memberships,
): readonly HostTeam[] | null {
  if (!orgs.some((login) => sameLogin(login, name))) return null
  const own = teams.filter(({ org }) => sameLogin(org, name))
  if (required.length === 0) return own
  const counted = own.filter((team) => required.some((text) => isTeam(text, team)))
  return counted.length === 0 ? null : counted
}

/** Logins and slugs are the same in any case of letters, as for GitHub. */
const sameLogin = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

const SLUG = /^[a-z0-9_-]+$/i

/**
 * Whether the setting means the team. A text that can be a slug is compared with slugs alone: members can found a team whose
 * name is the slug of another one.
 */
const isTeam = (text: string, { slug, name }: HostTeam): boolean =>
  SLUG.test(text) ? sameLogin(text, slug) : text === name
