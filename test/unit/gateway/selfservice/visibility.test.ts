import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, CONFIGS, type Resource, TOKENS } from '../../../../src/api/names.ts'
import type { Caller } from '../../../../src/authn/caller.ts'
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

/** The keys that are known: all of user ada but the last two. */
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

describe('the standing of a caller (12.1, 12.3)', () => {
  const callerOf = (differing: Partial<AccessKey>): Caller => ({
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
    { name: 'a team’s', key: { identity: 'team:ada', type: 'Login' }, user: null, isPerson: true },
    { name: 'a subject’s', key: { identity: 'subject:ada' }, user: null, isPerson: false },
    { name: 'a strange user’s', key: { identity: 'user:team:x' }, user: 'team:x', isPerson: false },
  ])('by $name', ({ key: differing, user, isPerson }) => {
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
    { name: 'another’s', object: key({ spec: { user: 'bob' } }), own: false },
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
      name: 'of a key of that name that was',
      object: of('full', 'uid-old'),
      own: false,
      teams: false,
    },
    { name: 'of an unknown key', object: of('new'), own: false, teams: false },
    { name: 'of another’s key', object: of('bobs'), own: false, teams: false },
    { name: 'of a team’s key', object: of('teams'), own: false, teams: false },
    { name: 'of nobody', object: NOBODYS, own: false, teams: false },
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
    { name: 'a key of its scope', object: scoped(SHOP), seen: true },
    { name: 'a key within', object: scoped(PART), seen: true },
    { name: 'a key beyond', object: scoped(project('bank')), seen: false },
    { name: 'a key of all', object: scoped(project('*')), seen: false },
    { name: 'a key without a scope', object: key({ metadata: { uid: 'x' } }), seen: false },
    { name: 'a key with a scope of nothing', object: scoped({}), seen: false },
    {
      name: 'another’s key within',
      object: key({ metadata: { uid: 'x' }, spec: { user: 'bob', scope: PART } }),
      seen: true,
    },
  ])('keys: $name: $seen', ({ object, seen }) => {
    expect(isVisible(viewer(ACCESS_KEYS, callers.scoped), object)).toBe(seen)
    expect(isVisible(viewer(ACCESS_KEYS, callers.plain), object)).toBe(true)
    expect(isVisible(viewer(CONFIGS, callers.scoped), object)).toBe(true)
  })

  test.each([
    { name: 'its own', object: of('ci'), seen: true },
    { name: 'of a key within', object: of('narrow'), seen: true },
    { name: 'of a key of its scope', object: of('same'), seen: true },
    { name: 'of a key beyond', object: of('wide'), seen: false },
    { name: 'of a key without a scope', object: of('full'), seen: false },
    { name: 'of an unknown key', object: of('new'), seen: false },
    { name: 'of nobody', object: NOBODYS, seen: false },
    {
      name: 'of a key beyond, itself within',
      object: token({
        metadata: { ownerReferences: [owner('full')] },
        spec: { scope: { ...PART } },
      }),
      seen: false,
    },
    {
      name: 'its own, of nothing: the operator does not issue it',
      object: token({ spec: { scope: {} } }),
      seen: false,
    },
    {
      name: 'its own, beyond: the operator does not issue it',
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
  { name: 'of another’s', object: of('bobs'), person: false, plain: false },
  { name: 'of a team with the user’s name', object: of('teams'), person: false, plain: false },
  { name: 'of nobody', object: NOBODYS, person: false, plain: false },
])('the token $name is shown: $person in person, $plain else (12.3, 12.4)', (row) => {
  expect(mayReadToken(row.object, callers.person)).toBe(row.person)
  expect(mayReadToken(row.object, callers.plain)).toBe(row.plain)
  expect(mayReadToken(row.object, callers.scoped)).toBe(row.plain)
})

test('a Login key of no user is shown no token of a user who is called like none (12.4)', () => {
  const ofNull = (name: string): AccessKey | undefined =>
    name === 'full' ? accessKey({ name, uid: 'uid-full', identity: 'user:null' }) : undefined
  const access = { ...callers.team, isPerson: true }
  expect(mayReadToken(of('full'), access, ofNull)).toBe(false)
  expect(mayReadToken(of('full'), { ...access, user: 'null' }, ofNull)).toBe(true)
})
