import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS, type Resource, TOKENS } from '../../../../src/api/names.ts'
import type { KeyCaller } from '../../../../src/authn/caller.ts'
import type { AccessKey } from '../../../../src/domain/accesskey/access-key.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import {
  type CallerAccess,
  type FindKey,
  type Viewer,
  callerAccessOf,
} from '../../../../src/gateway/selfservice/request.ts'
import { isOwn, isVisible, shownTo } from '../../../../src/gateway/selfservice/visibility.ts'
import { accessKey } from '../../../support/key-builder.ts'
import { callers, key, owner, project, token } from './key-objects.ts'

const SHOP = project('shop')
const PART = { spaces: [{ project: 'shop', space: 'one' }] }

/** The known keys: all of user ada except the last two. */
const KNOWN: Readonly<Record<string, Partial<AccessKey>>> = {
  ci: { scope: null },
  narrow: { scope: PART },
  same: { scope: SHOP },
  wide: { scope: project('bank') },
  full: { scope: null },
  bobs: { identity: 'user:bob', scope: PART },
  teams: { identity: 'team:ada', scope: null },
}
const find = (name: string): AccessKey | undefined =>
  name in KNOWN
    ? accessKey({ name, uid: `uid-${name}`, identity: 'user:ada', ...KNOWN[name] })
    : undefined

const of = (name: string, uid?: string) =>
  token({ metadata: { ownerReferences: [owner(name, uid)] } })
const NOBODYS = token({ metadata: { ownerReferences: [] } })
const UNCONTROLLED = token({
  metadata: { ownerReferences: [{ ...owner('full'), controller: false }] },
})

describe('what a caller may see and do (12.1, 12.3)', () => {
  const callerOf = (differing: Partial<AccessKey>): KeyCaller => ({
    key: accessKey(differing),
    identity: { user: 'whoever', groups: [] },
    scope: null,
    expiresMs: 5,
  })

  test.each([
    {
      name: 'a Login key',
      key: { identity: 'user:ada', type: 'Login' },
      user: 'ada',
      isPerson: true,
    },
    {
      name: 'a User key',
      key: { identity: 'user:ada', type: 'User' },
      user: 'ada',
      isPerson: false,
    },
    {
      name: 'a key without a type',
      key: { identity: 'user:ada', type: '' },
      user: 'ada',
      isPerson: false,
    },
    {
      name: 'a Login key with a scope',
      key: { identity: 'user:ada', type: 'Login', scope: SHOP },
      user: 'ada',
      isPerson: false,
    },
    {
      name: 'a key of a team',
      key: { identity: 'team:ada', type: 'Login' },
      user: null,
      isPerson: true,
    },
    { name: 'a key of a subject', key: { identity: 'subject:ada' }, user: null, isPerson: false },
    {
      name: 'a key of an unusual user name',
      key: { identity: 'user:team:x' },
      user: 'team:x',
      isPerson: false,
    },
  ])('with $name', ({ key: differing, user, isPerson }) => {
    expect(callerAccessOf(callerOf(differing))).toMatchObject({ user, isPerson, expiresMs: 5 })
  })
})

const viewer = (resource: Resource, access: CallerAccess, findKey: FindKey = find): Viewer => ({
  info: { resource },
  access,
  findKey,
})

const mayReadToken = (object: JsonMap, access: CallerAccess, findKey?: FindKey): boolean =>
  shownTo(viewer(TOKENS, access, findKey))(object).length > 0

describe('the caller’s own objects (12.1)', () => {
  test.each([
    { name: 'a key of the caller’s user', object: key(), own: true },
    { name: 'a key of another user', object: key({ spec: { user: 'bob' } }), own: false },
    { name: 'a key of no user', object: key({ spec: { user: '' } }), own: false },
    {
      name: 'a key of a team with the user’s name',
      object: key({ spec: { user: '', team: 'ada' } }),
      own: false,
    },
  ])('keys: $name: $own', ({ object, own }) => {
    expect(isOwn(viewer(ACCESS_KEYS, callers.person), object)).toBe(own)
    expect(isOwn(viewer(ACCESS_KEYS, callers.team), object)).toBe(false)
    expect(isOwn(viewer(CONFIGS, callers.person), object)).toBe(false)
  })

  test.each([
    { name: 'of the calling key', object: of('ci'), own: true, teams: true },
    { name: 'of another key of the user', object: of('full'), own: true, teams: false },
    {
      name: 'of a former key of that name',
      object: of('full', 'uid-old'),
      own: false,
      teams: false,
    },
    { name: 'of an unknown key', object: of('new'), own: false, teams: false },
    { name: 'of a key of another user', object: of('bobs'), own: false, teams: false },
    { name: 'of a key of a team', object: of('teams'), own: false, teams: false },
    { name: 'without an owner', object: NOBODYS, own: false, teams: false },
    { name: 'of a key that does not control it', object: UNCONTROLLED, own: false, teams: false },
  ])('tokens: $name: $own', ({ object, own, teams }) => {
    expect(isOwn(viewer(TOKENS, callers.plain), object)).toBe(own)
    expect(isOwn(viewer(TOKENS, callers.team), object)).toBe(teams)
  })
})

describe('the objects that a scoped key sees (12.3)', () => {
  const scoped = (scope: JsonMap) => key({ metadata: { uid: 'x' }, spec: { scope } })

  test.each([
    { name: 'itself', object: key(), seen: true },
    { name: 'a key with the same scope', object: scoped(SHOP), seen: true },
    { name: 'a key with a narrower scope', object: scoped(PART), seen: true },
    { name: 'a key with a wider scope', object: scoped(project('bank')), seen: false },
    { name: 'a key with a scope of everything', object: scoped(project('*')), seen: false },
    { name: 'a key without a scope', object: key({ metadata: { uid: 'x' } }), seen: false },
    { name: 'a key with an empty scope', object: scoped({}), seen: false },
    {
      name: 'a key of another user with a narrower scope',
      object: key({ metadata: { uid: 'x' }, spec: { user: 'bob', scope: PART } }),
      seen: true,
    },
  ])('keys: $name: $seen', ({ object, seen }) => {
    expect(isVisible(viewer(ACCESS_KEYS, callers.scoped), object)).toBe(seen)
    expect(isVisible(viewer(ACCESS_KEYS, callers.plain), object)).toBe(true)
    expect(isVisible(viewer(CONFIGS, callers.scoped), object)).toBe(true)
  })

  test.each([
    { name: 'owned by the calling key', object: of('ci'), seen: true },
    { name: 'owned by a key with a narrower scope', object: of('narrow'), seen: true },
    { name: 'owned by a key with the same scope', object: of('same'), seen: true },
    { name: 'owned by a key with a wider scope', object: of('wide'), seen: false },
    { name: 'owned by a key without a scope', object: of('full'), seen: false },
    { name: 'of an unknown key', object: of('new'), seen: false },
    { name: 'without an owner', object: NOBODYS, seen: false },
    {
      name: 'owned by a key with a wider scope, narrower itself',
      object: token({
        metadata: { ownerReferences: [owner('full')] },
        spec: { scope: { ...PART } },
      }),
      seen: false,
    },
    {
      name: 'owned by the calling key, with an empty scope: not issued',
      object: token({ spec: { scope: {} } }),
      seen: false,
    },
    {
      name: 'owned by the calling key, with a wider scope: not issued',
      object: token({ spec: { scope: { ...project('bank') } } }),
      seen: false,
    },
  ])('tokens: $name: $seen', ({ object, seen }) => {
    expect(isVisible(viewer(TOKENS, callers.scoped), object)).toBe(seen)
  })
})

test.each([
  { name: 'of the calling key', object: of('ci'), person: true, plain: true },
  { name: 'of another key of the user', object: of('full'), person: true, plain: false },
  { name: 'of another user', object: of('bobs'), person: false, plain: false },
  { name: 'of a team with the user’s name', object: of('teams'), person: false, plain: false },
  { name: 'without an owner', object: NOBODYS, person: false, plain: false },
])('the token $name is visible: $person in person, $plain otherwise (12.3, 12.4)', (row) => {
  expect(mayReadToken(row.object, callers.person)).toBe(row.person)
  expect(mayReadToken(row.object, callers.plain)).toBe(row.plain)
  expect(mayReadToken(row.object, callers.scoped)).toBe(row.plain)
})

test('a Login key without a user sees no token of a user with an empty name (12.4)', () => {
  const ofNull = (name: string): AccessKey | undefined =>
    name === 'full' ? accessKey({ name, uid: 'uid-full', identity: 'user:null' }) : undefined
  const access = { ...callers.team, isPerson: true }
  expect(mayReadToken(of('full'), access, ofNull)).toBe(false)
  expect(mayReadToken(of('full'), { ...access, user: 'null' }, ofNull)).toBe(true)
})
