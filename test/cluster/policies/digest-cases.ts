// Who may name whom in a key that holds a digest. The callers are those of identities.ts.
import { type IdentityCaller, MOST } from './identity-cases.ts'
import { DIGEST } from './reserved-cases.ts'
import type { Manifest, Row } from './write-methods.ts'

type Spec = Manifest['spec']

interface Case {
  readonly name: string
  /** The spec before; absent, the key is made. */
  readonly from?: Spec
  readonly to: Spec
  /** Why it is refused: the field, what is named there, and on what the verb impersonate is missing. */
  readonly lacks?: readonly [field: string, named: string, right: string]
  readonly tooMany?: true
}

const INSTEAD = {
  made: 'leave key out and one is generated',
  changed: 'leave the names as they are',
}
const MANY = `spec.groups: a key that holds a digest names 17 groups, which are checked when the digest or a name changes; name at most 16`

function refusalOf(by: string, { from, lacks, tooMany }: Case): Row<string>['refused'] {
  if (tooMany) return { code: 422, says: MANY }
  if (!lacks) return undefined
  const [field, named, right] = lacks
  const instead = INSTEAD[from ? 'changed' : 'made']
  const says = `spec.${field}: naming ${named} in a key that holds a digest needs the verb impersonate on ${right}, which ${by} does not have; ${instead}, or have that granted`
  return { code: 403, says }
}

const held = (spec: Spec): Manifest => ({ spec: { ...spec, key: DIGEST } })

const rowsOf = (by: IdentityCaller, cases: readonly Case[]): readonly Row<IdentityCaller>[] =>
  cases.map((row) => {
    const { name, from, to } = row
    const refused = refusalOf(by, row)
    return {
      name,
      by,
      ...(from && { from: held(from) }),
      to: held(to),
      ...(refused && { refused }),
    }
  })

const HIMSELF = ['user', 'user writer', 'users/writer'] as const
const BOB = { user: 'bob' }
const OF_BOB = ['user', 'user bob', 'users/bob'] as const
const OF_ROOT = ['groups', 'group root', 'groups/root'] as const
const OF_EVE = ['user', 'user eve', 'users/eve'] as const

// biome-ignore format: a table
const BY_WRITER: readonly Case[] = [
  { name: 'a key without an identity', to: {} },
  { name: 'a key of the caller', to: { user: 'writer' }, lacks: HIMSELF },
  { name: 'a key of a user', to: BOB, lacks: OF_BOB },
  { name: 'a key of a team', to: { team: 'ops' }, lacks: ['team', 'team ops', 'groups/platform:team:ops'] },
  { name: 'a key of a subject', to: { subject: 'writer' }, lacks: ['subject', 'writer', 'users/writer'] },
  { name: 'a key in a group', to: { groups: ['dev'] }, lacks: ['groups', 'group dev', 'groups/dev'] },
  { name: 'no user to the caller', from: {}, to: { user: 'writer' }, lacks: HIMSELF },
  { name: 'a user to the caller', from: BOB, to: { user: 'writer' }, lacks: HIMSELF },
  { name: 'a user to none', from: { ...BOB, groups: ['dev'] }, to: {} },
  { name: 'groups to fewer', from: { ...BOB, groups: ['dev', 'audit'] }, to: { ...BOB, groups: ['audit'] }, lacks: OF_BOB },
  { name: 'groups to fewer, without a user', from: { groups: ['dev', 'audit'] }, to: { groups: ['audit'] }, lacks: ['groups', 'group audit', 'groups/audit'] },
  { name: 'a key of the caller to no groups', from: { user: 'writer', groups: ['dev'] }, to: { user: 'writer' }, lacks: HIMSELF },
  { name: 'the order of groups', from: { ...BOB, groups: ['dev', 'audit'] }, to: { ...BOB, groups: ['audit', 'dev'] } },
  { name: 'no name', from: { ...BOB, groups: ['dev'], ttl: 60 }, to: { ...BOB, groups: ['dev'], ttl: 30, disabled: true } },
  { name: 'a key without an identity', from: {}, to: { displayName: 'changed' } },
]

// biome-ignore format: a table
const BY_IMPERSONATOR: readonly Case[] = [
  { name: 'a key of a user in groups', to: { ...BOB, groups: ['dev', 'audit'] } },
  { name: 'a key of a team', to: { team: 'ops' } },
  { name: 'a key of a subject', to: { subject: 'robot' } },
  { name: 'a key of the caller', to: { user: 'impersonator' }, lacks: ['user', 'user impersonator', 'users/impersonator'] },
  { name: 'a key in 16 groups', to: { groups: MOST } },
  { name: 'a key in 17 groups', to: { groups: [...MOST, 'dev'] }, tooMany: true },
  { name: 'no user to a user', from: {}, to: BOB },
  { name: 'an unknown user to another', from: { user: 'eve' }, to: BOB },
  { name: 'the groups of an unknown user', from: { user: 'eve' }, to: { user: 'eve', groups: ['dev'] }, lacks: OF_EVE },
  { name: 'the user beside an unknown group', from: { ...BOB, groups: ['root'] }, to: { subject: 'robot', groups: ['root'] }, lacks: OF_ROOT },
  { name: 'the user beside 17 groups', from: { groups: [...MOST, 'dev'] }, to: { ...BOB, groups: [...MOST, 'dev'] }, tooMany: true },
]

const BY_DELEGATE: readonly Case[] = [
  { name: 'a key of the caller', to: { user: 'delegate' } },
  { name: 'a key of anybody', to: { user: 'anybody', groups: [...MOST, 'dev'] } },
]

/** Each way of naming a user in a key that holds a digest, by a user who may and by one who may not. */
export const digestRows: readonly Row<IdentityCaller>[] = [
  ...rowsOf('writer', BY_WRITER),
  ...rowsOf('impersonator', BY_IMPERSONATOR),
  ...rowsOf('delegate', BY_DELEGATE),
]

/** One group that may not be impersonated beside others that may, in each place of the list. */
export const digestPlaceRows: readonly Row<IdentityCaller>[] = rowsOf(
  'impersonator',
  MOST.map((_, place) => ({
    name: `a name beside an unknown group in place ${place}`,
    from: { groups: MOST.with(place, 'root') },
    to: { ...BOB, groups: MOST.with(place, 'root') },
    lacks: OF_ROOT,
  })),
)
