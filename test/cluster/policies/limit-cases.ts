// Which callers may lift which limit of a stored key: its scope, its ttl, its fixed end, its disabled state. The
// callers are those of identity-cases.ts.
import { type IdentityCaller, MAX_GROUPS } from './identity-cases.ts'
import type { Manifest, Row } from './write-methods.ts'

type Spec = Manifest['spec']

interface Case {
  readonly name: string
  readonly from: Spec
  /** Changed fields; undefined removes one. */
  readonly change: Spec
  /** Why it is refused: the lifted fields, and the resource without the verb impersonate; absent = allowed. */
  readonly lacks?: readonly [fields: string, right: string]
  readonly tooMany?: string
}

const PROJECT = { projects: [{ project: 'shop' }] }
const WIDER = { projects: [{ project: 'shop' }, { project: 'back' }] }
const BOB = { user: 'bob' }
const LIFTED = { scope: undefined, ttl: undefined, ttlAfterLastActivity: true, disabled: undefined }
const LIMITED = { scope: PROJECT, ttl: 60, disabled: true }
const ALL = 'spec.scope, spec.ttl, spec.ttlAfterLastActivity, spec.disabled'

const instead = (by: string): string =>
  `, which ${by} does not have; shorten, disable or delete it instead, or have that granted`

function refusalOf(by: string, { lacks, tooMany }: Pick<Case, 'lacks' | 'tooMany'>) {
  if (tooMany !== undefined) {
    const needs = `${tooMany}: lifting a limit of a key that names 17 groups needs the verb delegate on ownedaccesskeys, as a policy can check 16 at most`
    return { code: 403, says: needs + instead(by) } as const
  }
  if (!lacks) return undefined
  const [fields, right] = lacks
  const needs = `${fields}: lifting a limit of a key that acts for others needs the verb impersonate on ${right}`
  return { code: 403, says: needs + instead(by) } as const
}

const rowsOf = (by: IdentityCaller, cases: readonly Case[]): readonly Row<IdentityCaller>[] =>
  cases.map(({ name, from, change, ...reasons }) => {
    const refused = refusalOf(by, reasons)
    const to = JSON.parse(JSON.stringify({ ...from, ...change })) as Spec
    return { name, by, from: { spec: from }, to: { spec: to }, ...(refused && { refused }) }
  })

/** A caller without the right to impersonate. */
// biome-ignore format: a table
const BY_WRITER: readonly Case[] = [
  { name: 'the scope to none', from: { ...BOB, scope: PROJECT }, change: { scope: undefined }, lacks: ['spec.scope', 'users/bob'] },
  { name: 'the scope to a wider one', from: { ...BOB, scope: PROJECT }, change: { scope: WIDER }, lacks: ['spec.scope', 'users/bob'] },
  { name: 'the scope to a narrower one', from: { ...BOB, scope: WIDER }, change: { scope: PROJECT }, lacks: ['spec.scope', 'users/bob'] },
  { name: 'the scope from none to a first one', from: BOB, change: { scope: PROJECT } },
  { name: 'the ttl to a longer one', from: { ...BOB, ttl: 60 }, change: { ttl: 61 }, lacks: ['spec.ttl', 'users/bob'] },
  { name: 'the ttl to none', from: { ...BOB, ttl: 60 }, change: { ttl: undefined }, lacks: ['spec.ttl', 'users/bob'] },
  { name: 'the ttl to 0, which means none', from: { ...BOB, ttl: 60 }, change: { ttl: 0 }, lacks: ['spec.ttl', 'users/bob'] },
  { name: 'the ttl to a shorter one', from: { ...BOB, ttl: 60 }, change: { ttl: 59 } },
  { name: 'the ttl from none to a first one', from: BOB, change: { ttl: 60 } },
  { name: 'the ttl from 0 to a first one', from: { ...BOB, ttl: 0 }, change: { ttl: 60 } },
  { name: 'the ttl from 0 to none', from: { ...BOB, ttl: 0 }, change: { ttl: undefined } },
  { name: 'the ttl of a Login key from none to a first one', from: { ...BOB, type: 'Login' }, change: { ttl: 60 }, lacks: ['spec.ttl', 'users/bob'] },
  { name: 'the ttl of a Login key to none', from: { ...BOB, type: 'Login', ttl: 60 }, change: { ttl: 0 }, lacks: ['spec.ttl', 'users/bob'] },
  { name: 'the ttl of a Login key to a shorter one', from: { ...BOB, type: 'Login', ttl: 60 }, change: { ttl: 59 } },
  { name: 'the fixed end to a sliding one', from: { ...BOB, ttl: 60 }, change: { ttlAfterLastActivity: true }, lacks: ['spec.ttlAfterLastActivity', 'users/bob'] },
  { name: 'the sliding end to a fixed one', from: { ...BOB, ttl: 60, ttlAfterLastActivity: true }, change: { ttlAfterLastActivity: false } },
  { name: 'the sliding end to the default, a fixed one', from: { ...BOB, ttl: 60, ttlAfterLastActivity: true }, change: { ttlAfterLastActivity: undefined } },
  { name: 'disabled from true to false', from: { ...BOB, disabled: true }, change: { disabled: false }, lacks: ['spec.disabled', 'users/bob'] },
  { name: 'disabled from true to absent', from: { ...BOB, disabled: true }, change: { disabled: undefined }, lacks: ['spec.disabled', 'users/bob'] },
  { name: 'disabled from false to true', from: { ...BOB, disabled: false }, change: { disabled: true } },
  { name: 'all limits at once', from: { ...BOB, ...LIMITED }, change: LIFTED, lacks: [ALL, 'users/bob'] },
  { name: 'the ttl to a shorter one and the scope to none', from: { ...BOB, ...LIMITED }, change: { ttl: 30, scope: undefined }, lacks: ['spec.scope', 'users/bob'] },
  { name: 'a field other than the limits', from: { ...BOB, ...LIMITED }, change: { displayName: 'changed' } },
  { name: 'the user to the caller, and all limits', from: { ...BOB, ...LIMITED }, change: { ...LIFTED, user: 'writer' }, lacks: [ALL, 'users/bob'] },
  { name: 'the user to none, and all limits', from: { ...BOB, ...LIMITED }, change: { ...LIFTED, user: undefined }, lacks: [ALL, 'users/bob'] },
  { name: 'limits of a team', from: { team: 'ops', ...LIMITED }, change: LIFTED, lacks: [ALL, 'groups/platform:team:ops'] },
  { name: 'limits of a subject', from: { subject: 'robot', ...LIMITED }, change: LIFTED, lacks: [ALL, 'users/robot'] },
  { name: 'limits of a subject with the name of the caller', from: { subject: 'writer', ...LIMITED }, change: LIFTED, lacks: [ALL, 'users/writer'] },
  { name: 'limits of a key of the caller', from: { user: 'writer', ...LIMITED }, change: LIFTED },
  { name: 'limits of a key of the caller in a group', from: { user: 'writer', groups: ['dev'], ...LIMITED }, change: LIFTED, lacks: [ALL, 'groups/dev'] },
  { name: 'limits and groups of a key of the caller in a group', from: { user: 'writer', groups: ['dev'], ...LIMITED }, change: { ...LIFTED, groups: undefined }, lacks: [ALL, 'groups/dev'] },
  { name: 'limits of a key without an identity', from: LIMITED, change: LIFTED },
]

// biome-ignore format: a table
const BY_IMPERSONATOR: readonly Case[] = [
  { name: 'limits of a user in groups', from: { ...BOB, groups: ['dev', 'audit'], ...LIMITED }, change: LIFTED },
  { name: 'limits of a team', from: { team: 'ops', ...LIMITED }, change: LIFTED },
  { name: 'limits of a subject', from: { subject: 'robot', ...LIMITED }, change: LIFTED },
  { name: 'limits and user of a key of an unknown user', from: { user: 'eve', ...LIMITED }, change: { ...LIFTED, ...BOB }, lacks: [ALL, 'users/eve'] },
  { name: 'limits of a user in an unknown group', from: { ...BOB, groups: ['dev', 'root'], ...LIMITED }, change: LIFTED, lacks: [ALL, 'groups/root'] },
  { name: 'limits of a key in 16 groups', from: { ...BOB, groups: MAX_GROUPS, ...LIMITED }, change: LIFTED },
  { name: 'limits of a key in 17 groups', from: { ...BOB, groups: [...MAX_GROUPS, 'dev'], ...LIMITED }, change: LIFTED, tooMany: ALL },
  { name: 'a key in 17 groups to a disabled one with a ttl', from: { ...BOB, groups: [...MAX_GROUPS, 'dev'] }, change: LIMITED },
]

// biome-ignore format: a table
const BY_LOOKALIKE: readonly Case[] = [
  { name: 'limits of a user, with rights on groups', from: { ...BOB, ...LIMITED }, change: LIFTED, lacks: [ALL, 'users/bob'] },
  { name: 'limits of a team, with rights on users', from: { team: 'ops', ...LIMITED }, change: LIFTED, lacks: [ALL, 'groups/platform:team:ops'] },
  { name: 'limits of a group, with the prefixed name', from: { groups: ['dev'], ...LIMITED }, change: LIFTED, lacks: [ALL, 'groups/dev'] },
]

const BY_DELEGATE: readonly Case[] = [
  {
    name: 'limits of a key in 17 groups',
    from: { user: 'any', groups: [...MAX_GROUPS, 'dev'], ...LIMITED },
    change: LIFTED,
  },
]

/** Each change of a limit, by callers with and without the right. */
export const limitRows: readonly Row<IdentityCaller>[] = [
  ...rowsOf('writer', BY_WRITER),
  ...rowsOf('impersonator', BY_IMPERSONATOR),
  ...rowsOf('lookalike', BY_LOOKALIKE),
  ...rowsOf('delegate', BY_DELEGATE),
]

/** A lifted limit of a key with one group that the caller may not impersonate, at each index. */
export const limitPlaceRows: readonly Row<IdentityCaller>[] = rowsOf(
  'impersonator',
  MAX_GROUPS.map((_, place) => ({
    name: `the disabled state of a key with an unknown group at index ${place}`,
    from: { groups: MAX_GROUPS.with(place, 'root'), ...LIMITED },
    change: { disabled: undefined },
    lacks: ['spec.disabled', 'groups/root'],
  })),
)
