// Manifests of User and Team, and changes of stored ones (contract 24.1).
import {
  type Accepted,
  type Change,
  type Refused,
  type RefusedChange,
  times,
} from './case-runner.ts'

const reserved =
  /begin with system:, platform: or claim: are reserved, in any case of letters; write the name without the prefix/
const ascii = /only visible ASCII characters without spaces may be used/
const noConnector = /connector is missing; write the id of the sign-in provider, for example oidc/
const noGroupName = /name is missing; write the name of the group/
const noSecretName =
  /name is missing; write the name of a Secret in the namespace of the sign-in process/

/** Names that neither a person nor a team can have. */
// biome-ignore format: a table
const BAD_NAMES = [
  { name: 'a space in it', value: 'jane doe', says: ascii },
  { name: 'a tab in it', value: 'jane\tdoe', says: ascii },
  { name: 'a letter beyond ASCII', value: 'jané', says: ascii },
  { name: 'a space alone', value: ' ', says: ascii },
  { name: 'system: before it', value: 'system:admin', says: reserved },
  { name: 'platform: before it', value: 'platform:team:ops', says: reserved },
  { name: 'claim: before it', value: 'claim:sub', says: reserved },
  { name: 'a reserved prefix in other letters', value: 'SyStEm:admin', says: reserved },
  { name: 'a reserved prefix in capitals', value: 'PLATFORM:ada', says: reserved },
  { name: 'claim: in capitals', value: 'CLAIM:ada', says: reserved },
  { name: '254 characters', value: 'u'.repeat(254), says: /may not be more than 253/ },
] as const

const inField = (field: string): readonly Refused[] =>
  BAD_NAMES.map(({ name, value, says }) => ({
    name: `a ${field} with ${name}`,
    spec: { [field]: value },
    field: `spec.${field}`,
    says,
  }))

/** A provider's group with the longest names. */
const longGroup = (index: number) => ({
  connector: 'c'.repeat(253),
  name: `${index}`.padEnd(1024, 'g'),
})

// biome-ignore format: a table
export const acceptedUsers: readonly Accepted[] = [
  { name: 'an empty spec', spec: {} },
  { name: 'a username', spec: { username: 'Jane.Doe@Example.com', displayName: 'Jane Doe', email: 'jane@example.com' } },
  { name: 'system: inside a username', spec: { username: 'the-system:admin' } },
  { name: 'the longest texts', spec: { username: 'u'.repeat(253), displayName: 'd'.repeat(256), email: 'e'.repeat(256) } },
  { name: 'empty strings, lists and false, which mean absent', spec: { username: '', displayName: '', email: '', disabled: false, identities: [] } },
  { name: 'null values, which are dropped', spec: { username: null, identities: null, passwordRef: null, disabled: true }, stored: { disabled: true } },
  { name: '16 identities of the longest subjects', spec: { identities: times(16, (n) => ({ connector: 'oidc', subject: `${n}`.padEnd(2048, 's') })) } },
  { name: 'an identity without a subject', spec: { identities: [{ connector: 'oidc' }, { connector: 'saml', subject: '' }] } },
  { name: 'a password', spec: { passwordRef: { name: 'ada', key: 'hash' } } },
  { name: 'a password without a key', spec: { passwordRef: { name: 'ada' } } },
]

// biome-ignore format: a table
export const refusedUsers: readonly Refused[] = [
  ...inField('username'),
  { name: 'no spec', field: 'spec', says: /Required value/ },
  { name: 'spec null', spec: 'null', field: 'spec', says: /Required value/ },
  { name: 'a displayName of 257 characters', spec: { displayName: 'd'.repeat(257) }, field: 'spec.displayName', says: /may not be more than 256/ },
  { name: 'an email of 257 characters', spec: { email: 'e'.repeat(257) }, field: 'spec.email', says: /may not be more than 256/ },
  { name: '17 identities', spec: { identities: times(17, () => ({ connector: 'oidc' })) }, field: 'spec.identities', says: /must have at most 16 items/ },
  { name: 'an identity without a connector', spec: { identities: [{ subject: 'a#b' }] }, field: 'spec.identities[0]', says: noConnector },
  { name: 'an identity with an empty connector', spec: { identities: [{ connector: '' }] }, field: 'spec.identities[0]', says: noConnector },
  { name: 'a password without a name', spec: { passwordRef: {} }, field: 'spec.passwordRef', says: noSecretName },
  { name: 'a password with an empty name', spec: { passwordRef: { name: '' } }, field: 'spec.passwordRef', says: noSecretName },
  { name: 'disabled "true"', spec: { disabled: 'true' }, field: 'spec.disabled', says: /must be of type boolean/ },
  { name: 'a field of teams', spec: { users: ['ada'] }, code: 400, says: /unknown field "spec.users"/ },
]

const nameFixed =
  /name is immutable; keep it, or create another (?:User|Team) with the name that is wanted/
const ada = { username: 'Ada@Example.com' }

// biome-ignore format: a table
export const userChanges: readonly Change[] = [
  { name: 'disabled', from: ada, patch: { spec: { disabled: true } }, to: { ...ada, disabled: true } },
  { name: 'the same username', from: ada, patch: { spec: { ...ada, email: 'a' } }, to: { ...ada, email: 'a' } },
  { name: 'an empty username in place of none', from: {}, patch: { spec: { username: '' } }, to: { username: '' } },
  { name: 'no username in place of an empty one', from: { username: '' }, patch: { spec: { username: null } }, to: {} },
  { name: 'identities', from: ada, patch: { spec: { identities: [{ connector: 'oidc' }] } }, to: { ...ada, identities: [{ connector: 'oidc' }] } },
]

// biome-ignore format: a table
export const refusedUserChanges: readonly RefusedChange[] = [
  { name: 'another username', from: ada, patch: { spec: { username: 'bob' } }, says: nameFixed },
  { name: 'a username in other letters', from: ada, patch: { spec: { username: 'ada@example.com' } }, says: nameFixed },
  { name: 'a first username', from: {}, patch: { spec: ada }, says: nameFixed },
  { name: 'a username in place of an empty one', from: { username: '' }, patch: { spec: ada }, says: nameFixed },
  { name: 'removal of the username', from: ada, patch: { spec: { username: null } }, says: nameFixed },
  { name: 'an empty username', from: ada, patch: { spec: { username: '' } }, says: nameFixed },
  { name: 'an empty spec by JSON patch', from: ada, patch: [{ op: 'replace', path: '/spec', value: {} }], says: nameFixed },
  { name: 'spec null', from: ada, patch: { spec: null }, says: /Required value/ },
  { name: 'removal of spec by JSON patch', from: {}, patch: [{ op: 'remove', path: '/spec' }], says: /Required value/ },
]

// biome-ignore format: a table
export const acceptedTeams: readonly Accepted[] = [
  { name: 'an empty spec', spec: {} },
  { name: 'a team of a group at a provider', spec: { name: 'oidc:developers', displayName: 'Developers', groups: [{ connector: 'oidc', name: 'développeurs internes' }] } },
  { name: 'empty strings and lists, which mean absent', spec: { name: '', displayName: '', users: [], groups: [] } },
  { name: '1,000 people with the longest names', spec: { users: times(1000, (n) => `${n}`.padEnd(253, 'u')) } },
  { name: '1,000 people and 200 groups', spec: { users: times(1000, (n) => `${n}`.padEnd(253, 'u')), groups: times(200, longGroup) } },
]

// biome-ignore format: a table
export const refusedTeams: readonly Refused[] = [
  ...inField('name'),
  ...BAD_NAMES.map(({ name, value, says }) => ({ name: `a user name with ${name}`, spec: { users: ['ada', value] }, field: 'spec.users[1]', says })),
  { name: 'no spec', field: 'spec', says: /Required value/ },
  { name: 'an empty user name', spec: { users: [''] }, field: 'spec.users[0]', says: /and at least one; write the user name, or leave the entry out/ },
  { name: 'a reserved user name at the end of 1,000', spec: { users: [...times(999, (n) => `${n}`.padEnd(253, 'u')), 'Claim:x'] }, field: 'spec.users[999]', says: reserved },
  { name: '1,001 people', spec: { users: times(1001, (n) => `u${n}`) }, field: 'spec.users', says: /must have at most 1000 items/ },
  { name: '201 groups', spec: { groups: times(201, longGroup) }, field: 'spec.groups', says: /must have at most 200 items/ },
  { name: 'a group without a connector', spec: { groups: [{ name: 'a' }] }, field: 'spec.groups[0]', says: noConnector },
  { name: 'a group without a name', spec: { groups: [{ connector: 'oidc', name: '' }] }, field: 'spec.groups[0]', says: noGroupName },
  { name: 'a field of users', spec: { disabled: true }, code: 400, says: /unknown field "spec.disabled"/ },
]

const sre = { name: 'oidc:sre' }
const large = { users: times(1000, (n) => `u${n}`), groups: times(200, longGroup) }

// biome-ignore format: a table
export const teamChanges: readonly Change[] = [
  { name: 'people', from: sre, patch: { spec: { users: ['ada'] } }, to: { ...sre, users: ['ada'] } },
  { name: 'the last of 1,000 people', from: { ...sre, ...large }, patch: [{ op: 'replace', path: '/spec/users/999', value: 'ada' }], to: { ...sre, ...large, users: large.users.with(999, 'ada') } },
  { name: 'an empty name in place of none', from: {}, patch: { spec: { name: '' } }, to: { name: '' } },
]

// biome-ignore format: a table
export const refusedTeamChanges: readonly RefusedChange[] = [
  { name: 'another name', from: sre, patch: { spec: { name: 'ops' } }, says: nameFixed },
  { name: 'a first name', from: {}, patch: { spec: sre }, says: nameFixed },
  { name: 'removal of the name', from: sre, patch: { spec: { name: null } }, says: nameFixed },
  { name: 'an empty name', from: sre, patch: { spec: { name: '' } }, says: nameFixed },
  { name: 'spec null', from: sre, patch: { spec: null }, says: /Required value/ },
]
