// Who may do what with which keys (contract 12.1, 12.3).
import { expect, test } from 'vitest'
import { API_VERSION, HEARTBEAT_KEY } from '../../../../src/api/group.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { APPLY_PATCH, type Answered, JSON_PATCH } from './hands.ts'
import { type By, CORNER, type World } from './world.ts'

/** The keys that a call may be about. */
export const ABOUT = {
  'her own': { user: 'ada' },
  'her own within': { user: 'ada', scope: CORNER },
  'a stranger’s': { user: 'bob' },
  'a team’s': { user: '', team: 'ops' },
} satisfies Readonly<Record<string, OwnedAccessKeySpec>>
type About = keyof typeof ABOUT

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

/** What each answers: 200, 403 by RBAC, or 404 of what can't be seen. */
const CODES = {
  person: { 'her own': 200, 'her own within': 200, 'a stranger’s': 403, 'a team’s': 403 },
  plain: { 'her own': 200, 'her own within': 200, 'a stranger’s': 403, 'a team’s': 403 },
  scoped: { 'her own': 404, 'her own within': 200, 'a stranger’s': 404, 'a team’s': 404 },
  root: { 'her own': 200, 'her own within': 200, 'a stranger’s': 200, 'a team’s': 200 },
  rootScoped: { 'her own': 404, 'her own within': 403, 'a stranger’s': 404, 'a team’s': 404 },
  team: { 'her own': 403, 'her own within': 403, 'a stranger’s': 403, 'a team’s': 403 },
} as const satisfies Readonly<Partial<Record<By, Readonly<Record<About, number>>>>>

/** RBAC lets a scoped key of an administrator read what is within its scope; it changes its own only. */
const codeOf = (by: keyof typeof CODES, act: string, about: About): number =>
  by === 'rootScoped' && act === 'get' && about === 'her own within' ? 200 : CODES[by][about]

const rows = (Object.keys(CODES) as (keyof typeof CODES)[]).flatMap((by) =>
  Object.keys(ACTS).flatMap((act) =>
    (Object.keys(ABOUT) as About[]).map((about) => ({
      by,
      act,
      about,
      code: codeOf(by, act, about),
    })),
  ),
)

/** The table of who may what. */
export function testWho(world: World): void {
  const { keys } = world
  test.each(rows)('$act of $about key by $by: $code (12.1, 12.3)', async (row) => {
    const { by, act, about, code } = row
    const { name } = (await keys.create(ABOUT[about])).metadata
    const answer = await ACTS[act]?.(world, by, name)
    expect({ code: answer?.code, text: answer?.text }).toMatchObject({ code })
    if (code !== 404) return
    // It is told of in the words for what is not there.
    const missing = await ACTS['get']?.(world, by, 'no-such-key')
    expect(answer?.json.message).toBe(missing?.json.message?.replace('no-such-key', name))
  })
}
