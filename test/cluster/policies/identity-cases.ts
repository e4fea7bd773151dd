// Who may give a key which identity.
import { times } from '../manifests/case-runner.ts'
import { WRITES, mayImpersonate, onPlatformKinds } from './rbac-users.ts'
import type { Manifest, Row } from './write-methods.ts'

/** As many groups as may be new in one request. */
export const MOST: readonly string[] = times(16, (n) => `g${n}`)

/** What each caller may beside reading and writing our kinds. */
export const IDENTITY_CALLERS = {
  writer: [WRITES],
  impersonator: [
    WRITES,
    mayImpersonate('users', ['bob', 'robot']),
    mayImpersonate('groups', ['platform:team:ops', 'dev', 'audit', ...MOST]),
  ],
  // Names that are right of the wrong kind, or in the form in which they are sent upstream.
  lookalike: [
    WRITES,
    mayImpersonate('users', ['ops', 'platform:team:ops', 'dev', 'platform:user:bob']),
    mayImpersonate('groups', ['bob', 'platform:user:bob', 'robot', 'ops', 'platform:group:dev']),
  ],
  delegate: [WRITES, onPlatformKinds(['delegate'], ['ownedaccesskeys'])],
} as const

/** One of them. */
export type IdentityCaller = keyof typeof IDENTITY_CALLERS

type Caller = IdentityCaller

interface Case {
  readonly name: string
  /** The spec before; absent, the key is made. */
  readonly from?: Manifest['spec']
  readonly to: Manifest['spec']
  /** Why it is refused: the field, what is named there, and on what the verb impersonate is missing. */
  readonly lacks?: readonly [field: string, named: string, right: string]
}

const rowsOf = (by: Caller, cases: readonly Case[]): readonly Row<Caller>[] =>
  cases.map(({ name, from, to, lacks }) => ({
    name,
    by,
    ...(from && { from: { spec: from } }),
    to: { spec: to },
    ...(lacks && { refused: { code: 403, says: missing(by, ...lacks) } }),
  }))

const missing = (by: Caller, field: string, named: string, right: string): string =>
  `spec.${field}: naming ${named} needs the verb impersonate on ${right}, which ${by} does not have; leave it out, or have that granted`

// biome-ignore format: a table
const BY_WRITER: readonly Case[] = [
  { name: 'a key without an identity', to: {} },
  { name: 'a key without an identity, in empty strings', to: { user: '', team: '', subject: '', groups: [] } },
  { name: 'a key of its author', to: { user: 'writer' } },
  { name: 'a key of another user', to: { user: 'bob' }, lacks: ['user', 'user bob', 'users/bob'] },
  { name: 'a key of a team', to: { team: 'ops' }, lacks: ['team', 'team ops', 'groups/platform:team:ops'] },
  { name: 'a key of a subject', to: { subject: 'robot' }, lacks: ['subject', 'robot', 'users/robot'] },
  { name: 'a key of a subject with the name of the caller', to: { subject: 'writer' }, lacks: ['subject', 'writer', 'users/writer'] },
  { name: 'a key of the caller, in a group', to: { user: 'writer', groups: ['dev'] }, lacks: ['groups', 'group dev', 'groups/dev'] },
  { name: 'not the identity of a key', from: { team: 'ops', groups: ['dev'] }, to: { team: 'ops', groups: ['dev'], ttl: 60 } },
  { name: 'the user to the caller', from: { user: 'bob' }, to: { user: 'writer' } },
  { name: 'the user to none', from: { user: 'bob', groups: ['dev'], ttl: 60 }, to: { ttl: 60 } },
  { name: 'groups to fewer', from: { groups: ['dev', 'audit'] }, to: { groups: ['audit'] } },
  { name: 'the user from the caller', from: { user: 'writer' }, to: { user: 'bob' }, lacks: ['user', 'user bob', 'users/bob'] },
  { name: 'a user to a team', from: { user: 'bob' }, to: { team: 'ops' }, lacks: ['team', 'team ops', 'groups/platform:team:ops'] },
  { name: 'a user to a subject', from: { user: 'robot' }, to: { subject: 'robot' }, lacks: ['subject', 'robot', 'users/robot'] },
  { name: 'groups to more', from: { groups: ['dev'] }, to: { groups: ['dev', 'audit'] }, lacks: ['groups', 'group audit', 'groups/audit'] },
  { name: 'one group to another', from: { groups: ['dev'] }, to: { groups: ['audit'] }, lacks: ['groups', 'group audit', 'groups/audit'] },
]

// biome-ignore format: a table
const BY_IMPERSONATOR: readonly Case[] = [
  { name: 'a key of another user', to: { user: 'bob' } },
  { name: 'a key of a team', to: { team: 'ops' } },
  { name: 'a key of a subject, in groups', to: { subject: 'robot', groups: ['dev', 'audit'] } },
  { name: 'a key of an unknown user', to: { user: 'eve' }, lacks: ['user', 'user eve', 'users/eve'] },
  { name: 'a key in an unknown group', to: { groups: ['dev', 'root'] }, lacks: ['groups', 'group root', 'groups/root'] },
  { name: 'no user to a user', from: {}, to: { user: 'bob' } },
  { name: 'a user to a team, in groups', from: { user: 'eve' }, to: { team: 'ops', groups: ['dev'] } },
  { name: 'groups to more', from: { groups: ['dev'] }, to: { groups: ['dev', 'root'] }, lacks: ['groups', 'group root', 'groups/root'] },
]

// biome-ignore format: a table
const BY_LOOKALIKE: readonly Case[] = [
  { name: 'a key of a user, with rights on groups', to: { user: 'bob' }, lacks: ['user', 'user bob', 'users/bob'] },
  { name: 'a key of a team, with rights on users', to: { team: 'ops' }, lacks: ['team', 'team ops', 'groups/platform:team:ops'] },
  { name: 'a key of a subject, with rights on groups', to: { subject: 'robot' }, lacks: ['subject', 'robot', 'users/robot'] },
  { name: 'a key in a group, with the prefixed name', to: { groups: ['dev'] }, lacks: ['groups', 'group dev', 'groups/dev'] },
]

const BY_DELEGATE: readonly Case[] = [
  { name: 'a key of anybody', to: { subject: 'anybody', groups: ['any', 'body'] } },
  { name: 'a key in more groups than can be asked for', to: { groups: [...MOST, 'dev'] } },
  { name: 'a user to a team', from: { user: 'bob' }, to: { team: 'any', groups: ['body'] } },
]

/** Each way of naming a user, by who may and who may not. */
export const identityRows: readonly Row<Caller>[] = [
  ...rowsOf('writer', BY_WRITER),
  ...rowsOf('impersonator', BY_IMPERSONATOR),
  ...rowsOf('lookalike', BY_LOOKALIKE),
  ...rowsOf('delegate', BY_DELEGATE),
]

/** One group that may not be named, in each place of the list. */
export const placeRows = MOST.map((_, place) => ({ place, groups: MOST.with(place, 'root') }))
