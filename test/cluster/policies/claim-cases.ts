// Which callers may name which user, team, subject and groups in a claim, and who may write its label into a key.
import { CLAIM_LABEL } from '../../../src/api/names.ts'
import { MAX_GROUPS } from './identity-cases.ts'
import { mayImpersonate, onPlatformKinds } from './rbac-users.ts'
import type { Manifest, Row } from './write-methods.ts'

const CLAIMS = onPlatformKinds(
  ['get', 'list', 'create', 'update', 'patch', 'delete'],
  ['accesskeyclaims', 'configs'],
)

/** The grants of each caller. */
export const CLAIM_CALLERS = {
  ada: [CLAIMS],
  claimWriter: [CLAIMS],
  claimImpersonator: [
    CLAIMS,
    mayImpersonate('users', ['ada', 'robot', 'claim:shop:other']),
    mayImpersonate('groups', ['platform:team:ops', 'dev', 'audit', ...MAX_GROUPS]),
  ],
  // The right names on the wrong resource, or with the prefix of impersonated groups.
  claimLookalike: [
    CLAIMS,
    mayImpersonate('users', ['ops', 'platform:team:ops', 'dev', 'platform:user:ada']),
    mayImpersonate('groups', ['ada', 'platform:user:ada', 'robot', 'ops', 'platform:group:dev']),
  ],
  claimDelegate: [CLAIMS, onPlatformKinds(['delegate'], ['ownedaccesskeys'])],
} as const

type Caller = keyof typeof CLAIM_CALLERS
type Key = Readonly<Record<string, unknown>>

interface Case {
  readonly name: string
  /** The stored key of the claim; absent = the claim is created. */
  readonly from?: Key
  readonly to: Key
  /** Fields of spec beside the key. */
  readonly beside?: Manifest['spec']
  /** Labels and annotations change, too. */
  readonly marked?: true
  /** Why it is refused: the field, the name in it, and the resource without the verb impersonate; absent = allowed. */
  readonly lacks?: readonly [field: string, named: string, right: string]
  /** The claim has another name, too, when the group is left out. */
  readonly namesOther?: true
  /** The groups are more than a policy can check. */
  readonly tooMany?: true
}

const MANY =
  'spec.key.groups: a claim names 17 groups, which are checked at each change of spec; name at most 16'

function refusalOf(by: Caller, { from, lacks, namesOther, tooMany }: Case): Row<Caller>['refused'] {
  if (tooMany) return { code: 422, says: MANY }
  if (!lacks) return undefined
  const [field, named, right] = lacks
  const demanded = from ? ' and each change of spec demands' : ''
  const instead = namesOther ? ', or have that granted' : ', and the key acts as claim:default:'
  const says = `spec.key.${field}: naming ${named} needs the verb impersonate on ${right}, which ${by} does not have${demanded}; leave it out${instead}`
  return { code: 403, says }
}

const MARKS = { labels: { note: 'changed' }, annotations: { note: 'changed' } }

const rowsOf = (by: Caller, cases: readonly Case[]): readonly Row<Caller>[] =>
  cases.map((row) => {
    const { name, from, to, beside = {}, marked } = row
    const refused = refusalOf(by, row)
    return {
      name,
      by,
      ...(from && { from: { spec: { key: from } } }),
      to: { ...(marked && { metadata: MARKS }), spec: { key: to, ...beside } },
      ...(refused && { refused }),
    }
  })

const ADA = { user: 'ada' }
const OF_ADA = ['user', 'user ada', 'users/ada'] as const
const OF_OPS = ['team', 'team ops', 'groups/platform:team:ops'] as const
const OF_DEV = ['groups', 'group dev', 'groups/dev'] as const
const OTHER = { subject: 'claim:shop:other' }
const OF_OTHER = ['subject', 'claim:shop:other', 'users/claim:shop:other'] as const

// biome-ignore format: a table
const BY_WRITER: readonly Case[] = [
  { name: 'a claim without names', to: {} },
  { name: 'a claim without names, in empty strings', to: { user: '', team: '', subject: '', groups: [] } },
  { name: 'a claim of a user', to: ADA, lacks: OF_ADA },
  { name: 'a claim of the caller', to: { user: 'claimWriter' }, lacks: ['user', 'user claimWriter', 'users/claimWriter'] },
  { name: 'a claim of a team', to: { team: 'ops' }, lacks: OF_OPS },
  { name: 'a claim of a subject', to: { subject: 'robot' }, lacks: ['subject', 'robot', 'users/robot'] },
  { name: 'a claim of the subject of another claim', to: OTHER, lacks: OF_OTHER },
  { name: 'a claim in a group', to: { groups: ['dev'] }, lacks: OF_DEV },
  { name: 'a claim in 17 groups', to: { groups: [...MAX_GROUPS, 'dev'] }, tooMany: true },
  { name: 'the user of a claim to none', from: { ...ADA, groups: ['dev'] }, to: {} },
  { name: 'another field of a claim without names', from: {}, to: {}, beside: { rotateAfter: 600, suspend: true } },
  { name: 'the user of a claim from none', from: {}, to: ADA, lacks: OF_ADA },
  { name: 'the user of a claim to another', from: ADA, to: { user: 'bob' }, lacks: ['user', 'user bob', 'users/bob'] },
  { name: 'the Secret of a claim of a user', from: ADA, to: ADA, beside: { secret: { data: { mine: '$(KEY)' } } }, lacks: OF_ADA },
  { name: 'the lifetime of the key of a user', from: { ...ADA, ttl: 600 }, to: { ...ADA, ttl: 6000 }, lacks: OF_ADA },
  { name: 'a claim of a user to a suspended one', from: ADA, to: ADA, beside: { suspend: true }, lacks: OF_ADA },
  { name: 'the lifetime of the key of a team', from: { team: 'ops' }, to: { team: 'ops', ttl: 600 }, lacks: OF_OPS },
  { name: 'the lifetime of the key of another claim', from: OTHER, to: { ...OTHER, ttl: 600 }, lacks: OF_OTHER },
  { name: 'the lifetime of a key in a group', from: { groups: ['dev'] }, to: { groups: ['dev'], ttl: 600 }, lacks: OF_DEV },
  { name: 'groups to fewer', from: { groups: ['audit', 'dev'] }, to: { groups: ['dev'] }, lacks: OF_DEV },
  { name: 'labels and annotations of a claim of a user', from: { ...ADA, groups: ['dev'] }, to: { ...ADA, groups: ['dev'] }, marked: true },
  { name: 'labels and annotations of a claim in 17 groups', from: { groups: [...MAX_GROUPS, 'dev'] }, to: { groups: [...MAX_GROUPS, 'dev'] }, marked: true },
  { name: 'labels beside the lifetime of the key of a user', from: ADA, to: { ...ADA, ttl: 600 }, marked: true, lacks: OF_ADA },
]

// biome-ignore format: a table
const BY_IMPERSONATOR: readonly Case[] = [
  { name: 'a claim of a user in groups', to: { ...ADA, groups: ['dev', 'audit'] } },
  { name: 'a claim of a team', to: { team: 'ops' } },
  { name: 'a claim of a subject', to: { subject: 'robot' } },
  { name: 'a claim of the subject of another claim', to: OTHER },
  { name: 'a claim in 16 groups', to: { groups: MAX_GROUPS } },
  { name: 'a claim in 17 groups', to: { groups: [...MAX_GROUPS, 'dev'] }, tooMany: true },
  { name: 'a claim of an unknown user', to: { user: 'eve' }, lacks: ['user', 'user eve', 'users/eve'] },
  { name: 'a claim of a user in an unknown group', to: { ...ADA, groups: ['dev', 'root'] }, namesOther: true, lacks: ['groups', 'group root', 'groups/root'] },
  { name: 'the lifetime of the key of a user', from: ADA, to: { ...ADA, ttl: 600 } },
  { name: 'the lifetime of a key in 17 groups', from: { groups: [...MAX_GROUPS, 'dev'] }, to: { groups: [...MAX_GROUPS, 'dev'], ttl: 600 }, tooMany: true },
  { name: 'the identity from an unknown user to a team', from: { user: 'eve' }, to: { team: 'ops' } },
  { name: 'the lifetime of a key with an unknown group', from: { ...ADA, groups: ['root'] }, to: { ...ADA, groups: ['root'], ttl: 600 }, namesOther: true, lacks: ['groups', 'group root', 'groups/root'] },
]

// biome-ignore format: a table
const BY_LOOKALIKE: readonly Case[] = [
  { name: 'a claim of a user, with rights on groups', to: ADA, lacks: OF_ADA },
  { name: 'a claim of a team, with rights on users', to: { team: 'ops' }, lacks: OF_OPS },
  { name: 'a claim of a subject, with rights on groups', to: { subject: 'robot' }, lacks: ['subject', 'robot', 'users/robot'] },
  { name: 'a claim in a group, with the prefixed name', to: { groups: ['dev'] }, lacks: OF_DEV },
]

// biome-ignore format: a table
const BY_DELEGATE: readonly Case[] = [
  { name: 'a claim of any identity', to: { subject: 'any', groups: [...MAX_GROUPS, 'dev'] } },
  { name: 'the lifetime of the key of a user', from: ADA, to: { ...ADA, ttl: 600 } },
]

/** Each name in a claim, and each change of a claim with names, by callers with and without the right. */
export const claimRows: readonly Row<Caller>[] = [
  ...rowsOf('claimWriter', BY_WRITER),
  ...rowsOf('ada', [
    { name: 'a claim of her own user', to: ADA, lacks: OF_ADA },
    {
      name: 'the lifetime of the key of her own user',
      from: ADA,
      to: { ...ADA, ttl: 600 },
      lacks: OF_ADA,
    },
  ]),
  ...rowsOf('claimImpersonator', BY_IMPERSONATOR),
  ...rowsOf('claimLookalike', BY_LOOKALIKE),
  ...rowsOf('claimDelegate', BY_DELEGATE),
]

/** A last group that the caller may not impersonate, of each number of groups. */
export const claimPlaceRows: readonly Row<Caller>[] = rowsOf(
  'claimImpersonator',
  MAX_GROUPS.map((_, place) => ({
    name: `a claim in an unknown group at index ${place}`,
    to: { groups: [...MAX_GROUPS.slice(0, place), 'root'] },
    lacks: ['groups', 'group root', 'groups/root'],
  })),
)

const labelled = (value: string, more: object = {}): Manifest => ({
  metadata: { labels: { [CLAIM_LABEL]: value, ...more } },
  spec: {},
})
const UNLABELLED: Manifest = { spec: {} }

/** The label that makes a key or a token one of a claim, by callers with and without the verb delegate. */
export function claimLabelRows<By extends string>(writer: By, delegate: By): readonly Row<By>[] {
  const refused = (instead: string) =>
    ({
      code: 403,
      says: `metadata.labels: ${CLAIM_LABEL} names the AccessKeyClaim that this one was made for; changing it needs the verb delegate on ownedaccesskeys, which ${writer} does not have; ${instead}`,
    }) as const
  const [OMIT, KEEP] = [refused('leave it out'), refused('keep it as it is')]
  // biome-ignore format: a table
  return [
    { name: 'an object with the label of claims', by: writer, to: labelled('a'), refused: OMIT },
    { name: 'an object with an empty label of claims', by: writer, to: labelled(''), refused: OMIT },
    { name: 'the label of claims from none', by: writer, from: UNLABELLED, to: labelled('a'), refused: OMIT },
    { name: 'the label of claims to another', by: writer, from: labelled('a'), to: labelled('b'), refused: KEEP },
    { name: 'the label of claims to none', by: writer, from: labelled('a'), to: UNLABELLED, refused: KEEP },
    { name: 'an empty label of claims to none', by: writer, from: labelled(''), to: UNLABELLED, refused: KEEP },
    { name: 'another label beside the one of claims', by: writer, from: labelled('a'), to: labelled('a', { note: 'changed' }) },
    { name: 'an object with the label of claims', by: delegate, to: labelled('a') },
    { name: 'the label of claims to another', by: delegate, from: labelled('a'), to: labelled('b') },
    { name: 'the label of claims to none', by: delegate, from: labelled('a'), to: UNLABELLED },
  ]
}
