// Which caller may do what with which keys (contract 12.1, 12.3).
import { expect, test } from 'vitest'
import { API_VERSION, HEARTBEAT_NAME } from '../../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { sampled } from '../../../support/tier.ts'
import type { StoredKey } from '../../keys/key-client.ts'
import {
  APPLY_PATCH,
  type ParsedAnswer,
  JSON_PATCH,
  watchUntil,
  type CallerName,
  CORNER,
  type SelfServiceSetup,
} from './self-service-gateway.ts'

/** The keys that an operation may target. */
export const TARGETS = {
  'an own key': { user: 'ada' },
  'an own key with a narrower scope': { user: 'ada', scope: CORNER },
  'another user’s key': { user: 'bob' },
  'a team’s key': { user: '', team: 'ops' },
} satisfies Readonly<Record<string, OwnedAccessKeySpec>>
/** These, and a key that was created with a key of the user and is owned by it. */
type Target = keyof typeof TARGETS | 'a key owned by an own key'

const createTarget = (
  { keys, callers }: SelfServiceSetup,
  target: Target,
  labels: Record<string, string> = {},
): Promise<StoredKey> => {
  if (target !== 'a key owned by an own key') return keys.create(TARGETS[target], { labels })
  const { name, uid } = callers.userKey.object.metadata
  const owner = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', name, uid, controller: true }
  return keys.create({ user: 'ada', type: 'User' }, { labels, ownerReferences: [owner] })
}

/** One request for the key of this name, with a small change if it writes. */
export type Operation = (
  setup: SelfServiceSetup,
  by: CallerName,
  name: string,
) => Promise<ParsedAnswer>

/** Every verb for one key, and every type of patch. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  get: ({ callers }, by, name) => callers[by].ask('GET', `ownedaccesskeys/${name}`),
  'merge patch': ({ callers }, by, name) =>
    callers[by].ask('PATCH', `ownedaccesskeys/${name}`, { body: { spec: { disabled: true } } }),
  'JSON patch': ({ callers }, by, name) =>
    callers[by].ask('PATCH', `ownedaccesskeys/${name}`, {
      type: JSON_PATCH,
      body: [{ op: 'add', path: '/spec/description', value: 'x' }],
    }),
  apply: ({ callers }, by, name) =>
    callers[by].ask('PATCH', `ownedaccesskeys/${name}?fieldManager=caller`, {
      type: APPLY_PATCH,
      body: `apiVersion: ${API_VERSION}\nkind: OwnedAccessKey\nspec:\n  ttl: 3600\n`,
    }),
  update: async ({ callers, keys }, by, name) => {
    // A PUT needs the current resourceVersion, and the operator writes to new keys as well.
    const object = name === HEARTBEAT_NAME ? { spec: {} } : await keys.shown(name, 'Active')
    const body = { ...object, spec: { ...object.spec, displayName: 'x' } }
    return callers[by].ask('PUT', `ownedaccesskeys/${name}`, { body })
  },
  delete: ({ callers }, by, name) => callers[by].ask('DELETE', `ownedaccesskeys/${name}`),
}

const OWN_KEYS = {
  'an own key': 200,
  'an own key with a narrower scope': 200,
  'a key owned by an own key': 200,
} as const

/** The code of each answer: 200, 403 where the caller may see the key by RBAC, else 404. */
const CODES = {
  login: { ...OWN_KEYS, 'another user’s key': 404, 'a team’s key': 404 },
  userKey: { ...OWN_KEYS, 'another user’s key': 404, 'a team’s key': 404 },
  child: { ...OWN_KEYS, 'another user’s key': 404, 'a team’s key': 404 },
  scoped: {
    'an own key': 404,
    'an own key with a narrower scope': 200,
    'a key owned by an own key': 404,
    'another user’s key': 404,
    'a team’s key': 404,
  },
  admin: { ...OWN_KEYS, 'another user’s key': 200, 'a team’s key': 200 },
  adminScopedKey: {
    'an own key': 404,
    'an own key with a narrower scope': 403,
    'a key owned by an own key': 404,
    'another user’s key': 404,
    'a team’s key': 404,
  },
  team: {
    'an own key': 404,
    'an own key with a narrower scope': 404,
    'a key owned by an own key': 404,
    'another user’s key': 404,
    'a team’s key': 404,
  },
} as const satisfies Readonly<Partial<Record<CallerName, Readonly<Record<Target, number>>>>>

type Caller = keyof typeof CODES
const CALLERS = Object.keys(CODES) as readonly Caller[]
const ALL_TARGETS = Object.keys(CODES.login) as readonly Target[]

/**
 * RBAC lets a scoped key of an administrator read keys within its scope, but not change them. An apply of a hidden key
 * is a 409: it would create the key if there were none.
 */
function codeOf(by: Caller, operation: string, target: Target): number {
  const code = CODES[by][target]
  if (code === 404 && operation === 'apply') return 409
  return by === 'adminScopedKey' &&
    operation === 'get' &&
    target === 'an own key with a narrower scope'
    ? 200
    : code
}

const rows = CALLERS.flatMap((by) =>
  Object.keys(OPERATIONS).flatMap((operation) =>
    ALL_TARGETS.map((target) => ({ by, operation, target, code: codeOf(by, operation, target) })),
  ),
)

/** The code of a creation: a scoped key only creates keys of its own user. */
const CREATION_CODES = {
  login: {
    'an own key': 201,
    'an own key with a narrower scope': 201,
    'another user’s key': 403,
    'a team’s key': 403,
  },
  userKey: {
    'an own key': 201,
    'an own key with a narrower scope': 201,
    'another user’s key': 403,
    'a team’s key': 403,
  },
  child: {
    'an own key': 201,
    'an own key with a narrower scope': 201,
    'another user’s key': 403,
    'a team’s key': 403,
  },
  scoped: {
    'an own key': 201,
    'an own key with a narrower scope': 201,
    'another user’s key': 403,
    'a team’s key': 403,
  },
  admin: {
    'an own key': 201,
    'an own key with a narrower scope': 201,
    'another user’s key': 201,
    'a team’s key': 201,
  },
  adminScopedKey: {
    'an own key': 403,
    'an own key with a narrower scope': 403,
    'another user’s key': 403,
    'a team’s key': 403,
  },
  team: {
    'an own key': 403,
    'an own key with a narrower scope': 403,
    'another user’s key': 403,
    'a team’s key': 403,
  },
} as const satisfies Readonly<Record<Caller, Readonly<Record<keyof typeof TARGETS, number>>>>

const creations = CALLERS.flatMap((by) =>
  (Object.keys(TARGETS) as (keyof typeof TARGETS)[]).map((target) => ({
    by,
    target,
    code: CREATION_CODES[by][target],
  })),
)

/** Declares the tests of callers' rights. */
export function testCallerRights(setup: SelfServiceSetup): void {
  const { callers, keys } = setup
  // Every seventh row, of seven callers: each operation on each target by one caller.
  test.each(sampled(rows, 7))(
    '$operation of $target by $by answers $code (12.1, 12.3)',
    async (row) => {
      const { by, operation, target, code } = row
      const { name } = (await createTarget(setup, target)).metadata
      const answer = await OPERATIONS[operation]?.(setup, by, name)
      const reason = code === 409 ? { reason: 'AlreadyExists' } : {}
      expect({ code: answer?.code, ...answer?.json }).toMatchObject({ code, ...reason })
      if (code !== 404) return
      // The message is the same as for a key that does not exist.
      const missing = await OPERATIONS['get']?.(setup, by, 'no-such-key')
      expect(answer?.json.message).toBe(missing?.json.message?.replace('no-such-key', name))
    },
  )

  test.each(creations)('creation of $target by $by answers $code (12.1, 12.3)', async (row) => {
    const { by, target, code } = row
    const answer = await callers[by].ask('POST', 'ownedaccesskeys', {
      body: { spec: TARGETS[target] },
    })
    expect({ code: answer.code, text: answer.text }).toMatchObject({ code })
  })

  /** Creates one key per target, and returns them by name with a query that selects them. */
  async function createAllTargets() {
    const label = uniqueName('each')
    const target = new Map<string, Target>()
    for (const one of ALL_TARGETS)
      target.set((await createTarget(setup, one, { each: label })).metadata.name, one)
    return { target, query: `labelSelector=each%3D${label}` }
  }

  const isOfTeam = (by: Caller): boolean => by === 'team'
  const codes = CALLERS.map((by) => ({ by, code: isOfTeam(by) ? 403 : 200 }))

  // Concurrently, as a watch takes a second.
  test.concurrent.each(codes)(
    'a list and a watch by $by have exactly the keys that it may get (12.1, 12.3)',
    async (row) => {
      const { by, code } = row
      const { target, query } = await createAllTargets()
      const visible = ALL_TARGETS.filter((one) => codeOf(by, 'get', one) === 200)
      const targetsIn = (text: string): readonly Target[] =>
        [...target].filter(([name]) => text.includes(`"${name}"`)).map(([, one]) => one)
      const ask = (all: string) => callers[by].ask('GET', `ownedaccesskeys?${all}`)
      const watch = (): Promise<ParsedAnswer> => ask(`${query}&watch=true&timeoutSeconds=1`)
      const isComplete = (text: string): boolean => targetsIn(text).length >= visible.length
      for (const answer of [await ask(query), await watchUntil(watch, isComplete)]) {
        expect({ code: answer.code, text: answer.text }).toMatchObject({ code })
        expect(targetsIn(answer.text)).toEqual(visible)
      }
    },
  )

  test.each(codes)(
    'a deletecollection by $by deletes exactly the keys that it may delete (12.1, 12.3)',
    async (row) => {
      const { by, code } = row
      const { target, query } = await createAllTargets()
      const answer = await callers[by].ask('DELETE', `ownedaccesskeys?${query}`)
      expect({ code: answer.code, text: answer.text }).toMatchObject({ code })
      const remaining: Target[] = []
      for (const [name, one] of target) {
        const object = await keys.read(name)
        if (object && object.metadata.deletionTimestamp === undefined) remaining.push(one)
      }
      expect(remaining).toEqual(ALL_TARGETS.filter((one) => codeOf(by, 'delete', one) !== 200))
    },
  )

  test.each(['login', 'userKey', 'child', 'scoped', 'team'] as const)(
    '%s cannot write the status of own keys (12.1, C9)',
    async (by) => {
      const used = { status: { lastActivity: '2030-01-01T00:00:00Z' } }
      for (const target of ['an own key', 'an own key with a narrower scope'] as const) {
        const object = await keys.shown(await createTarget(setup, target), 'Active')
        const path = `ownedaccesskeys/${object.metadata.name}/status`
        const body = { ...object, status: { ...object.status, ...used.status } }
        const code = codeOf(by, 'get', target) === 404 ? 404 : 403
        expect((await callers[by].ask('PUT', path, { body })).code).toBe(code)
        expect((await callers[by].ask('PATCH', path, { body: used })).code).toBe(code)
        const json = [{ op: 'add', path: '/status/lastActivity', value: used.status.lastActivity }]
        const patched = await callers[by].ask('PATCH', path, { type: JSON_PATCH, body: json })
        expect(patched.code).toBe(code)
        expect((await keys.read(object))?.status.lastActivity).toBeUndefined()
      }
    },
  )
}
