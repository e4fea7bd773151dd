/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import type { SourceHostAOrg } from '../../../../../src/api/config.gen.ts'
import {
  admittedGroups,
  type Memberships,
} from '../../../../../src/signin/providers/source-host-a/membership.ts'

/** Teams, each as `org/slug` or `org/slug=name`. */
const teamsOf = (...texts: readonly string[]): Memberships['teams'] =>
  texts.map((text) => {
    const [, org = '', slug = '', name = slug] = /^([^/]+)\/([^=]+)(?:=(.+))?$/.exec(text) ?? []
    return { org, slug, name }
  })

// biome-ignore format: a table
describe('who may enter by organization and team, and with which groups (25.6, SD)', () => {
  test.each<{ name: string; setting: readonly SourceHostAOrg[]; orgs: readonly string[]; teams: readonly string[]; groups: readonly string[] | null }>([
    { name: 'a member of the organization', setting: [{ name: 'acme' }], orgs: ['acme'], teams: [], groups: [] },
    { name: 'a member with teams', setting: [{ name: 'acme' }], orgs: ['acme'], teams: ['acme/sre', 'acme/dev'], groups: ['acme:sre', 'acme:dev'] },
    { name: 'a stranger', setting: [{ name: 'acme' }], orgs: [], teams: [], groups: null },
    { name: 'a member of another organization', setting: [{ name: 'acme' }], orgs: ['evil'], teams: ['evil/sre'], groups: null },
    { name: 'a team of an organization that does not show the person', setting: [{ name: 'acme' }], orgs: [], teams: ['acme/sre'], groups: null },
    { name: 'the same team of an organization that does not count', setting: [{ name: 'acme' }], orgs: ['acme', 'evil'], teams: ['evil/sre', 'acme/dev'], groups: ['acme:dev'] },
    { name: 'one organization of several', setting: [{ name: 'acme' }, { name: 'umbrella' }], orgs: ['umbrella'], teams: ['umbrella/sre'], groups: ['umbrella:sre'] },
    { name: 'both organizations', setting: [{ name: 'acme' }, { name: 'umbrella' }], orgs: ['umbrella', 'acme'], teams: ['umbrella/sre', 'acme/sre'], groups: ['acme:sre', 'umbrella:sre'] },
    { name: 'letters of another case in the organization', setting: [{ name: 'Acme' }], orgs: ['aCME'], teams: ['acmE/sre'], groups: ['Acme:sre'] },
    { name: 'a name that begins like the organization', setting: [{ name: 'acme' }], orgs: ['acme-evil'], teams: [], groups: null },
    { name: 'an organization without a name', setting: [{}], orgs: ['acme'], teams: ['acme/sre'], groups: null },
    { name: 'a team by its slug', setting: [{ name: 'acme', teams: ['site-ops'] }], orgs: ['acme'], teams: ['acme/site-ops=Site Ops', 'acme/dev'], groups: ['acme:site-ops'] },
    { name: 'a team by its slug in capitals', setting: [{ name: 'acme', teams: ['SRE'] }], orgs: ['acme'], teams: ['acme/sre=SRE'], groups: ['acme:sre'] },
    { name: 'a team by its name', setting: [{ name: 'acme', teams: ['Site Ops'] }], orgs: ['acme'], teams: ['acme/site-ops=Site Ops'], groups: ['acme:site-ops'] },
    { name: 'a name of other letters', setting: [{ name: 'acme', teams: ['運用'] }], orgs: ['acme'], teams: ['acme/team-7=運用'], groups: ['acme:team-7'] },
    { name: 'a name in another case', setting: [{ name: 'acme', teams: ['Site Ops'] }], orgs: ['acme'], teams: ['acme/site-ops-1=site ops'], groups: null },
    { name: 'a team whose name is the slug of the required one', setting: [{ name: 'acme', teams: ['site-ops'] }], orgs: ['acme'], teams: ['acme/site-ops-1=site-ops'], groups: null },
    { name: 'a member without the team', setting: [{ name: 'acme', teams: ['sre'] }], orgs: ['acme'], teams: ['acme/dev'], groups: null },
    { name: 'the team of another organization', setting: [{ name: 'acme', teams: ['sre'] }], orgs: ['acme', 'evil'], teams: ['evil/sre'], groups: null },
    { name: 'one team of several', setting: [{ name: 'acme', teams: ['sre', 'dev'] }], orgs: ['acme'], teams: ['acme/dev', 'acme/all'], groups: ['acme:dev'] },
    { name: 'a team here, and no team there', setting: [{ name: 'acme', teams: ['sre'] }, { name: 'umbrella', teams: ['sre'] }], orgs: ['acme', 'umbrella'], teams: ['acme/dev', 'umbrella/sre', 'umbrella/dev'], groups: ['umbrella:sre'] },
    { name: 'an empty list of teams', setting: [{ name: 'acme', teams: [] }], orgs: ['acme'], teams: ['acme/dev'], groups: ['acme:dev'] },
    { name: 'an empty name in teams', setting: [{ name: 'acme', teams: [''] }], orgs: ['acme'], teams: ['acme/dev'], groups: null },
    { name: 'the organization twice', setting: [{ name: 'acme', teams: ['sre'] }, { name: 'acme', teams: ['dev'] }], orgs: ['acme'], teams: ['acme/dev'], groups: ['acme:dev'] },
  ])('$name', ({ setting, orgs, teams, groups }) => {
    const found = admittedGroups(setting, { orgs, teams: teamsOf(...teams) })
    expect(found?.map(({ name }) => name) ?? null).toEqual(groups)
  })

  test('a group has the name of its team for people (24.4)', () => {
    const memberships = { orgs: ['acme'], teams: teamsOf('acme/site-ops=Site Ops') }
    expect(admittedGroups([{ name: 'acme' }], memberships)).toEqual([{ name: 'acme:site-ops', displayName: 'Site Ops' }])
  })
})
