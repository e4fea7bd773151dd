// Who may do what with which keys (contract 12.1, 12.3).
import { expect, test } from 'vitest'
import { API_VERSION, HEARTBEAT_KEY } from '../../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { sampled } from '../../../support/tier.ts'
import type { StoredKey } from '../../keys/key-client.ts'
import { APPLY_PATCH, type Answered, JSON_PATCH, tellsAll } from './self-service-clients.ts'
import { type By, CORNER, type World } from './self-service-gateway.ts'

/** The keys that a call may be about. */
export const ABOUT = {
  'her own': { user: 'ada' },
  'her own within': { user: 'ada', scope: CORNER },
  'a stranger’s': { user: 'bob' },
  'a team’s': { user: '', team: 'ops' },
} satisfies Readonly<Record<string, OwnedAccessKeySpec>>
/** Besides, one that was made with a key of hers, and is owned by that. */
type About = keyof typeof ABOUT | 'her key’s'

const madeAbout = (
  { keys, hands }: World,
  about: About,
  labels: Record<string, string> = {},
): Promise<StoredKey> => {
  if (about !== 'her key’s') return keys.create(ABOUT[about], { labels })
  const { name, uid } = hands.plain.object.metadata
  const owner = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', name, uid, controller: true }
  return keys.create({ user: 'ada', type: 'User' }, { labels, ownerReferences: [owner] })
}

/** One verb or way of writing, that changes little. */
export type Act = (world: World, by: By, name: string) => Promise<Answered>

/** Every verb and every type of patch. */
export const ACTS: Readonly<Record<string, Act>> = {
  get: ({ hands }, by, name) => hands[by].ask('GET', `ownedaccesskeys/${name}`),
  'merge patch': ({ hands }, by, name) =>
    hands[by].ask('PATCH', `ownedaccesskeys/${name}`, { body: { spec: { disabled: true } } }),
  'JSON patch': ({ hands }, by, name) =>
    hands[by].ask('PATCH', `ownedaccesskeys/${name}`, {
      type: JSON_PATCH,
      body: [{ op: 'add', path: '/spec/description', value: 'x' }],
    }),
  apply: ({ hands }, by, name) =>
    hands[by].ask('PATCH', `ownedaccesskeys/${name}?fieldManager=hand`, {
      type: APPLY_PATCH,
      body: `apiVersion: ${API_VERSION}\nkind: OwnedAccessKey\nspec:\n  ttl: 3600\n`,
    }),
  update: async ({ hands, keys }, by, name) => {
    // A PUT is of a version, and the operator writes to new keys as well.
    const object = name === HEARTBEAT_KEY ? { spec: {} } : await keys.shown(name, 'Active')
    const body = { ...object, spec: { ...object.spec, displayName: 'x' } }
    return hands[by].ask('PUT', `ownedaccesskeys/${name}`, { body })
  },
  delete: ({ hands }, by, name) => hands[by].ask('DELETE', `ownedaccesskeys/${name}`),
}

const HERS = { 'her own': 200, 'her own within': 200, 'her key’s': 200 } as const

/** What each answers: 200, 403 where RBAC opens something of it, or 404. */
const CODES = {
  person: { ...HERS, 'a stranger’s': 404, 'a team’s': 404 },
  plain: { ...HERS, 'a stranger’s': 404, 'a team’s': 404 },
  child: { ...HERS, 'a stranger’s': 404, 'a team’s': 404 },
  scoped: {
    'her own': 404,
    'her own within': 200,
    'her key’s': 404,
    'a stranger’s': 404,
    'a team’s': 404,
  },
  root: { ...HERS, 'a stranger’s': 200, 'a team’s': 200 },
  rootScoped: {
    'her own': 404,
    'her own within': 403,
    'her key’s': 404,
    'a stranger’s': 404,
    'a team’s': 404,
  },
  team: {
    'her own': 404,
    'her own within': 404,
    'her key’s': 404,
    'a stranger’s': 404,
    'a team’s': 404,
  },
} as const satisfies Readonly<Partial<Record<By, Readonly<Record<About, number>>>>>

type Caller = keyof typeof CODES
const CALLERS = Object.keys(CODES) as readonly Caller[]
const ALL_ABOUT = Object.keys(CODES.person) as readonly About[]

/**
 * RBAC lets a scoped key of an administrator read what is within its scope; it changes its own only. An apply
 * would make what is not there, and so tells what is.
 */
function codeOf(by: Caller, act: string, about: About): number {
  const code = CODES[by][about]
  if (code === 404 && act === 'apply') return 409
  return by === 'rootScoped' && act === 'get' && about === 'her own within' ? 200 : code
}

const rows = CALLERS.flatMap((by) =>
  Object.keys(ACTS).flatMap((act) =>
    ALL_ABOUT.map((about) => ({ by, act, about, code: codeOf(by, act, about) })),
  ),
)

/** What making one answers: with a scope, of one's own user only. */
const MADE = {
  person: { 'her own': 201, 'her own within': 201, 'a stranger’s': 403, 'a team’s': 403 },
  plain: { 'her own': 201, 'her own within': 201, 'a stranger’s': 403, 'a team’s': 403 },
  child: { 'her own': 201, 'her own within': 201, 'a stranger’s': 403, 'a team’s': 403 },
  scoped: { 'her own': 201, 'her own within': 201, 'a stranger’s': 403, 'a team’s': 403 },
  root: { 'her own': 201, 'her own within': 201, 'a stranger’s': 201, 'a team’s': 201 },
  rootScoped: { 'her own': 403, 'her own within': 403, 'a stranger’s': 403, 'a team’s': 403 },
  team: { 'her own': 403, 'her own within': 403, 'a stranger’s': 403, 'a team’s': 403 },
} as const satisfies Readonly<Record<Caller, Readonly<Record<keyof typeof ABOUT, number>>>>

const creations = CALLERS.flatMap((by) =>
  (Object.keys(ABOUT) as (keyof typeof ABOUT)[]).map((about) => ({
    by,
    about,
    code: MADE[by][about],
  })),
)

/** The table of who may what. */
export function testWho(world: World): void {
  const { hands, keys } = world
  // Seven callers, and each seventh row: every act on every key, by one of them, and each caller on most.
  test.each(sampled(rows, 7))('$act of $about key by $by: $code (12.1, 12.3)', async (row) => {
    const { by, act, about, code } = row
    const { name } = (await madeAbout(world, about)).metadata
    const answer = await ACTS[act]?.(world, by, name)
    const reason = code === 409 ? { reason: 'AlreadyExists' } : {}
    expect({ code: answer?.code, ...answer?.json }).toMatchObject({ code, ...reason })
    if (code !== 404) return
    // It is told of in the words for what is not there.
    const missing = await ACTS['get']?.(world, by, 'no-such-key')
    expect(answer?.json.message).toBe(missing?.json.message?.replace('no-such-key', name))
  })

  test.each(creations)('creation of $about key by $by: $code (12.1, 12.3)', async (row) => {
    const { by, about, code } = row
    const answer = await hands[by].ask('POST', 'ownedaccesskeys', { body: { spec: ABOUT[about] } })
    expect({ code: answer.code, text: answer.text }).toMatchObject({ code })
  })

  /** One of each, by its name; the query selects them. */
  async function oneOfEach() {
    const label = uniqueName('each')
    const about = new Map<string, About>()
    for (const one of ALL_ABOUT)
      about.set((await madeAbout(world, one, { each: label })).metadata.name, one)
    return { about, query: `labelSelector=each%3D${label}` }
  }

  const isOfTeam = (by: Caller): boolean => by === 'team'
  const codes = CALLERS.map((by) => ({ by, code: isOfTeam(by) ? 403 : 200 }))

  test.each(codes)('a list and a watch by $by: what it may get (12.1, 12.3)', async (row) => {
    const { by, code } = row
    const { about, query } = await oneOfEach()
    const toBeSeen = ALL_ABOUT.filter((one) => codeOf(by, 'get', one) === 200)
    const seenIn = (text: string): readonly About[] =>
      [...about].filter(([name]) => text.includes(`"${name}"`)).map(([, one]) => one)
    const ask = (all: string) => hands[by].ask('GET', `ownedaccesskeys?${all}`)
    const watch = (): Promise<Answered> => ask(`${query}&watch=true&timeoutSeconds=1`)
    const isAll = (text: string): boolean => seenIn(text).length >= toBeSeen.length
    for (const answer of [await ask(query), await tellsAll(watch, isAll)]) {
      expect({ code: answer.code, text: answer.text }).toMatchObject({ code })
      expect(seenIn(answer.text)).toEqual(toBeSeen)
    }
  })

  test.each(codes)('a deletion of all by $by: what it may delete (12.1, 12.3)', async (row) => {
    const { by, code } = row
    const { about, query } = await oneOfEach()
    const answer = await hands[by].ask('DELETE', `ownedaccesskeys?${query}`)
    expect({ code: answer.code, text: answer.text }).toMatchObject({ code })
    const kept: About[] = []
    for (const [name, one] of about) {
      const object = await keys.read(name)
      if (object && object.metadata.deletionTimestamp === undefined) kept.push(one)
    }
    expect(kept).toEqual(ALL_ABOUT.filter((one) => codeOf(by, 'delete', one) !== 200))
  })

  test.each(['person', 'plain', 'child', 'scoped', 'team'] as const)(
    'nobody writes the status of keys without a right to it: %s (12.1, C9)',
    async (by) => {
      const used = { status: { lastActivity: '2030-01-01T00:00:00Z' } }
      for (const about of ['her own', 'her own within'] as const) {
        const object = await keys.shown(await madeAbout(world, about), 'Active')
        const path = `ownedaccesskeys/${object.metadata.name}/status`
        const body = { ...object, status: { ...object.status, ...used.status } }
        const code = codeOf(by, 'get', about) === 404 ? 404 : 403
        expect((await hands[by].ask('PUT', path, { body })).code).toBe(code)
        expect((await hands[by].ask('PATCH', path, { body: used })).code).toBe(code)
        const json = [{ op: 'add', path: '/status/lastActivity', value: used.status.lastActivity }]
        const patched = await hands[by].ask('PATCH', path, { type: JSON_PATCH, body: json })
        expect(patched.code).toBe(code)
        expect((await keys.read(object))?.status.lastActivity).toBeUndefined()
      }
    },
  )
}
