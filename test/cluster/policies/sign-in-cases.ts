// Which callers may create and change keys of the types that a sign-in makes, the annotation identity-gone, and the time of the last refresh.
import { IDENTITY_GONE_ANNOTATION } from '../../../src/api/names.ts'
import { IDENTITY_CALLERS, MAX_GROUPS } from './identity-cases.ts'
import { WRITES, mayImpersonate, onPlatformKinds } from './rbac-users.ts'
import { DIGEST, KEY } from './reserved-cases.ts'
import type { Manifest, Row } from './write-methods.ts'

/** Without a right to read keys, as the process that signs people in. */
const SIGNS_IN = [
  onPlatformKinds(
    ['create', 'update', 'patch', 'delete', 'deletecollection', 'sign-in'],
    ['ownedaccesskeys'],
  ),
  onPlatformKinds(['list'], ['configs']),
] as const

/** The grants of each caller. */
export const SIGN_IN_CALLERS = {
  writer: IDENTITY_CALLERS.writer,
  impersonator: IDENTITY_CALLERS.impersonator,
  delegate: IDENTITY_CALLERS.delegate,
  signer: SIGNS_IN,
  // As the operator.
  recorder: [WRITES, onPlatformKinds(['record-identity'], ['ownedaccesskeys'])],
  // No policy but that of the type refuses the names in its keys.
  signingImpersonator: [
    ...SIGNS_IN,
    mayImpersonate('users', ['bob', 'robot']),
    mayImpersonate('groups', ['platform:team:ops', 'dev']),
  ],
} as const

type Caller = keyof typeof SIGN_IN_CALLERS
type Spec = Manifest['spec']

interface Case {
  readonly name: string
  readonly by: Caller
  /** The stored spec; absent = the key is created. */
  readonly from?: Spec
  readonly to: Spec
  /** The message of the refusal; absent = allowed. */
  readonly says?: string
}

const LOGIN = { type: 'Login' }
const REFRESH = { type: 'OIDCRefreshToken' }
const BOB = { ...LOGIN, user: 'bob' }
const SCOPE = { projects: [{ project: 'shop' }] }
const TIME = '2026-11-29T10:00:00Z'

const lacks = (by: Caller): string => `on ownedaccesskeys, which ${by} does not have`

const needsSignIn = (type: string, by: Caller): string =>
  `spec.type: a key of type ${type} needs the verb sign-in ${lacks(by)}; write type User or Other, or have that granted`

const needsDelegate = (by: Caller): string =>
  `spec.type: a key of type Reset needs the verb delegate ${lacks(by)}; write type User or Other`

const otherMade = (by: Caller): string =>
  `spec.type: whoever has the verb sign-in makes keys of type Login and OIDCRefreshToken, and others only where they name nobody; for this one it takes the verb delegate too ${lacks(by)}`

const OTHER_CHANGED = `spec.type: whoever has the verb sign-in changes and deletes keys of type Login and OIDCRefreshToken only; for this one it takes the verb delegate too ${lacks('signer')}`

const naming = (field: string, named: string, right: string): string =>
  `spec.${field}: naming ${named} needs the verb impersonate on ${right}, which signer does not have`

const lifting = (fields: string, right: string): string =>
  `${fields}: lifting a limit of a key that acts for others needs the verb impersonate on ${right}, which signer does not have`

// biome-ignore format: a table
const CREATIONS: readonly Case[] = [
  { name: 'a Login key of the caller', by: 'writer', to: { ...LOGIN, user: 'writer' }, says: needsSignIn('Login', 'writer') },
  { name: 'a Login key of nobody', by: 'writer', to: LOGIN, says: needsSignIn('Login', 'writer') },
  { name: 'a Login key of a user to impersonate', by: 'impersonator', to: BOB, says: needsSignIn('Login', 'impersonator') },
  { name: 'an OIDCRefreshToken key of the caller', by: 'writer', to: { ...REFRESH, user: 'writer' }, says: needsSignIn('OIDCRefreshToken', 'writer') },
  { name: 'a Login key of the caller', by: 'recorder', to: { ...LOGIN, user: 'recorder' }, says: needsSignIn('Login', 'recorder') },
  { name: 'a Reset key of the caller', by: 'writer', to: { type: 'Reset', user: 'writer' }, says: needsDelegate('writer') },
  { name: 'a Reset key of nobody', by: 'signer', to: { type: 'Reset' }, says: needsDelegate('signer') },
  ...['', 'User', 'Other', 'NetworkPeer', 'Workspace'].map((type): Case => (
    { name: `a key of the caller of type ${type || 'none'}`, by: 'writer', to: { type, user: 'writer' } }
  )),
  { name: 'a Login key of a user', by: 'signer', to: BOB },
  { name: 'a Login key of a user with a digest', by: 'signer', to: { ...BOB, key: DIGEST } },
  { name: 'a Login key of a user, as a sign-in makes it', by: 'signer', to: { ...BOB, key: DIGEST, identity: { connector: 'oidc', groups: ['dev'] }, identityRefresh: TIME, displayName: 'Sign-in by oidc' } },
  { name: 'a Login key of a user, with empty fields', by: 'signer', to: { ...BOB, team: '', subject: '', groups: [] } },
  { name: 'a Login key of the caller with a digest', by: 'signer', to: { ...LOGIN, user: 'signer', key: DIGEST } },
  { name: 'a Login key of nobody', by: 'signer', to: LOGIN },
  { name: 'an OIDCRefreshToken key of a user', by: 'signer', to: { ...BOB, ...REFRESH, oidcProvider: { clientId: 'a' } } },
  { name: 'a Login key of a team', by: 'signer', to: { ...LOGIN, team: 'ops' }, says: naming('team', 'team ops', 'groups/platform:team:ops') },
  { name: 'a Login key of a subject', by: 'signer', to: { ...LOGIN, subject: 'robot' }, says: naming('subject', 'robot', 'users/robot') },
  { name: 'a Login key of a user with a scope', by: 'signer', to: { ...BOB, scope: SCOPE }, says: naming('user', 'user bob', 'users/bob') },
  { name: 'a Login key of the caller in a group', by: 'signer', to: { ...LOGIN, user: 'signer', groups: ['dev'] }, says: naming('groups', 'group dev', 'groups/dev') },
  { name: 'a User key of the caller', by: 'signer', to: { type: 'User', user: 'signer' }, says: otherMade('signer') },
  { name: 'a key of the caller without a type', by: 'signer', to: { user: 'signer' }, says: otherMade('signer') },
  { name: 'a User key of a user to impersonate', by: 'signingImpersonator', to: { type: 'User', user: 'bob' }, says: otherMade('signingImpersonator') },
  { name: 'a User key of a team to impersonate', by: 'signingImpersonator', to: { type: 'User', team: 'ops' }, says: otherMade('signingImpersonator') },
  { name: 'an Other key of a subject to impersonate', by: 'signingImpersonator', to: { type: 'Other', subject: 'robot' }, says: otherMade('signingImpersonator') },
  { name: 'a User key with a group to impersonate alone', by: 'signingImpersonator', to: { type: 'User', groups: ['dev'] }, says: otherMade('signingImpersonator') },
  { name: 'a key without a type, with a group to impersonate alone', by: 'signingImpersonator', to: { groups: ['dev'] }, says: otherMade('signingImpersonator') },
  { name: 'a Login key of a subject to impersonate', by: 'signingImpersonator', to: { ...LOGIN, subject: 'robot' } },
  { name: 'a User key of nobody', by: 'signer', to: { type: 'User' } },
  { name: 'a Login key of anybody', by: 'delegate', to: { ...LOGIN, user: 'any', groups: [...MAX_GROUPS, 'dev'] } },
  { name: 'an OIDCRefreshToken key', by: 'delegate', to: { ...BOB, ...REFRESH } },
  { name: 'a Reset key', by: 'delegate', to: { type: 'Reset', subject: 'heartbeat' } },
]

// biome-ignore format: a table
const CHANGES: readonly Case[] = [
  { name: 'a Login key of a user to a disabled one', by: 'writer', from: BOB, to: { ...BOB, disabled: true } },
  { name: 'a Reset key to a disabled one', by: 'writer', from: { type: 'Reset' }, to: { type: 'Reset', disabled: true } },
  { name: 'a Login key to a disabled one', by: 'signer', from: BOB, to: { ...BOB, disabled: true } },
  { name: 'a disabled Login key to an enabled one', by: 'signer', from: { ...BOB, disabled: true }, to: BOB },
  { name: 'the ttl of a Login key to a longer one', by: 'signer', from: { ...BOB, ttl: 60 }, to: { ...BOB, ttl: 120 } },
  { name: 'the ttl of an OIDCRefreshToken key to none', by: 'signer', from: { ...BOB, ...REFRESH, ttl: 60 }, to: { ...BOB, ...REFRESH } },
  { name: 'the refresh of a Login key with a digest', by: 'signer', from: { ...BOB, key: DIGEST }, to: { ...BOB, key: DIGEST, identityRefresh: TIME } },
  { name: 'the user of a Login key', by: 'signer', from: BOB, to: { ...BOB, user: 'eve' } },
  { name: 'nothing of a Login key', by: 'signer', from: BOB, to: BOB },
  { name: 'the groups of a Login key to more', by: 'signer', from: BOB, to: { ...BOB, groups: ['dev'] }, says: naming('groups', 'group dev', 'groups/dev') },
  { name: 'the scope of a Login key to none', by: 'signer', from: { ...BOB, scope: SCOPE }, to: BOB, says: lifting('spec.scope', 'users/bob') },
  { name: 'the ttl of a Login key of a team', by: 'signer', from: { ...LOGIN, team: 'ops', ttl: 60 }, to: { ...LOGIN, team: 'ops' }, says: lifting('spec.ttl', 'groups/platform:team:ops') },
  { name: 'the disabled state of a Login key in a group', by: 'signer', from: { ...BOB, groups: ['dev'], disabled: true }, to: { ...BOB, groups: ['dev'] }, says: lifting('spec.disabled', 'users/bob') },
  { name: 'the key of a Login key without one', by: 'signer', from: BOB, to: { ...BOB, key: KEY }, says: 'spec.key: setting the key of an existing object needs the verb generate on ownedaccesskeys/' },
  { name: 'a User key to a disabled one', by: 'signer', from: { type: 'User', user: 'bob' }, to: { type: 'User', user: 'bob', disabled: true }, says: OTHER_CHANGED },
  { name: 'nothing of a User key', by: 'signer', from: { type: 'User', user: 'bob', key: KEY }, to: { type: 'User', user: 'bob', key: KEY }, says: OTHER_CHANGED },
  { name: 'nothing of a key of the caller without a type', by: 'signer', from: { user: 'signer' }, to: { user: 'signer' }, says: OTHER_CHANGED },
  { name: 'nothing of a Reset key', by: 'signer', from: { type: 'Reset' }, to: { type: 'Reset' }, says: OTHER_CHANGED },
  { name: 'a User key', by: 'delegate', from: { type: 'User', user: 'bob' }, to: { type: 'User', user: 'bob', disabled: true } },
]

const rowOf = ({ name, by, from, to, says }: Case): Row<Caller> => ({
  name,
  by,
  ...(from && { from: { spec: from } }),
  to: { spec: to },
  ...(says !== undefined && { refused: { code: 403, says } }),
})

/** Each type of a key, by callers with and without the right to it. */
export const typeRows: readonly Row<Caller>[] = [...CREATIONS, ...CHANGES].map(rowOf)

const GONE = `${TIME} IdentityGone`

const marked = (value: string | null, spec: Spec = BOB, more: object = {}): Manifest => {
  const annotations = { ...more, ...(value !== null && { [IDENTITY_GONE_ANNOTATION]: value }) }
  const isAny = Object.keys(annotations).length > 0
  return { spec, ...(isAny && { metadata: { annotations } }) }
}

const markRefused = (by: Caller, instead: string) =>
  ({
    code: 403,
    says: `metadata.annotations: ${IDENTITY_GONE_ANNOTATION} says that the person of the key is gone at the sign-in provider; changing it needs the verb sign-in or record-identity ${lacks(by)}; ${instead}`,
  }) as const

const OMIT = 'leave it out'
const KEEP = 'keep it as it is'
const OWN = { user: 'writer' }
const NOTE = { note: 'changed' }

/** Each way to change the annotation, by callers with and without the right. */
// biome-ignore format: a table
export const markRows: readonly Row<Caller>[] = [
  { name: 'a key with the annotation', by: 'writer', to: marked(GONE, OWN), refused: markRefused('writer', OMIT) },
  { name: 'a key with the annotation, empty', by: 'writer', to: marked('', OWN), refused: markRefused('writer', OMIT) },
  { name: 'the annotation from none', by: 'writer', from: marked(null), to: marked(GONE), refused: markRefused('writer', OMIT) },
  { name: 'the annotation to another', by: 'writer', from: marked(GONE), to: marked(TIME), refused: markRefused('writer', KEEP) },
  { name: 'the annotation to none', by: 'writer', from: marked(GONE), to: marked(null), refused: markRefused('writer', KEEP) },
  { name: 'an empty annotation to none', by: 'impersonator', from: marked(''), to: marked(null), refused: markRefused('impersonator', KEEP) },
  { name: 'another annotation', by: 'writer', from: marked(GONE), to: marked(GONE, BOB, NOTE) },
  { name: 'a field beside the annotation', by: 'writer', from: marked(GONE), to: marked(GONE, { ...BOB, disabled: true }) },
  { name: 'a Login key with the annotation', by: 'signer', to: marked(GONE) },
  { name: 'the annotation from none', by: 'signer', from: marked(null), to: marked(GONE) },
  { name: 'the annotation to another', by: 'signer', from: marked(GONE), to: marked(TIME) },
  { name: 'the annotation to none', by: 'signer', from: marked(GONE), to: marked(null) },
  { name: 'a key with the annotation', by: 'recorder', to: marked(GONE, { user: 'recorder' }) },
  { name: 'the annotation from none', by: 'recorder', from: marked(null), to: marked(GONE) },
  { name: 'the annotation to another', by: 'recorder', from: marked(GONE), to: marked(TIME) },
  { name: 'the annotation of a User key', by: 'recorder', from: marked(null, { type: 'User', user: 'bob' }), to: marked(GONE, { type: 'User', user: 'bob' }) },
  { name: 'the annotation of a User key', by: 'signer', from: marked(null, { type: 'User', user: 'bob' }), to: marked(GONE, { type: 'User', user: 'bob' }), refused: { code: 403, says: OTHER_CHANGED } },
  { name: 'the annotation of a User key', by: 'delegate', from: marked(null, { type: 'User', user: 'bob' }), to: marked(GONE, { type: 'User', user: 'bob' }) },
  { name: 'the annotation of a User key to none', by: 'delegate', from: marked(GONE, { type: 'User', user: 'bob' }), to: marked(null, { type: 'User', user: 'bob' }) },
]

const refreshed = (identityRefresh: string | null, spec: Spec = BOB): Manifest => ({
  spec: { ...spec, ...(identityRefresh !== null && { identityRefresh }) },
})

const refreshRefused = (by: Caller) =>
  ({
    code: 403,
    says: `spec.identityRefresh: a key of type Login works for 24 hours after this time; changing it needs the verb sign-in or record-identity ${lacks(by)}; keep it as it is`,
  }) as const

const LATER = '2026-11-29T11:00:00Z'
const OF_USER = { type: 'User', user: 'bob' }
const SIGNED_IN = { ...BOB, key: DIGEST, identity: { username: 'bob' } }
const CONFIRMED = { ...SIGNED_IN, identity: { username: 'bob', groups: ['dev'] } }

/** Each way to change the time of the last refresh, by callers with and without the right. */
// biome-ignore format: a table
export const refreshRows: readonly Row<Caller>[] = [
  { name: 'the refresh of a Login key to a later one', by: 'writer', from: refreshed(TIME), to: refreshed(LATER), refused: refreshRefused('writer') },
  { name: 'the refresh of a Login key to an earlier one', by: 'writer', from: refreshed(LATER), to: refreshed(TIME), refused: refreshRefused('writer') },
  { name: 'the refresh of a Login key to none', by: 'writer', from: refreshed(TIME), to: refreshed(null), refused: refreshRefused('writer') },
  { name: 'the refresh of a Login key to an empty one', by: 'impersonator', from: refreshed(TIME), to: refreshed(''), refused: refreshRefused('impersonator') },
  { name: 'the refresh of a Login key from none', by: 'writer', from: refreshed(null), to: refreshed(TIME), refused: refreshRefused('writer') },
  { name: 'the refresh of a Login key from none to an empty one', by: 'writer', from: refreshed(null), to: refreshed('') },
  { name: 'a field beside the refresh', by: 'writer', from: refreshed(TIME), to: refreshed(TIME, { ...BOB, disabled: true }) },
  { name: 'the refresh of a User key', by: 'writer', from: refreshed(TIME, OF_USER), to: refreshed(LATER, OF_USER) },
  { name: 'a User key with a refresh', by: 'writer', to: refreshed(TIME, OWN) },
  { name: 'refresh and identity of a Login key with a digest', by: 'recorder', from: refreshed(TIME, SIGNED_IN), to: refreshed(LATER, CONFIRMED) },
  { name: 'the refresh of a Login key from none', by: 'recorder', from: refreshed(null, SIGNED_IN), to: refreshed(LATER, SIGNED_IN) },
  { name: 'the user with the refresh', by: 'recorder', from: refreshed(TIME), to: refreshed(LATER, { ...BOB, user: 'eve' }), refused: { code: 403, says: 'spec.user: naming user eve needs the verb impersonate on users/eve, which recorder does not have' } },
  { name: 'the refresh of a Login key', by: 'signer', from: refreshed(TIME), to: refreshed(LATER) },
  { name: 'the refresh of a Login key to none', by: 'delegate', from: refreshed(TIME), to: refreshed(null) },
]
