import { expect, test } from 'vitest'
import { TOKENS } from '../../../../src/api/names.ts'
import {
  MADE_WITH_CI,
  type Parts,
  type callers,
  key,
  owner,
  project,
  token,
} from './key-objects.ts'
import { MINE, validateWrite, managed, withAnnotations } from './self-service-request.ts'

/** A title, the object before and after, and the refused field. */
type Row = readonly [name: string, before: Parts, after: Parts, fault: string | null]
type By = keyof typeof callers

const REVOKE = 'management.platform.sh/revoke'
const CREATED = 'management.platform.sh/created'
const EXPIRED = 'management.platform.sh/expired'
const owners = 'metadata.ownerReferences'
const MADE_WITH = 'management.platform.sh/made-with'
const label = (name: string): string => `metadata.labels[${name}]`
const annotation = (name: string): string => `metadata.annotations[${name}]`
const spec = (fields: NonNullable<Parts['spec']>): Parts => ({ spec: fields })
const meta = (fields: NonNullable<Parts['metadata']>): Parts => ({ metadata: fields })

const NOTHING: Parts = {}
const CLAIM = 'management.platform.sh/claim'
const OF_CLAIM = meta({ labels: { [CLAIM]: 'uid-deploy' } })
const MADE = meta({ labels: MADE_WITH_CI })
const KNOWN = spec({ key: `sha256:${'0'.repeat(64)}` })
const SHOP = spec({ scope: project('shop') })
const WIDE = spec({ scope: { projects: [{ project: 'shop' }, { project: 'bank' }] } })
const DISABLED = spec({ disabled: true })
const MINUTE = spec({ ttl: 60 })
const SLIDING = spec({ ttl: 60, ttlAfterLastActivity: true })
const HELD = meta({ ownerReferences: [{ ...owner('ci'), blockOwnerDeletion: true }] })
const LESS = { manager: 'management-operator', operation: 'Apply', fieldsV1: { 'f:spec': {} } }
const MORE = { ...LESS, fieldsV1: { 'f:spec': { 'f:scope': {} } } }
const OPERATED = meta({ managedFields: [LESS] })
const ALL_OWNED = meta({ managedFields: [MORE] })
/** A second entry, which clients may take for the first. */
const TWICE_OWNED = meta({ managedFields: [MORE, LESS] })

/** Changes that no user may make to their own keys. */
const NEVER: readonly Row[] = [
  ['another user’s', NOTHING, spec({ user: 'bob' }), 'spec.user'],
  ['a team’s', NOTHING, spec({ team: 'ops' }), 'spec.team'],
  ['with a parent', NOTHING, spec({ parent: 'x' }), 'spec.parent'],
  ['of a group that the caller is not in', NOTHING, spec({ groups: ['ops'] }), 'spec.groups'],
  ['without an owner', meta(MINE), NOTHING, owners],
  ['owned by a key', NOTHING, meta(MINE), owners],
  ['holding its owner', meta(MINE), HELD, owners],
  ['without a finalizer', NOTHING, meta({ finalizers: [] }), 'metadata.finalizers'],
  ['orphaning', NOTHING, meta({ finalizers: [REVOKE, 'orphan'] }), 'metadata.finalizers'],
  [
    'younger',
    NOTHING,
    meta(withAnnotations({ [CREATED]: '2027-01-01T00:00:00Z' })),
    annotation(CREATED),
  ],
  ['ageless', NOTHING, meta({ annotations: {} }), annotation(CREATED)],
  [
    'kept after its end',
    NOTHING,
    meta(withAnnotations({ [EXPIRED]: 'Keep' })),
    annotation(EXPIRED),
  ],
  ['made with nothing', MADE, NOTHING, label(MADE_WITH)],
  ['made with another', MADE, meta({ labels: { [MADE_WITH]: 'uid-x' } }), label(MADE_WITH)],
  ['made with a key', NOTHING, MADE, label(MADE_WITH)],
  ['a claim’s', NOTHING, OF_CLAIM, label(CLAIM)],
  ['a claim’s no more', OF_CLAIM, NOTHING, label(CLAIM)],
  ['labelled as ours', NOTHING, meta({ labels: { [EXPIRED]: 'Keep' } }), label(EXPIRED)],
  ['known by a digest', NOTHING, spec({ key: `sha256:${'0'.repeat(64)}` }), 'spec.key'],
  ['the operator’s in its scope', OPERATED, ALL_OWNED, 'metadata.managedFields'],
  ['the operator’s twice', OPERATED, TWICE_OWNED, 'metadata.managedFields'],
  ['the operator’s for the first time', NOTHING, OPERATED, 'metadata.managedFields'],
]

/** Changes that every caller may make. */
const ALWAYS: readonly Row[] = [
  ['what it was', NOTHING, NOTHING, null],
  ['labelled', NOTHING, meta({ labels: { a: 'b' }, ...withAnnotations({ c: 'd' }) }), null],
  ['labelled too', MADE, meta({ labels: { ...MADE_WITH_CI, a: 'b' } }), null],
  ['what a digest opens', KNOWN, spec({ ...KNOWN.spec, displayName: 'x' }), null],
  ['with another display name', NOTHING, spec({ displayName: 'x', description: 'y' }), null],
  ['another manager’s too', OPERATED, meta(managed('management-operator', 'kubectl')), null],
  ['less of the operator’s', ALL_OWNED, OPERATED, null],
  ['no manager’s', OPERATED, meta({ managedFields: [] }), null],
  ['disabled', NOTHING, DISABLED, null],
  ['one with an end', NOTHING, MINUTE, null],
  ['one with a scope', NOTHING, SHOP, null],
  ['one with less scope', WIDE, SHOP, null],
  ['one that slides no more', SLIDING, MINUTE, null],
]

/** Changes that only a user in person may make. */
const IN_PERSON: readonly Row[] = [
  ['enabled', DISABLED, NOTHING, 'spec.disabled'],
  ['enabled in other words', DISABLED, spec({ disabled: false }), 'spec.disabled'],
  ['longer', MINUTE, spec({ ttl: 61 }), 'spec.ttl'],
  ['endless', MINUTE, NOTHING, 'spec.ttl'],
  ['endless in other words', MINUTE, spec({ ttl: 0 }), 'spec.ttl'],
  [
    'longer than a Login key by itself',
    spec({ type: 'Login' }),
    spec({ type: 'Login', ttl: 1_728_001 }),
    'spec.ttl',
  ],
  ['sliding', MINUTE, SLIDING, 'spec.ttlAfterLastActivity'],
  ['wider', SHOP, WIDE, 'spec.scope'],
  ['unlimited', SHOP, NOTHING, 'spec.scope'],
  ['another in scope', SHOP, spec({ scope: project('bank') }), 'spec.scope'],
  ['of fewer groups', spec({ groups: ['dev'] }), NOTHING, 'spec.groups'],
  ['another in secret', NOTHING, spec({ key: 'k'.repeat(32) }), 'spec.key'],
]

/** Changes that only the user may make, with another key. */
const SIGNED_ON = spec({ identity: { userId: '1' } })
const OTHERS: readonly Row[] = [
  ['of other sign-on data', SIGNED_ON, spec({ identity: { userId: '2' } }), 'spec.identity'],
  ['of no sign-on data', SIGNED_ON, NOTHING, 'spec.identity'],
  ['longer, sign-on data and all', SIGNED_ON, spec({ identity: { userId: '1' }, ttl: 5 }), null],
]

const rows = (by: By, all: readonly Row[]) =>
  all.map(([name, before, after, fault]) => ({ by, name, before, after, fault }))

const allowed = (all: readonly Row[]): readonly Row[] =>
  all.map(([name, before, after]) => [name, before, after, null])

test.each([
  ...rows('person', [...NEVER, ...ALWAYS, ...allowed(IN_PERSON), ...OTHERS]),
  ...rows('plain', [...NEVER, ...ALWAYS, ...IN_PERSON, ...OTHERS]),
  ...rows('scoped', [...NEVER, ...ALWAYS, ...IN_PERSON, ...OTHERS]),
  ...rows('login', [...NEVER, ...ALWAYS, ...IN_PERSON, ...OTHERS]),
  ...rows('team', [['what it was', NOTHING, NOTHING, 'spec.user']]),
  ...rows('person', [
    ['of a group more', spec({ groups: ['ops'] }), spec({ groups: ['ops', 'dev'] }), null],
  ]),
])('an update of a key by $by: $name: $fault (12.1, 12.3, C9)', ({ by, before, after, fault }) => {
  expect(validateWrite({ by, before: key(before), after: key(after) })?.field ?? null).toBe(fault)
})

const OF_TOKENS: readonly Row[] = [
  ['labelled', NOTHING, meta({ labels: { a: 'b' } }), null],
  ['another key’s', NOTHING, meta({ ownerReferences: [owner('other')] }), owners],
  ['without an owner', NOTHING, meta({ ownerReferences: [] }), owners],
  ['unheld', meta({ finalizers: [REVOKE] }), NOTHING, 'metadata.finalizers'],
]

test.each([
  ...rows('person', OF_TOKENS),
  ...rows('plain', OF_TOKENS),
  ...rows('scoped', OF_TOKENS),
  ...rows('team', OF_TOKENS),
])('an update of a token by $by: $name: $fault (12.1)', ({ by, before, after, fault }) => {
  const judged = { by, resource: TOKENS, before: token(before), after: token(after) }
  expect(validateWrite(judged)?.field ?? null).toBe(fault)
})
