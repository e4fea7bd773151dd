import { describe, expect, it } from 'vitest'
import { matchesAny } from '../../../../src/domain/settings/formats.ts'
import {
  creationSwitches,
  keptGroups,
  mergedMemberships,
  newTeams,
} from '../../../../src/signin/people/groups.ts'

const named = (...names: readonly string[]) => names.map((name) => ({ name, displayName: null }))
const numbered = (count: number) =>
  named(...Array.from({ length: count }, (_, at) => `group-${at}`))
const all = matchesAny([])

describe('the groups of a person at a provider (24.4, 25.4, SD)', () => {
  it.each([
    ['no filter', [], ['dev', 'ops', 'Dev']],
    ['a part, as filters are not anchored', ['e'], ['dev', 'Dev']],
    ['any of several', ['^ops$', '^dev$'], ['dev', 'ops']],
    ['none', ['^x'], []],
  ])('are kept by filters: %s', (_, filters, kept) => {
    const groups = keptGroups(
      { groups: named('dev', 'ops', 'Dev'), groupsPrefix: '' },
      matchesAny(filters),
    )
    expect(groups.map(({ name }) => name)).toEqual(kept)
  })

  it('are compared before the prefix, and named with it', () => {
    const filter = matchesAny(['^dev$'])
    const groups = keptGroups({ groups: named('dev', 'corp:dev'), groupsPrefix: 'corp:' }, filter)
    expect(groups).toEqual(named('corp:dev'))
  })

  it('are each kept once, and never with an empty name', () => {
    expect(keptGroups({ groups: named('dev', '', 'dev'), groupsPrefix: '' }, all)).toEqual(
      named('dev'),
    )
  })

  it('are 200 at most after the filters, however many the provider has', () => {
    const keep =
      (count: number, filters: readonly string[] = []) =>
      () =>
        keptGroups({ groups: numbered(count), groupsPrefix: '' }, matchesAny(filters))
    expect(keep(200)()).toHaveLength(200)
    expect(keep(201)).toThrow('too_many_groups')
    expect(keep(5000, ['^group-1\\d$'])()).toHaveLength(10)
  })

  it('leave out a name that a User cannot hold, with its prefix', () => {
    const long = (length: number) => ({ groups: named('g'.repeat(length)), groupsPrefix: 'corp:' })
    expect(keptGroups(long(1019), all)).toHaveLength(1)
    expect(keptGroups(long(1020), all)).toHaveLength(0)
  })

  it('take a filter that backtracks no longer than others', () => {
    const filter = matchesAny(['^(a+)+$', '(x+x+)+y'])
    const startMs = performance.now()
    keptGroups(
      { groups: named(`${'a'.repeat(1000)}!`, 'x'.repeat(1000)), groupsPrefix: '' },
      filter,
    )
    expect(performance.now() - startMs).toBeLessThan(2000)
  })

  it('replace in the User the groups of their connector alone', () => {
    const before = [
      { connector: 'oidc', name: 'old' },
      { connector: 'saml', name: 'dev' },
    ]
    expect(mergedMemberships(before, 'oidc', named('dev'))).toEqual([
      { connector: 'saml', name: 'dev' },
      { connector: 'oidc', name: 'dev' },
    ])
  })

  it('are 200 at most in the User, over all connectors', () => {
    const before = numbered(100).map(({ name }) => ({ connector: 'saml', name }))
    expect(mergedMemberships(before, 'oidc', numbered(100))).toHaveLength(200)
    expect(() => mergedMemberships(before, 'oidc', numbered(101))).toThrow('too_many_groups')
  })
})

describe('a Team for a group (24.4)', () => {
  const teamsOf = (...names: readonly string[]) => newTeams('oidc', named(...names), () => false)

  it('has the connector in its name, so that groups of different providers share none', () => {
    expect(teamsOf('dev')).toEqual([
      { teamName: 'oidc:dev', displayName: null, group: { connector: 'oidc', name: 'dev' } },
    ])
    expect(newTeams('saml', named('dev'), () => false)[0]?.teamName).toBe('saml:dev')
  })

  it.each(['two words', 'ünï', 'line\nbreak', 'g'.repeat(249)])(
    'is not made for a name that no Team has: %j',
    (name) => {
      expect(teamsOf(name)).toEqual([])
    },
  )

  it('is made for a name of 253 characters with its connector', () => {
    expect(teamsOf('g'.repeat(248))).toHaveLength(1)
  })

  it('is not made again', () => {
    expect(newTeams('oidc', named('dev', 'ops'), (team) => team === 'oidc:dev')).toMatchObject([
      { teamName: 'oidc:ops' },
    ])
  })

  it('shows no name that is too long to be one', () => {
    const groups = [{ name: 'dev', displayName: 'D'.repeat(257) }]
    expect(newTeams('oidc', groups, () => false)[0]?.displayName).toBeNull()
  })
})

describe('the switches of creation (25.4)', () => {
  it.each([
    [{}, true, true],
    [{ auth: {} }, true, true],
    [{ auth: { disableUserCreation: false, disableTeamCreation: false } }, true, true],
    [{ auth: { disableUserCreation: true } }, false, true],
    [{ auth: { disableTeamCreation: true } }, true, false],
    [{ auth: { connectors: [{ id: 'staff', disableUserCreation: true }] } }, false, true],
    [{ auth: { connectors: [{ id: 'staff', disableTeamCreation: true }] } }, true, false],
    [{ auth: { connectors: [{ id: 'other', disableUserCreation: true }] } }, true, true],
    [
      {
        auth: {
          disableUserCreation: true,
          connectors: [{ id: 'staff', disableUserCreation: false }],
        },
      },
      false,
      true,
    ],
  ])('are read from %j', (settings, users, teams) => {
    expect(creationSwitches(settings, 'staff')).toEqual({ users, teams })
  })
})
