// Lists and watches of keys, with the keys that their caller may see (contract 12.1, 12.3, threats B10).
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, HEARTBEAT_NAME } from '../../../../src/api/names.ts'
import { LAST_APPLIED } from '../../../support/installed-control-plane.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { TARGETS, OPERATIONS } from './caller-rights.ts'
import {
  type ResponseObject,
  TABLE,
  createCaller,
  watchUntil,
  type CallerName,
  CORNER,
  type SelfServiceSetup,
} from './self-service-gateway.ts'

/** Declares the tests of lists and watches. */
export function testListsAndWatches(setup: SelfServiceSetup): void {
  const { keys, plane, callers } = setup
  describe('lists and watches (12.1, 12.3, B10)', () => {
    const namesBy = async (by: CallerName, query = ''): Promise<readonly string[]> => {
      const { code, json } = await callers[by].ask('GET', `ownedaccesskeys${query}`)
      expect(code).toBe(200)
      return json.items.map(({ metadata }) => metadata.name)
    }

    test('have the keys of their user, and all keys for a cluster admin', async () => {
      const names = await Promise.all(
        Object.values(TARGETS).map(async (spec) => (await keys.create(spec)).metadata.name),
      )
      const of = async (by: CallerName) =>
        (await namesBy(by)).filter((name) => names.includes(name))
      expect(await of('login')).toEqual(names.slice(0, 2).toSorted())
      expect(await of('userKey')).toEqual(names.slice(0, 2).toSorted())
      expect(await of('scoped')).toEqual(names.slice(1, 2))
      expect(await of('admin')).toEqual(names.toSorted())
      expect((await callers.team.ask('GET', 'ownedaccesskeys')).code).toBe(403)
    })

    test('show a scoped key itself, and no caller the heartbeat key', async () => {
      expect(await namesBy('scoped')).toContain(callers.scoped.name)
      expect(await plane.admin.get(ACCESS_KEYS, { name: HEARTBEAT_NAME })).not.toBeNull()
      expect(await namesBy('admin')).not.toContain(HEARTBEAT_NAME)
      for (const operation of Object.values(OPERATIONS))
        expect((await operation(setup, 'admin', HEARTBEAT_NAME)).code).toBe(404)
      const all = `?fieldSelector=metadata.name%3D${HEARTBEAT_NAME}`
      expect(await namesBy('admin', all)).toEqual([])
      const created = { metadata: { name: HEARTBEAT_NAME } }
      expect((await callers.admin.ask('POST', 'ownedaccesskeys', { body: created })).code).toBe(403)
    })

    test.each([
      { name: 'another user', selector: 'spec.user=bob' },
      { name: 'another user beside the own one', selector: 'spec.user=bob,spec.user=ada' },
      { name: 'an escape at the end', selector: 'metadata.name=x\\' },
      { name: 'any user but the own one', selector: 'spec.user!=ada' },
    ])('with a field selector of $name show no keys of other users', async ({ selector }) => {
      const { name } = (await keys.create({ user: 'bob' })).metadata
      const path = `ownedaccesskeys?fieldSelector=${encodeURIComponent(selector)}`
      const { text } = await callers.login.ask('GET', path)
      expect(text).not.toContain(name)
      expect(text).not.toContain('bob"')
    })

    test('select exactly the keys of a user whose name has selector syntax', async () => {
      const caller = await createCaller(setup, { user: 'x\\,spec.user!=y', type: 'Login' })
      await keys.create({ user: 'x' })
      const { json } = await caller.ask('GET', 'ownedaccesskeys')
      expect(json.items.map(({ metadata }) => metadata.name)).toEqual([caller.name])
    })

    test('in pages have no data of other users, nor do continue tokens', async () => {
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
        const { code, json } = await callers.login.ask('GET', `ownedaccesskeys${query}`)
        expect(code).toBe(200)
        found.push(...json.items.map(({ metadata }) => metadata.name))
        next = json.metadata.continue ?? ''
        const token = Buffer.from(next, 'base64url').toString()
        for (const at of [1, 3]) expect(token).not.toContain(`${label}-${at}`)
      } while (next !== '')
      expect(found).toEqual([0, 2, 4].map((at) => `${label}-${at}`))
    })

    test('in pages are complete in one page for a scoped key', async () => {
      const { json } = await callers.scoped.ask('GET', 'ownedaccesskeys?limit=1')
      expect(json.metadata.continue).toBeUndefined()
      expect(json.items.length).toBeGreaterThan(1)
      const again = await callers.scoped.ask('GET', 'ownedaccesskeys?limit=1&continue=abc')
      expect({ code: again.code, reason: again.json.reason }).toEqual({
        code: 410,
        reason: 'Expired',
      })
    })

    // Concurrently, as a watch takes a second.
    test.concurrent('of another user’s key by name are the same as for a name that does not exist (12.1)', async () => {
      const { name } = (await keys.create({ user: 'bob' })).metadata
      const asked = [name, 'no-such-key'].map(async (one) => {
        const path = `ownedaccesskeys?fieldSelector=metadata.name%3D${one}`
        const list = await callers.login.ask('GET', path)
        const watch = await callers.login.ask('GET', `${path}&watch=true&timeoutSeconds=1`)
        const events = watch.text.replaceAll(/"resourceVersion":"\d+"/g, '')
        return { code: list.code, items: list.json.items, watch: watch.code, events }
      })
      const [there, nowhere] = await Promise.all(asked)
      expect(there).toEqual(nowhere)
      expect(there).toMatchObject({ code: 200, items: [], watch: 200 })
    })

    test.concurrent.each(['login', 'scoped'] as const)(
      'by a watch of %s have ADDED and DELETED for a key that becomes visible and hidden',
      async (by) => {
        const name = uniqueName('seen')
        const own = await callers[by].ask('GET', 'ownedaccesskeys')
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
            .map((line) => JSON.parse(line) as { type: string; object: ResponseObject })
            .filter(({ object }) => object.metadata.name.startsWith(name))
            .map(
              ({ type, object }) => `${type} ${object.metadata.name === name ? 'own' : 'foreign'}`,
            )
            // The operator writes as well, any number of times.
            .filter((event, at, all) => event !== all[at - 1])
        const { text } = await watchUntil(
          () => callers[by].ask('GET', `ownedaccesskeys${query}`),
          (lines) => eventsIn(lines).at(-1) === 'DELETED own',
        )
        expect(eventsIn(text)).toEqual(['ADDED own', 'MODIFIED own', 'DELETED own'])
        expect(text).not.toContain(`${name}-foreign`)
      },
    )

    test('by a watch as Table have the column definitions in the first event, also after hidden keys', async () => {
      const { json } = await callers.scoped.ask('GET', 'ownedaccesskeys')
      await keys.create({ user: 'bob' })
      await keys.create({ user: 'ada', scope: CORNER })
      const query = `?watch=true&timeoutSeconds=1&resourceVersion=${json.metadata.resourceVersion}`
      const { text } = await watchUntil(
        () => callers.scoped.ask('GET', `ownedaccesskeys${query}`, { accept: TABLE }),
        (events) => events !== '',
      )
      const lines = text.trim().split('\n')
      const tables = lines.map((line) => (JSON.parse(line) as { object: ResponseObject }).object)
      expect(tables[0]?.columnDefinitions).toHaveLength(11)
      expect(tables.slice(1).flatMap((table) => table.columnDefinitions ?? [])).toEqual([])
      for (const { rows } of tables) expect(rows[0]?.object?.kind).toBe('PartialObjectMetadata')
    })

    test('are complete with a deeply nested object among the keys (E8)', async () => {
      const label = uniqueName('nested')
      const labels = { nested: label }
      const body = (metadata: object): object => ({ metadata: { labels, ...metadata }, spec: {} })
      const deep = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`
      const nested = [{}, { annotations: { [LAST_APPLIED]: deep(5000) } }, {}].map(body)
      const created = []
      for (const one of nested)
        created.push(await callers.login.ask('POST', 'ownedaccesskeys', { body: one }))
      expect(created.map(({ code }) => code)).toEqual([201, 201, 201])
      // As text: JSON.stringify can't write it either.
      const claims = `{"identity":{"username":"ada","extraClaims":${deep(5000)}},"user":"ada"}`
      const name = `${label}-claims`
      const kind = { apiVersion: API_VERSION, kind: 'OwnedAccessKey' }
      const object = { ...kind, metadata: { name, labels }, spec: 'CLAIMS' }
      const direct = await plane.kubectl(
        ['create', '--raw', `/apis/${API_VERSION}/ownedaccesskeys`, '-f', '-'],
        { input: JSON.stringify(object).replace('"CLAIMS"', claims) },
      )
      expect(direct).toMatchObject({ code: 0, stderr: '' })
      const names = [...created.map(({ json }) => json.metadata.name), name].toSorted()
      const query = `labelSelector=nested%3D${label}`
      const expectComplete = async (by: CallerName): Promise<void> => {
        const list = await callers[by].ask('GET', `ownedaccesskeys?${query}`)
        expect(list.json.items.map(({ metadata }) => metadata.name)).toEqual(names)
        const table = await callers[by].ask('GET', `ownedaccesskeys?${query}`, { accept: TABLE })
        expect(table.json.rows.map(({ cells: [first] }) => first)).toEqual(names)
        const watch = `ownedaccesskeys?${query}&watch=true&timeoutSeconds=1`
        await watchUntil(
          () => callers[by].ask('GET', watch),
          (text) => names.every((one) => text.includes(`"${one}"`)),
        )
      }
      await Promise.all([expectComplete('login'), expectComplete('admin')])
      for (const one of names) await keys.remove(one)
      for (const one of names) await keys.gone(one)
    })

    test('by a watch from a scoped list have DELETED for a listed key that left the scope', async () => {
      const name = uniqueName('gone')
      await keys.create({ user: 'ada', scope: CORNER }, { name })
      const { json } = await callers.scoped.ask('GET', 'ownedaccesskeys')
      expect(json.items.map(({ metadata }) => metadata.name)).toContain(name)
      await keys.patch(name, { spec: { scope: null, displayName: 'hidden' } })
      const query = `?watch=true&timeoutSeconds=1&resourceVersion=${json.metadata.resourceVersion}`
      const lastIn = (text: string): string | undefined => {
        const line = text.split('\n').findLast((one) => one.includes(`"${name}"`))
        return line && (JSON.parse(line) as { type: string }).type
      }
      const { text } = await watchUntil(
        () => callers.scoped.ask('GET', `ownedaccesskeys${query}`),
        (events) => lastIn(events) !== undefined,
      )
      expect(lastIn(text)).toBe('DELETED')
      expect(text).not.toContain('hidden')
    })
  })
}
