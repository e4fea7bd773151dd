// Who may do what with which keys through a gateway, and see what of them (contract 12.1, 12.3).
import { beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, HEARTBEAT_KEY } from '../../../../src/api/group.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { uniqueName } from '../../../support/objects.ts'
import { bound } from '../../policies/callers.ts'
import { startFront } from '../front.ts'
import { APPLY_PATCH, type Answered, type Hand, hand, JSON_PATCH } from './hands.ts'

const front = await startFront()
const { plane, keys } = front

const SHOP = { projects: [{ project: 'shop' }] }
const CORNER = { spaces: [{ project: 'shop', space: 'corner' }] }
/** Its scope lets it work with keys at all. */
const RULES = [{ resources: [{ group: 'management.platform.sh' }], requestTargets: ['Management'] }]
const KEEPER = { ...SHOP, rules: RULES }

const BY = ['person', 'plain', 'scoped', 'root', 'team'] as const
type By = (typeof BY)[number]
let hands: Readonly<Record<By, Hand>>

beforeAll(async () => {
  await bound(plane, 'root-user', 'cluster-admin')
  hands = {
    person: await hand(front, { user: 'ada', type: 'Login' }),
    plain: await hand(front, { user: 'ada', type: 'User' }),
    scoped: await hand(front, { user: 'ada', type: 'User', scope: KEEPER }),
    root: await hand(front, { user: 'root-user', type: 'Login' }),
    team: await hand(front, { user: '', team: 'ops', type: 'User' }),
  }
})

/** Made by an administrator, under a name of its own. */
const stored = async (spec: OwnedAccessKeySpec): Promise<string> =>
  (await keys.create(spec)).metadata.name

/** The keys that a call may be about. */
const ABOUT = {
  'her own': { user: 'ada' },
  'her own within': { user: 'ada', scope: CORNER },
  'a stranger’s': { user: 'bob' },
  'a team’s': { user: '', team: 'ops' },
} satisfies Readonly<Record<string, OwnedAccessKeySpec>>
type About = keyof typeof ABOUT

type Act = (by: Hand, name: string) => Promise<Answered>

/** Harmless changes, one way each, and other verbs. */
const ACTS: Readonly<Record<string, Act>> = {
  get: (by, name) => by.ask('GET', `ownedaccesskeys/${name}`),
  'merge patch': (by, name) =>
    by.ask('PATCH', `ownedaccesskeys/${name}`, { body: { spec: { disabled: true } } }),
  'JSON patch': (by, name) =>
    by.ask('PATCH', `ownedaccesskeys/${name}`, {
      type: JSON_PATCH,
      body: [{ op: 'add', path: '/spec/description', value: 'x' }],
    }),
  apply: (by, name) =>
    by.ask('PATCH', `ownedaccesskeys/${name}?fieldManager=hand`, {
      type: APPLY_PATCH,
      body: `apiVersion: ${API_VERSION}\nkind: OwnedAccessKey\nspec:\n  ttl: 3600\n`,
    }),
  update: async (by, name) => {
    const { body } = await plane.raw<{ spec: object }>('GET', `${PATH}/${name}`)
    return by.ask('PUT', `ownedaccesskeys/${name}`, {
      body: { ...body, spec: { ...body.spec, displayName: 'x' } },
    })
  },
  delete: (by, name) => by.ask('DELETE', `ownedaccesskeys/${name}`),
}

const PATH = `/apis/${API_VERSION}/${ACCESS_KEYS.plural}`

/** What each answers: 200, 403 by RBAC, or 404 of what can't be seen. */
const CODES: Readonly<Record<By, Readonly<Record<About, number>>>> = {
  person: { 'her own': 200, 'her own within': 200, 'a stranger’s': 403, 'a team’s': 403 },
  plain: { 'her own': 200, 'her own within': 200, 'a stranger’s': 403, 'a team’s': 403 },
  scoped: { 'her own': 404, 'her own within': 200, 'a stranger’s': 404, 'a team’s': 404 },
  root: { 'her own': 200, 'her own within': 200, 'a stranger’s': 200, 'a team’s': 200 },
  team: { 'her own': 403, 'her own within': 403, 'a stranger’s': 403, 'a team’s': 403 },
}

const rows = BY.flatMap((by) =>
  Object.keys(ACTS).flatMap((act) =>
    (Object.keys(ABOUT) as About[]).map((about) => ({ by, act, about, code: CODES[by][about] })),
  ),
)

test.each(rows)(
  '$act of $about key by $by: $code (12.1, 12.3)',
  async ({ by, act, about, code }) => {
    const name = await stored(ABOUT[about])
    const answer = await ACTS[act]?.(hands[by], name)
    expect({ code: answer?.code, text: answer?.text }).toMatchObject({ code })
    if (code !== 404) return
    const missing = await ACTS['get']?.(hands[by], 'no-such-key')
    expect(answer?.json.message).toBe(missing?.json.message?.replace('no-such-key', name))
  },
)

describe('lists and watches (12.1, 12.3, B10)', () => {
  const namesBy = async (by: By, query = ''): Promise<readonly string[]> => {
    const { code, json } = await hands[by].ask('GET', `ownedaccesskeys${query}`)
    expect(code).toBe(200)
    return json.items.map(({ metadata }) => metadata.name)
  }

  test('hold what is one’s own, and for who may see all of them all', async () => {
    const names = await Promise.all(Object.values(ABOUT).map(stored))
    const of = async (by: By) => (await namesBy(by)).filter((name) => names.includes(name))
    expect(await of('person')).toEqual(names.slice(0, 2).toSorted())
    expect(await of('plain')).toEqual(names.slice(0, 2).toSorted())
    expect(await of('scoped')).toEqual(names.slice(1, 2))
    expect(await of('root')).toEqual(names.toSorted())
    expect((await hands.team.ask('GET', 'ownedaccesskeys')).code).toBe(403)
  })

  test('a scoped key sees itself, and the keys of gateways nobody', async () => {
    expect(await namesBy('scoped')).toContain(hands.scoped.name)
    expect(await plane.admin.get(ACCESS_KEYS, { name: HEARTBEAT_KEY })).not.toBeNull()
    expect(await namesBy('root')).not.toContain(HEARTBEAT_KEY)
    for (const act of Object.values(ACTS))
      expect((await act(hands.root, HEARTBEAT_KEY)).code).toBe(404)
    const all = `?fieldSelector=metadata.name%3D${HEARTBEAT_KEY}`
    expect(await namesBy('root', all)).toEqual([])
    const made = { metadata: { name: HEARTBEAT_KEY } }
    expect((await hands.root.ask('POST', 'ownedaccesskeys', { body: made })).code).toBe(403)
  })

  test.each([
    { name: 'another user', selector: 'spec.user=bob' },
    { name: 'another user beside', selector: 'spec.user=bob,spec.user=ada' },
    { name: 'an escape', selector: 'metadata.name=x\\' },
    { name: 'no user', selector: 'spec.user!=ada' },
  ])('a selector of $name shows nothing of others', async ({ selector }) => {
    const name = await stored({ user: 'bob' })
    const path = `ownedaccesskeys?fieldSelector=${encodeURIComponent(selector)}`
    const { text } = await hands.person.ask('GET', path)
    expect(text).not.toContain(name)
    expect(text).not.toContain('bob"')
  })

  test('by pages, nothing of others is in a page or in the token for the next', async () => {
    const label = uniqueName('pages')
    const spec = [
      { user: 'ada' },
      { user: 'bob' },
      { user: 'ada' },
      { user: 'bob' },
      { user: 'ada' },
    ]
    for (const [at, one] of spec.entries())
      await keys.create(one, { name: `${label}-${at}`, labels: { pages: label } })
    const found: string[] = []
    let next = ''
    do {
      const query = `?labelSelector=pages%3D${label}&limit=1${next && `&continue=${next}`}`
      const { code, json } = await hands.person.ask('GET', `ownedaccesskeys${query}`)
      expect(code).toBe(200)
      found.push(...json.items.map(({ metadata }) => metadata.name))
      next = json.metadata.continue ?? ''
      expect(Buffer.from(next, 'base64url').toString()).not.toMatch(/-[13]/)
    } while (next !== '')
    expect(found).toEqual([0, 2, 4].map((at) => `${label}-${at}`))
  })

  test('by pages, a scoped key gets the whole list at once', async () => {
    const { json } = await hands.scoped.ask('GET', 'ownedaccesskeys?limit=1')
    expect(json.metadata.continue).toBeUndefined()
    expect(json.items.length).toBeGreaterThan(1)
    const again = await hands.scoped.ask('GET', 'ownedaccesskeys?limit=1&continue=abc')
    expect({ code: again.code, reason: again.json.reason }).toEqual({
      code: 410,
      reason: 'Expired',
    })
  })

  test.each(['person', 'scoped'] as const)(
    'a watch by %s tells what comes into sight and goes out of it',
    async (by) => {
      const name = uniqueName('seen')
      const own = await hands[by].ask('GET', 'ownedaccesskeys')
      await keys.create({ user: 'bob', scope: CORNER }, { name: `${name}-foreign` })
      await keys.create({ user: 'ada', scope: CORNER }, { name })
      await keys.patch(name, { spec: { displayName: 'x' } })
      await keys.patch(name, { spec: { scope: null } })
      await keys.patch(name, { spec: { displayName: 'y' } })
      await keys.patch(name, { spec: { user: 'bob' } })
      const version = own.json.metadata.resourceVersion
      const query = `?watch=true&timeoutSeconds=1&resourceVersion=${version}`
      const { text } = await hands[by].ask('GET', `ownedaccesskeys${query}`)
      const events = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { type: string; object: { metadata: { name: string } } })
        .filter(({ object }) => object.metadata.name.startsWith(name))
        // The operator writes as well, and how often is its own affair.
        .map(({ type, object }) => `${type} ${object.metadata.name === name ? 'own' : 'foreign'}`)
        .filter((event, at, all) => event !== all[at - 1])
      expect(events).toEqual(['ADDED own', 'MODIFIED own', 'DELETED own'])
      expect(text).not.toContain(`${name}-foreign`)
    },
  )

  test('who goes on watching a scoped list is told of what was in it and is no longer', async () => {
    const name = uniqueName('gone')
    await keys.create({ user: 'ada', scope: CORNER }, { name })
    const { json } = await hands.scoped.ask('GET', 'ownedaccesskeys')
    expect(json.items.map(({ metadata }) => metadata.name)).toContain(name)
    await keys.patch(name, { spec: { scope: null, displayName: 'not to be seen' } })
    const query = `?watch=true&timeoutSeconds=1&resourceVersion=${json.metadata.resourceVersion}`
    const { text } = await hands.scoped.ask('GET', `ownedaccesskeys${query}`)
    const events = text.split('\n').filter((line) => line.includes(`"${name}"`))
    expect(events.map((line) => (JSON.parse(line) as { type: string }).type).at(-1)).toBe('DELETED')
    expect(text).not.toContain('not to be seen')
  })
})
