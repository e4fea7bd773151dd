// Which callers may say who a User and a Team are. Everything else of them takes the write only.
import { mayImpersonate, onPlatformKinds } from './rbac-users.ts'
import type { Manifest, Row } from './write-methods.ts'

const PEOPLE = [
  onPlatformKinds(['get', 'list', 'create', 'update', 'patch', 'delete'], ['users', 'teams']),
]

/** The grants of each caller. */
export const PEOPLE_CALLERS = {
  peopleWriter: PEOPLE,
  peopleAdmin: [
    ...PEOPLE,
    mayImpersonate('users', ['bob']),
    mayImpersonate('groups', ['platform:team:ops']),
  ],
  // The right names on the wrong resource, or without their prefix.
  peopleLookalike: [
    ...PEOPLE,
    mayImpersonate('users', ['ops', 'platform:team:ops', 'platform:user:bob']),
    mayImpersonate('groups', ['bob', 'platform:user:bob', 'ops', 'platform:group:ops']),
  ],
  peopleSigner: [...PEOPLE, onPlatformKinds(['sign-in'], ['ownedaccesskeys'])],
  peopleDelegate: [...PEOPLE, onPlatformKinds(['delegate'], ['ownedaccesskeys'])],
} as const

type Caller = keyof typeof PEOPLE_CALLERS
type Spec = Manifest['spec']

interface Case {
  readonly name: string
  readonly by: Caller
  /** The stored spec; absent = the object is created. */
  readonly from?: Spec
  readonly to: Spec
  /** The fields that are refused; absent = allowed. */
  readonly lacks?: string
  /** The name in force, absent = the name of the object, which each test makes anew. */
  readonly named?: string
}

/** How a kind says whose object it is. */
interface Kind {
  readonly noun: string
  readonly right: string
}

const USER: Kind = { noun: 'user', right: 'users/' }
const TEAM: Kind = { noun: 'team', right: 'groups/platform:team:' }

function refusalOf(
  { noun, right }: Kind,
  { by, from, lacks, named }: Case,
): Row<Caller>['refused'] {
  if (lacks === undefined) return undefined
  if (named === undefined) return { code: 403, says: `${lacks}: to say who ${noun} policy-` }
  const instead = from ? 'keep it as it is, or have that granted' : 'have that granted'
  const says = `${lacks}: to say who ${noun} ${named} is needs the verb impersonate on ${right}${named}, which ${by} does not have; ${instead}`
  return { code: 403, says }
}

const rowsOf = (kind: Kind, cases: readonly Case[]): readonly Row<Caller>[] =>
  cases.map((row) => {
    const { name, by, from, to } = row
    const refused = refusalOf(kind, row)
    return {
      name,
      by,
      ...(from && { from: { spec: from } }),
      to: { spec: to },
      ...(refused && { refused }),
    }
  })

const BOB = { username: 'bob' }
const EVE = { username: 'eve' }
const IDENTITIES = [{ connector: 'oidc', subject: 'https://idp.example#1' }]
const OTHERS = [{ connector: 'oidc', subject: 'https://idp.example#2' }]
const PASSWORD = { name: 'bob' }
const WHOLE = { identities: IDENTITIES, passwordRef: PASSWORD }

/** Each part of a User, by callers with and without the right. */
// biome-ignore format: a table
export const userRows: readonly Row<Caller>[] = rowsOf(USER, [
  { name: 'a User', by: 'peopleWriter', to: BOB, lacks: 'spec.username', named: 'bob' },
  { name: 'a User without a username', by: 'peopleWriter', to: {}, lacks: 'spec.username' },
  { name: 'a User with an empty username', by: 'peopleAdmin', to: { username: '' }, lacks: 'spec.username' },
  { name: 'a disabled User', by: 'peopleWriter', to: { ...BOB, disabled: true }, lacks: 'spec.username', named: 'bob' },
  { name: 'a User of the caller', by: 'peopleWriter', to: { username: 'peopleWriter' }, lacks: 'spec.username', named: 'peopleWriter' },
  { name: 'a User, with rights on groups', by: 'peopleLookalike', to: BOB, lacks: 'spec.username', named: 'bob' },
  { name: 'a User', by: 'peopleAdmin', to: { ...BOB, ...WHOLE } },
  { name: 'another User', by: 'peopleAdmin', to: EVE, lacks: 'spec.username', named: 'eve' },
  { name: 'any User', by: 'peopleSigner', to: { ...EVE, ...WHOLE } },
  { name: 'any User without a username', by: 'peopleDelegate', to: { disabled: true } },
  { name: 'a User to a disabled one', by: 'peopleWriter', from: { ...BOB, ...WHOLE }, to: { ...BOB, ...WHOLE, disabled: true } },
  { name: 'a disabled User to an enabled one', by: 'peopleWriter', from: { ...BOB, ...WHOLE, disabled: true }, to: { ...BOB, ...WHOLE } },
  { name: 'the texts of a User', by: 'peopleWriter', from: { ...BOB, ...WHOLE }, to: { ...BOB, ...WHOLE, displayName: 'Bob', email: 'bob@example.com' } },
  { name: 'no identities of a User to an empty list', by: 'peopleWriter', from: BOB, to: { ...BOB, identities: [] } },
  { name: 'the identities of a User from none', by: 'peopleWriter', from: BOB, to: { ...BOB, identities: IDENTITIES }, lacks: 'spec.identities', named: 'bob' },
  { name: 'the identities of a User to others', by: 'peopleWriter', from: { ...BOB, identities: IDENTITIES }, to: { ...BOB, identities: OTHERS }, lacks: 'spec.identities', named: 'bob' },
  { name: 'the identities of a User to none', by: 'peopleWriter', from: { ...BOB, identities: IDENTITIES }, to: BOB, lacks: 'spec.identities', named: 'bob' },
  { name: 'the password of a User from none', by: 'peopleWriter', from: BOB, to: { ...BOB, passwordRef: PASSWORD }, lacks: 'spec.passwordRef', named: 'bob' },
  { name: 'the password of a User to another', by: 'peopleLookalike', from: { ...BOB, passwordRef: PASSWORD }, to: { ...BOB, passwordRef: { name: 'eve' } }, lacks: 'spec.passwordRef', named: 'bob' },
  { name: 'the password of a User to none', by: 'peopleWriter', from: { ...BOB, passwordRef: PASSWORD }, to: BOB, lacks: 'spec.passwordRef', named: 'bob' },
  { name: 'all of a User at once', by: 'peopleWriter', from: { ...BOB, ...WHOLE }, to: { ...BOB, disabled: true }, lacks: 'spec.identities, spec.passwordRef', named: 'bob' },
  { name: 'the identities and password of a User', by: 'peopleAdmin', from: { ...BOB, ...WHOLE }, to: BOB },
  { name: 'the identities of another User', by: 'peopleAdmin', from: EVE, to: { ...EVE, identities: IDENTITIES }, lacks: 'spec.identities', named: 'eve' },
  { name: 'the identities of a User without a username', by: 'peopleAdmin', from: {}, to: { identities: IDENTITIES }, lacks: 'spec.identities' },
  { name: 'the identities of any User', by: 'peopleSigner', from: EVE, to: { ...EVE, identities: IDENTITIES } },
  { name: 'the identities of any User', by: 'peopleDelegate', from: { ...EVE, identities: IDENTITIES }, to: EVE },
])

const OPS = { name: 'ops' }
const DEV = { name: 'dev' }
const GROUPS = [{ connector: 'oidc', name: 'ops' }]

/** Each part of a Team, by callers with and without the right. */
// biome-ignore format: a table
export const teamRows: readonly Row<Caller>[] = rowsOf(TEAM, [
  { name: 'a Team', by: 'peopleWriter', to: OPS, lacks: 'spec.name', named: 'ops' },
  { name: 'a Team without a name', by: 'peopleAdmin', to: {}, lacks: 'spec.name' },
  { name: 'a Team, with rights on users', by: 'peopleLookalike', to: OPS, lacks: 'spec.name', named: 'ops' },
  { name: 'a Team', by: 'peopleAdmin', to: { ...OPS, users: ['ada'], groups: GROUPS } },
  { name: 'another Team', by: 'peopleAdmin', to: DEV, lacks: 'spec.name', named: 'dev' },
  { name: 'any Team', by: 'peopleSigner', to: { ...DEV, users: ['ada'], groups: GROUPS } },
  { name: 'any Team without a name', by: 'peopleDelegate', to: {} },
  { name: 'the text of a Team', by: 'peopleWriter', from: { ...OPS, users: ['ada'], groups: GROUPS }, to: { ...OPS, users: ['ada'], groups: GROUPS, displayName: 'Operators' } },
  { name: 'no people of a Team to an empty list', by: 'peopleWriter', from: OPS, to: { ...OPS, users: [], groups: [] } },
  { name: 'the people of a Team from none', by: 'peopleWriter', from: OPS, to: { ...OPS, users: ['peopleWriter'] }, lacks: 'spec.users', named: 'ops' },
  { name: 'the people of a Team to more', by: 'peopleLookalike', from: { ...OPS, users: ['ada'] }, to: { ...OPS, users: ['ada', 'bob'] }, lacks: 'spec.users', named: 'ops' },
  { name: 'the people of a Team to fewer', by: 'peopleWriter', from: { ...OPS, users: ['ada', 'bob'] }, to: { ...OPS, users: ['ada'] }, lacks: 'spec.users', named: 'ops' },
  { name: 'the people of a Team to none', by: 'peopleWriter', from: { ...OPS, users: ['ada'] }, to: OPS, lacks: 'spec.users', named: 'ops' },
  { name: 'the groups of a Team from none', by: 'peopleWriter', from: OPS, to: { ...OPS, groups: GROUPS }, lacks: 'spec.groups', named: 'ops' },
  { name: 'the groups of a Team to none', by: 'peopleWriter', from: { ...OPS, groups: GROUPS }, to: OPS, lacks: 'spec.groups', named: 'ops' },
  { name: 'people and groups of a Team', by: 'peopleWriter', from: { ...OPS, users: ['ada'], groups: GROUPS }, to: OPS, lacks: 'spec.users, spec.groups', named: 'ops' },
  { name: 'people and groups of a Team', by: 'peopleAdmin', from: { ...OPS, users: ['ada'] }, to: { ...OPS, users: ['bob'], groups: GROUPS } },
  { name: 'the people of another Team', by: 'peopleAdmin', from: DEV, to: { ...DEV, users: ['ada'] }, lacks: 'spec.users', named: 'dev' },
  { name: 'the people of any Team', by: 'peopleSigner', from: DEV, to: { ...DEV, users: ['ada'] } },
  { name: 'the groups of any Team', by: 'peopleDelegate', from: { ...DEV, groups: GROUPS }, to: DEV },
])
