// Which callers may name which user, team, subject and groups in a key: in any key, and in one that holds a digest.
import { times } from '../manifests/case-runner.ts'
import { WRITES, mayImpersonate, onPlatformKinds } from './rbac-users.ts'
import { DIGEST } from './reserved-cases.ts'
import type { Manifest, Row } from './write-methods.ts'

/** The most groups that one request may add. */
export const MAX_GROUPS: readonly string[] = times(16, (n) => `g${n}`)

/** The grants of each caller. */
export const IDENTITY_CALLERS = {
  writer: [WRITES],
  impersonator: [
    WRITES,
    mayImpersonate('users', ['bob', 'robot']),
    mayImpersonate('groups', ['platform:team:ops', 'dev', 'audit', ...MAX_GROUPS]),
  ],
  // The right names on the wrong resource, or with the prefix of impersonated groups.
  lookalike: [
    WRITES,
    mayImpersonate('users', ['ops', 'platform:team:ops', 'dev', 'platform:user:bob']),
    mayImpersonate('groups', ['bob', 'platform:user:bob', 'robot', 'ops', 'platform:group:dev']),
  ],
  delegate: [WRITES, onPlatformKinds(['delegate'], ['ownedaccesskeys'])],
} as const

/** A user name of IDENTITY_CALLERS. */
export type IdentityCaller = keyof typeof IDENTITY_CALLERS

type Caller = IdentityCaller

interface Case {
  readonly name: string
  /** The stored spec; absent = the key is created. */
  readonly from?: Manifest['spec']
  readonly to: Manifest['spec']
  /** Why it is refused: the field, the name in it, and the resource without the verb impersonate; absent = allowed. */
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
  { name: 'a key of the caller', to: { user: 'writer' } },
  { name: 'a key of another user', to: { user: 'bob' }, lacks: ['user', 'user bob', 'users/bob'] },
  { name: 'a key of a team', to: { team: 'ops' }, lacks: ['team', 'team ops', 'groups/platform:team:ops'] },
  { name: 'a key of a subject', to: { subject: 'robot' }, lacks: ['subject', 'robot', 'users/robot'] },
  { name: 'a key of a subject with the name of the caller', to: { subject: 'writer' }, lacks: ['subject', 'writer', 'users/writer'] },
  { name: 'a key of the caller, in a group', to: { user: 'writer', groups: ['dev'] }, lacks: ['groups', 'group dev', 'groups/dev'] },
  { name: 'a field other than the identity', from: { team: 'ops', groups: ['dev'] }, to: { team: 'ops', groups: ['dev'], ttl: 60 } },
  { name: 'the user to the caller', from: { user: 'bob' }, to: { user: 'writer' } },
  { name: 'the identity to none', from: { user: 'bob', groups: ['dev'], ttl: 60 }, to: { ttl: 60 } },
  { name: 'groups to fewer', from: { groups: ['dev', 'audit'] }, to: { groups: ['audit'] } },
  { name: 'the user from the caller', from: { user: 'writer' }, to: { user: 'bob' }, lacks: ['user', 'user bob', 'users/bob'] },
  { name: 'the identity from a user to a team', from: { user: 'bob' }, to: { team: 'ops' }, lacks: ['team', 'team ops', 'groups/platform:team:ops'] },
  { name: 'the identity from a user to a subject', from: { user: 'robot' }, to: { subject: 'robot' }, lacks: ['subject', 'robot', 'users/robot'] },
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
  { name: 'the user from none to another', from: {}, to: { user: 'bob' } },
  { name: 'the identity from a user to a team in groups', from: { user: 'eve' }, to: { team: 'ops', groups: ['dev'] } },
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
  { name: 'a key of any identity', to: { subject: 'any', groups: ['any', 'other'] } },
  { name: 'a key in 17 groups', to: { groups: [...MAX_GROUPS, 'dev'] } },
  {
    name: 'the identity from a user to a team',
    from: { user: 'bob' },
    to: { team: 'any', groups: ['body'] },
  },
]

/** Each way to set the identity, by callers with and without the right. */
export const identityRows: readonly Row<Caller>[] = [
  ...rowsOf('writer', BY_WRITER),
  ...rowsOf('impersonator', BY_IMPERSONATOR),
  ...rowsOf('lookalike', BY_LOOKALIKE),
  ...rowsOf('delegate', BY_DELEGATE),
]

/** Groups with one that the caller may not impersonate, at each index. */
export const placeRows = MAX_GROUPS.map((_, place) => ({
  place,
  groups: MAX_GROUPS.with(place, 'root'),
}))

interface DigestCase extends Case {
  /** The groups are more than a policy can check. */
  readonly tooMany?: true
}

const INSTEAD = {
  made: 'leave key out and one is generated',
  changed: 'leave the names as they are',
}
const MANY = `spec.groups: a key that holds a digest names 17 groups, which are checked when the digest or a name changes; name at most 16`

function refusalOf(by: string, { from, lacks, tooMany }: DigestCase): Row<string>['refused'] {
  if (tooMany) return { code: 422, says: MANY }
  if (!lacks) return undefined
  const [field, named, right] = lacks
  const instead = INSTEAD[from ? 'changed' : 'made']
  const says = `spec.${field}: naming ${named} in a key that holds a digest needs the verb impersonate on ${right}, which ${by} does not have; ${instead}, or have that granted`
  return { code: 403, says }
}

const withDigest = (spec: Manifest['spec']): Manifest => ({ spec: { ...spec, key: DIGEST } })

const digestRowsOf = (by: Caller, cases: readonly DigestCase[]): readonly Row<Caller>[] =>
  cases.map((row) => {
    const { name, from, to } = row
    const refused = refusalOf(by, row)
    return {
      name,
      by,
      ...(from && { from: withDigest(from) }),
      to: withDigest(to),
      ...(refused && { refused }),
    }
  })

const OF_WRITER = ['user', 'user writer', 'users/writer'] as const
const BOB = { user: 'bob' }
const OF_BOB = ['user', 'user bob', 'users/bob'] as const
const OF_ROOT = ['groups', 'group root', 'groups/root'] as const
const OF_EVE = ['user', 'user eve', 'users/eve'] as const

// biome-ignore format: a table
const DIGEST_BY_WRITER: readonly DigestCase[] = [
  { name: 'a key without an identity', to: {} },
  { name: 'a key of the caller', to: { user: 'writer' }, lacks: OF_WRITER },
  { name: 'a key of a user', to: BOB, lacks: OF_BOB },
  { name: 'a key of a team', to: { team: 'ops' }, lacks: ['team', 'team ops', 'groups/platform:team:ops'] },
  { name: 'a key of a subject', to: { subject: 'writer' }, lacks: ['subject', 'writer', 'users/writer'] },
  { name: 'a key in a group', to: { groups: ['dev'] }, lacks: ['groups', 'group dev', 'groups/dev'] },
  { name: 'the user from none to the caller', from: {}, to: { user: 'writer' }, lacks: OF_WRITER },
  { name: 'the user to the caller', from: BOB, to: { user: 'writer' }, lacks: OF_WRITER },
  { name: 'the identity to none', from: { ...BOB, groups: ['dev'] }, to: {} },
  { name: 'groups to fewer', from: { ...BOB, groups: ['dev', 'audit'] }, to: { ...BOB, groups: ['audit'] }, lacks: OF_BOB },
  { name: 'groups to fewer, without a user', from: { groups: ['dev', 'audit'] }, to: { groups: ['audit'] }, lacks: ['groups', 'group audit', 'groups/audit'] },
  { name: 'a key of the caller to no groups', from: { user: 'writer', groups: ['dev'] }, to: { user: 'writer' }, lacks: OF_WRITER },
  { name: 'the order of groups', from: { ...BOB, groups: ['dev', 'audit'] }, to: { ...BOB, groups: ['audit', 'dev'] } },
  { name: 'a field other than the identity', from: { ...BOB, groups: ['dev'], ttl: 60 }, to: { ...BOB, groups: ['dev'], ttl: 30, disabled: true } },
  { name: 'a field of a key without an identity', from: {}, to: { displayName: 'changed' } },
]

// biome-ignore format: a table
const DIGEST_BY_IMPERSONATOR: readonly DigestCase[] = [
  { name: 'a key of a user in groups', to: { ...BOB, groups: ['dev', 'audit'] } },
  { name: 'a key of a team', to: { team: 'ops' } },
  { name: 'a key of a subject', to: { subject: 'robot' } },
  { name: 'a key of the caller', to: { user: 'impersonator' }, lacks: ['user', 'user impersonator', 'users/impersonator'] },
  { name: 'a key in 16 groups', to: { groups: MAX_GROUPS } },
  { name: 'a key in 17 groups', to: { groups: [...MAX_GROUPS, 'dev'] }, tooMany: true },
  { name: 'the user from none to another', from: {}, to: BOB },
  { name: 'an unknown user to another', from: { user: 'eve' }, to: BOB },
  { name: 'the groups of an unknown user', from: { user: 'eve' }, to: { user: 'eve', groups: ['dev'] }, lacks: OF_EVE },
  { name: 'the user beside an unknown group', from: { ...BOB, groups: ['root'] }, to: { subject: 'robot', groups: ['root'] }, lacks: OF_ROOT },
  { name: 'the user beside 17 groups', from: { groups: [...MAX_GROUPS, 'dev'] }, to: { ...BOB, groups: [...MAX_GROUPS, 'dev'] }, tooMany: true },
]

const DIGEST_BY_DELEGATE: readonly DigestCase[] = [
  { name: 'a key of the caller', to: { user: 'delegate' } },
  { name: 'a key of any identity', to: { user: 'any', groups: [...MAX_GROUPS, 'dev'] } },
]

/** Each way to set the identity of a key that holds a digest, by callers with and without the right. */
export const digestRows: readonly Row<Caller>[] = [
  ...digestRowsOf('writer', DIGEST_BY_WRITER),
  ...digestRowsOf('impersonator', DIGEST_BY_IMPERSONATOR),
  ...digestRowsOf('delegate', DIGEST_BY_DELEGATE),
]

/** A change of the identity beside one group that the caller may not impersonate, at each index. */
export const digestPlaceRows: readonly Row<Caller>[] = digestRowsOf(
  'impersonator',
  MAX_GROUPS.map((_, place) => ({
    name: `the user beside an unknown group at index ${place}`,
    from: { groups: MAX_GROUPS.with(place, 'root') },
    to: { ...BOB, groups: MAX_GROUPS.with(place, 'root') },
    lacks: OF_ROOT,
  })),
)
