import { describe, expect, test } from 'vitest'
import { TOKENS } from '../../../../src/api/names.ts'
import {
  MADE_WITH_CI,
  type Parts,
  type callers,
  newKey,
  owner,
  project,
  token,
} from './key-objects.ts'
import { MINE, validateWrite, managed } from './self-service-request.ts'

/** A title, the new object, and the refused field; null = accepted. */
type Row = readonly [name: string, parts: Parts, fault: string | null]
type By = keyof typeof callers

const REVOKE = 'management.platform.sh/revoke'
const EXPIRED = 'management.platform.sh/expired'
const owners = 'metadata.ownerReferences'
const MADE_WITH = 'management.platform.sh/made-with'
const annotation = (name: string): string => `metadata.annotations[${name}]`
const label = (name: string): string => `metadata.labels[${name}]`
const ALL_OPEN_FIELDS = {
  ttl: 60,
  ttlAfterLastActivity: true,
  displayName: 'x',
  description: 'y',
  disabled: true,
  key: 'k'.repeat(32),
  scope: project('any'),
}

/** Owned by the calling key and of type User, unless it says otherwise. */
const child = ({ metadata, spec }: Parts = {}): Parts => ({
  metadata: { ...MINE, ...metadata },
  spec: { type: 'User', ...spec },
})
const childWith = (spec: NonNullable<Parts['spec']>): Parts => child({ spec })
const childOf = (...ownerReferences: ReturnType<typeof owner>[]): Parts =>
  child({ metadata: { ownerReferences } })

const IN_PERSON: readonly Row[] = [
  ['of the caller’s user', {}, null],
  ['with every field that the caller may set', { spec: ALL_OPEN_FIELDS }, null],
  ['without a type', { spec: { type: '' } }, null],
  ['of type User', { spec: { type: 'User' } }, null],
  ['of type Other', { spec: { type: 'Other' } }, null],
  ['of type Login', { spec: { type: 'Login' } }, 'spec.type'],
  ['of type Reset', { spec: { type: 'Reset' } }, 'spec.type'],
  ['of type OIDCRefreshToken', { spec: { type: 'OIDCRefreshToken' } }, 'spec.type'],
  ['of type NetworkPeer', { spec: { type: 'NetworkPeer' } }, 'spec.type'],
  ['of type Workspace', { spec: { type: 'Workspace' } }, 'spec.type'],
  ['of another user', { spec: { user: 'bob' } }, 'spec.user'],
  ['of the caller’s user in other letters', { spec: { user: 'Ada' } }, 'spec.user'],
  ['of no user', { spec: { user: '' } }, 'spec.user'],
  ['of a team too', { spec: { team: 'ops' } }, 'spec.team'],
  ['of a subject too', { spec: { subject: 'robot' } }, 'spec.subject'],
  ['with sign-on data', { spec: { identity: { userId: '1' } } }, 'spec.identity'],
  ['with a time of sign-on', { spec: { identityRefresh: '2026-11-21' } }, 'spec.identityRefresh'],
  ['with an OIDC client', { spec: { oidcProvider: { clientId: 'c' } } }, 'spec.oidcProvider'],
  ['with tokens of a sign-on', { spec: { oidcLogin: { idToken: 't' } } }, 'spec.oidcLogin'],
  ['with a parent', { spec: { parent: 'ci' } }, 'spec.parent'],
  ['with an empty parent, which is none', { spec: { parent: '' } }, null],
  ['with a group of the caller', { spec: { groups: ['dev'] } }, null],
  ['with another group', { spec: { groups: ['dev', 'ops'] } }, 'spec.groups'],
  ['with an owner', { metadata: MINE }, owners],
  [
    'with a finalizer of the caller',
    { metadata: { finalizers: [REVOKE, 'a.b/c'] } },
    'metadata.finalizers',
  ],
  ['without our finalizer', { metadata: { finalizers: [] } }, 'metadata.finalizers'],
  ['to be kept', { metadata: { annotations: { [EXPIRED]: 'Keep' } } }, annotation(EXPIRED)],
  [
    'with labels and annotations of the caller',
    { metadata: { annotations: { a: 'b' }, labels: { ...MADE_WITH_CI, c: 'd' } } },
    null,
  ],
  ['made with nothing', { metadata: { labels: {} } }, label(MADE_WITH)],
  ['made with another', { metadata: { labels: { [MADE_WITH]: 'uid-other' } } }, label(MADE_WITH)],
  [
    'with another label of ours',
    { metadata: { labels: { ...MADE_WITH_CI, [EXPIRED]: 'Keep' } } },
    label(EXPIRED),
  ],
  ['with a digest', { spec: { key: `sha256:${'0'.repeat(64)}` } }, 'spec.key'],
  ['as the operator', { metadata: managed('management-operator') }, 'metadata.managedFields'],
  [
    'as the gateway',
    { metadata: managed('kubectl', 'management-operator-gateway') },
    'metadata.managedFields',
  ],
  ['with a field manager of the caller', { metadata: managed('kubectl') }, null],
]

const WITH_A_KEY: readonly Row[] = [
  ['owned by the caller’s key', child(), null],
  ['without an owner', { spec: { type: 'User' } }, owners],
  ['owned by another key', childOf(owner('other')), owners],
  ['owned by a key of that name that was', childOf(owner('ci', 'uid-old')), owners],
  ['owned by another too', childOf(owner('ci'), { ...owner('x'), controller: false }), owners],
  ['owned, but not controlled', childOf({ ...owner('ci'), controller: false }), owners],
  ['that holds its owner', childOf({ ...owner('ci'), blockOwnerDeletion: true }), owners],
  ['of type Other', childWith({ type: 'Other' }), 'spec.type'],
  ['without a type', childWith({ type: '' }), 'spec.type'],
  ['of type Login', childWith({ type: 'Login' }), 'spec.type'],
  ['with a scope', childWith({ scope: project('any') }), null],
]

const WITH_AN_END: readonly Row[] = [
  ['that ends with the caller’s key', childWith({ ttl: 3600 }), null],
  ['that ends a second later', childWith({ ttl: 3601 }), 'spec.ttl'],
  ['that never ends', child(), 'spec.ttl'],
  ['that slides, and ends sooner', childWith({ ttl: 60, ttlAfterLastActivity: true }), null],
]

const WITH_A_SCOPE: readonly Row[] = [
  ['with the same scope', childWith({ scope: project('shop') }), null],
  ['with a part', childWith({ scope: { spaces: [{ project: 'shop', space: 'a' }] } }), null],
  ['with another', childWith({ scope: project('bank') }), 'spec.scope.projects[0]'],
  ['with all', childWith({ scope: project('*') }), 'spec.scope.projects[0]'],
  [
    'with more',
    childWith({ scope: { projects: [{ project: 'shop' }, { project: 'bank' }] } }),
    'spec.scope.projects[1]',
  ],
  ['without a scope', child(), 'spec.scope'],
  [
    'with an unknown field',
    childWith({ scope: { ...project('shop'), everything: true } }),
    'spec.scope.everything',
  ],
  ['without an owner', { spec: { type: 'User', scope: project('shop') } }, owners],
]

const rows = (by: By, all: readonly Row[]) =>
  all.map(([name, parts, fault]) => ({ by, name, parts, fault }))

test.each([
  ...rows('person', IN_PERSON),
  ...rows('team', [['of a user', {}, 'spec.user']]),
  ...rows('plain', [...WITH_A_KEY, ['without an end', child(), null]]),
  ...rows('ending', WITH_AN_END),
  ...rows('scoped', WITH_A_SCOPE),
  ...rows('login', WITH_A_SCOPE),
])('a create of a key by $by: $name: $fault (12.1, 12.3, C9, B8)', ({ by, parts, fault }) => {
  expect(validateWrite({ by, after: newKey(parts) })?.field ?? null).toBe(fault)
})

test.each([
  { name: 'sooner than the calling key', cap: 60, fault: null },
  { name: 'later than the calling key', cap: 7200, fault: 'spec.ttl' },
])('the cap ends a new key $name: $fault (12.3)', ({ cap, fault }) => {
  const caps = { maxTtlSeconds: cap, loginTtlSeconds: 0 }
  expect(validateWrite({ by: 'ending', after: newKey(child()), caps })?.field ?? null).toBe(fault)
})

const OF_TOKENS: readonly Row[] = [
  ['owned by the calling key', {}, null],
  ['without an owner', { metadata: { ownerReferences: [] } }, owners],
  ['owned by another key', { metadata: { ownerReferences: [owner('other')] } }, owners],
  ['with a finalizer', { metadata: { finalizers: ['a.b/c'] } }, 'metadata.finalizers'],
  ['to be kept', { metadata: { annotations: { [EXPIRED]: 'Keep' } } }, annotation(EXPIRED)],
  ['labelled', { metadata: { labels: { a: 'b' } } }, null],
  ['made with a key', { metadata: { labels: MADE_WITH_CI } }, label(MADE_WITH)],
]

test.each([
  ...rows('person', OF_TOKENS),
  ...rows('plain', OF_TOKENS),
  ...rows('ending', OF_TOKENS),
  ...rows('team', OF_TOKENS),
  ...rows('scoped', [
    ...OF_TOKENS,
    ['without a scope: it has that of its owner', {}, null],
    ['with a scope within', { spec: { scope: project('shop') } }, null],
    ['with more scope', { spec: { scope: project('bank') } }, 'spec.scope.projects[0]'],
  ]),
])('a create of a token by $by: $name: $fault (12.1, 12.2)', ({ by, parts, fault }) => {
  expect(validateWrite({ by, resource: TOKENS, after: token(parts) })?.field ?? null).toBe(fault)
})

describe('a refusal (12.3)', () => {
  test('does not repeat the scope of the calling key', () => {
    const fault = validateWrite({
      by: 'scoped',
      after: newKey(childWith({ scope: project('bank') })),
    })
    expect(fault?.because).toMatch(/more than the scope of the calling access key: .*"bank"/)
    expect(fault?.because).not.toContain('shop')
  })

  test('names the valid values', () => {
    expect(validateWrite({ by: 'ending', after: newKey(childWith({ ttl: 9999 })) })?.because).toBe(
      'the calling access key ends 2026-11-21T11:00:00Z: a key made with it has a ttl of 3600 s at most',
    )
  })
})
