// What callers see of all keys, and go on seeing (contract 12.1, 12.3, threats B10).
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, HEARTBEAT_KEY } from '../../../../src/api/names.ts'
import { LAST_APPLIED } from '../../../support/installed-control-plane.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { ABOUT, ACTS } from './caller-rights.ts'
import { type Held, TABLE, hand, tellsAll } from './self-service-clients.ts'
import { type By, CORNER, type World } from './self-service-gateway.ts'

/** Tests of lists and watches. */
export function testLists(world: World): void {
  const { keys, plane, hands } = world
  describe('lists and watches (12.1, 12.3, B10)', () => {
    const namesBy = async (by: By, query = ''): Promise<readonly string[]> => {
      const { code, json } = await hands[by].ask('GET', `ownedaccesskeys${query}`)
      expect(code).toBe(200)
      return json.items.map(({ metadata }) => metadata.name)
    }

    test('hold what is one’s own, and for who may see all of them all', async () => {
      const names = await Promise.all(
        Object.values(ABOUT).map(async (spec) => (await keys.create(spec)).metadata.name),
      )
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
        expect((await act(world, 'root', HEARTBEAT_KEY)).code).toBe(404)
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
      const { name } = (await keys.create({ user: 'bob' })).metadata
      const path = `ownedaccesskeys?fieldSelector=${encodeURIComponent(selector)}`
      const { text } = await hands.person.ask('GET', path)
      expect(text).not.toContain(name)
      expect(text).not.toContain('bob"')
    })

    test('of the name of a stranger’s are like those of a name that nobody has (12.1)', async () => {
      const { name } = (await keys.create({ user: 'bob' })).metadata
      const asked = [name, 'no-such-key'].map(async (one) => {
        const path = `ownedaccesskeys?fieldSelector=metadata.name%3D${one}`
        const list = await hands.person.ask('GET', path)
        const watch = await hands.person.ask('GET', `${path}&watch=true&timeoutSeconds=1`)
        const events = watch.text.replaceAll(/"resourceVersion":"\d+"/g, '')
        return { code: list.code, items: list.json.items, watch: watch.code, events }
      })
      const [there, nowhere] = await Promise.all(asked)
      expect(there).toEqual(nowhere)
      expect(there).toMatchObject({ code: 200, items: [], watch: 200 })
    })

    test('a user’s name selects his own keys and nothing else, whatever it looks like', async () => {
      const odd = await hand(world, { user: 'x\\,spec.user!=y', type: 'Login' })
      await keys.create({ user: 'x' })
      const { json } = await odd.ask('GET', 'ownedaccesskeys')
      expect(json.items.map(({ metadata }) => metadata.name)).toEqual([odd.name])
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
        const token = Buffer.from(next, 'base64url').toString()
        for (const at of [1, 3]) expect(token).not.toContain(`${label}-${at}`)
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
        const eventsIn = (lines: string): readonly string[] =>
          lines
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line) as { type: string; object: Held })
            .filter(({ object }) => object.metadata.name.startsWith(name))
            .map(
              ({ type, object }) => `${type} ${object.metadata.name === name ? 'own' : 'foreign'}`,
            )
            // The operator writes as well, and how often is its own affair.
            .filter((event, at, all) => event !== all[at - 1])
        const { text } = await tellsAll(
          () => hands[by].ask('GET', `ownedaccesskeys${query}`),
          (lines) => eventsIn(lines).at(-1) === 'DELETED own',
        )
        expect(eventsIn(text)).toEqual(['ADDED own', 'MODIFIED own', 'DELETED own'])
        expect(text).not.toContain(`${name}-foreign`)
      },
    )

    test('a watch of a Table says its columns first, whatever of it was not to be seen', async () => {
      const { json } = await hands.scoped.ask('GET', 'ownedaccesskeys')
      await keys.create({ user: 'bob' })
      await keys.create({ user: 'ada', scope: CORNER })
      const query = `?watch=true&timeoutSeconds=1&resourceVersion=${json.metadata.resourceVersion}`
      const { text } = await tellsAll(
        () => hands.scoped.ask('GET', `ownedaccesskeys${query}`, { accept: TABLE }),
        (told) => told !== '',
      )
      const lines = text.trim().split('\n')
      const tables = lines.map((line) => (JSON.parse(line) as { object: Held }).object)
      expect(tables[0]?.columnDefinitions).toHaveLength(11)
      expect(tables.slice(1).flatMap((table) => table.columnDefinitions ?? [])).toEqual([])
      for (const { rows } of tables) expect(rows[0]?.object?.kind).toBe('PartialObjectMetadata')
    })

    test('of somebody’s bomb among them are as good as without (E8)', async () => {
      const label = uniqueName('bomb')
      const labels = { bomb: label }
      const body = (metadata: object): object => ({ metadata: { labels, ...metadata }, spec: {} })
      const deep = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
      const bombs = [{}, { annotations: { [LAST_APPLIED]: deep(5000) } }, {}].map(body)
      const made = []
      for (const bomb of bombs)
        made.push(await hands.person.ask('POST', 'ownedaccesskeys', { body: bomb }))
      expect(made.map(({ code }) => code)).toEqual([201, 201, 201])
      // As text: here nobody could write it either.
      const claims = `{"identity":{"username":"ada","extraClaims":${deep(5000)}},"user":"ada"}`
      const name = `${label}-claims`
      const kind = { apiVersion: API_VERSION, kind: 'OwnedAccessKey' }
      const object = { ...kind, metadata: { name, labels }, spec: 'CLAIMS' }
      const past = await plane.kubectl(
        ['create', '--raw', `/apis/${API_VERSION}/ownedaccesskeys`, '-f', '-'],
        { input: JSON.stringify(object).replace('"CLAIMS"', claims) },
      )
      expect(past).toMatchObject({ code: 0, stderr: '' })
      const names = [...made.map(({ json }) => json.metadata.name), name].toSorted()
      const query = `labelSelector=bomb%3D${label}`
      for (const by of ['person', 'root'] as const) {
        const list = await hands[by].ask('GET', `ownedaccesskeys?${query}`)
        expect(list.json.items.map(({ metadata }) => metadata.name)).toEqual(names)
        const table = await hands[by].ask('GET', `ownedaccesskeys?${query}`, { accept: TABLE })
        expect(table.json.rows.map(({ cells: [first] }) => first)).toEqual(names)
        const watch = `ownedaccesskeys?${query}&watch=true&timeoutSeconds=1`
        await tellsAll(
          () => hands[by].ask('GET', watch),
          (text) => names.every((one) => text.includes(`"${one}"`)),
        )
      }
      for (const one of names) await keys.remove(one)
      for (const one of names) await keys.gone(one)
    })

    test('who goes on watching a scoped list is told of what was in it and is no longer', async () => {
      const name = uniqueName('gone')
      await keys.create({ user: 'ada', scope: CORNER }, { name })
      const { json } = await hands.scoped.ask('GET', 'ownedaccesskeys')
      expect(json.items.map(({ metadata }) => metadata.name)).toContain(name)
      await keys.patch(name, { spec: { scope: null, displayName: 'not to be seen' } })
      const query = `?watch=true&timeoutSeconds=1&resourceVersion=${json.metadata.resourceVersion}`
      const lastIn = (text: string): string | undefined => {
        const line = text.split('\n').findLast((one) => one.includes(`"${name}"`))
        return line && (JSON.parse(line) as { type: string }).type
      }
      const { text } = await tellsAll(
        () => hands.scoped.ask('GET', `ownedaccesskeys${query}`),
        (told) => lastIn(told) !== undefined,
      )
      expect(lastIn(text)).toBe('DELETED')
      expect(text).not.toContain('not to be seen')
    })
  })
}
