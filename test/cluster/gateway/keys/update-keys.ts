// What is changed through a gateway, by many at a time, and by each kind of patch (contract 12.1, 12.5).
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, REVOKE_FINALIZER } from '../../../../src/api/names.ts'
import { auditOf } from '../../../support/audit-log.ts'
import { GATEWAY_USER } from '../../../support/installed-control-plane.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { APPLY_PATCH, type Answered, type Hand, JSON_PATCH } from './self-service-clients.ts'
import { SHOP, type World } from './self-service-gateway.ts'

interface AuditedRequest {
  readonly stage: string
  readonly verb: string
  readonly impersonatedUser?: object
  readonly objectRef?: { readonly resource?: string }
}

/** Tests of what is changed. */
export function testChanging(world: World): void {
  const { hands, keys, make, plane } = world
  describe('server-side apply (12.2, 12.5)', () => {
    const manifest = (name: string, spec: object): object => ({
      apiVersion: API_VERSION,
      kind: 'OwnedAccessKey',
      metadata: { name },
      spec,
    })
    const apply = (by: Hand, name: string, spec: object, query = ''): Promise<Answered> =>
      by.ask('PATCH', `ownedaccesskeys/${name}?fieldManager=git${query}`, {
        type: APPLY_PATCH,
        body: manifest(name, spec),
      })

    test.each(['person', 'scoped', 'ending'] as const)(
      'by %s makes a key, and again changes it: what the gateway added stays',
      async (by) => {
        const name = uniqueName('applied')
        const made = await apply(hands[by], name, { displayName: 'one' })
        expect(made.code).toBe(201)
        expect(made.json.spec.key).toMatch(/^pak_/)
        const { key, ...rest } = made.json.spec
        for (const displayName of ['one', 'two', 'three']) {
          const again = await apply(hands[by], name, { displayName })
          expect({ code: again.code, message: again.json.message }).toMatchObject({ code: 200 })
          expect(again.json.spec).toEqual({ ...rest, displayName })
        }
        const stored = await keys.read(name)
        expect(stored?.spec.key).toBe(key)
        expect(stored?.metadata.finalizers).toEqual([REVOKE_FINALIZER])
        expect(stored?.metadata.ownerReferences).toEqual(made.json.metadata.ownerReferences)
      },
    )

    test.each(['management-operator', 'management-operator-gateway'])(
      'in the name of %s is refused (C9)',
      async (manager) => {
        const { name } = (await make('person', { ttl: 60 })).json.metadata
        const path = `ownedaccesskeys/${name}?fieldManager=${manager}&force=true`
        const body = manifest(name, { ttl: 60 })
        const refused = await hands.person.ask('PATCH', path, { type: APPLY_PATCH, body })
        expect({ code: refused.code, message: refused.json.message }).toEqual({
          code: 403,
          message: expect.stringMatching(/^fieldManager: /) as string,
        })
      },
    )

    test('of many at a time makes one key', async () => {
      const name = uniqueName('raced')
      const all = await Promise.all(
        Array.from({ length: 6 }, (_, at) =>
          apply(hands.person, name, { description: `${at}` }, '&force=true'),
        ),
      )
      expect(all.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([
        ...Array.from({ length: 5 }, () => 200),
        201,
      ])
      const [winner] = all.filter(({ code }) => code === 201)
      expect((await keys.read(name))?.spec.key).toBe(winner?.json.spec.key)
    })
  })

  describe('a key that is changed (12.1, 12.5)', () => {
    test('by many at a time has all of their changes, though none asked for a version', async () => {
      const { name } = (await make('person')).json.metadata
      const all = await Promise.all(
        Array.from({ length: 5 }, (_, at) =>
          hands.person.ask('PATCH', `ownedaccesskeys/${name}`, {
            type: at % 2 === 0 ? JSON_PATCH : 'application/merge-patch+json',
            body:
              at % 2 === 0
                ? [{ op: 'add', path: `/metadata/annotations/at-${at}`, value: 'x' }]
                : { metadata: { annotations: { [`at-${at}`]: 'x' } } },
          }),
        ),
      )
      expect(all.map(({ code }) => code)).toEqual([200, 200, 200, 200, 200])
      expect(Object.keys((await keys.read(name))?.metadata.annotations ?? {})).toEqual(
        expect.arrayContaining([0, 1, 2, 3, 4].map((at) => `at-${at}`)),
      )
    })

    test.each(['PUT', 'PATCH'])('by %s of a version that was, is as it was', async (method) => {
      const { metadata } = await keys.shown((await make('person')).json, 'Active')
      const { name } = metadata
      const read = await hands.person.ask('GET', `ownedaccesskeys/${name}`)
      await keys.patch(name, { metadata: { labels: { a: 'b' } } })
      const body = { ...read.json, spec: { ...read.json.spec, displayName: 'late' } }
      const { code, json } = await hands.person.ask(method, `ownedaccesskeys/${name}`, { body })
      expect({ code, reason: json.reason }).toEqual({ code: 409, reason: 'Conflict' })
      expect((await keys.read(name))?.spec.displayName).toBeUndefined()
    })

    test('by a JSON patch gets an annotation, be it its first', async () => {
      const name = uniqueName('bare')
      await plane.raw('POST', `/apis/${API_VERSION}/ownedaccesskeys`, {
        apiVersion: API_VERSION,
        kind: 'OwnedAccessKey',
        metadata: { name, finalizers: ['test/held'] },
        spec: { user: 'ada' },
      })
      await keys.remove(name)
      const bare = await keys.patch(name, { metadata: { annotations: null } })
      expect(bare.metadata.annotations).toBeUndefined()
      const body = [{ op: 'add', path: '/metadata/annotations/example.com~1note', value: 'first' }]
      const root = await hands.root.ask('PATCH', `ownedaccesskeys/${name}`, {
        type: JSON_PATCH,
        body,
      })
      expect({ code: root.code, message: root.json.message }).toMatchObject({ code: 200 })
      expect(root.json.metadata.annotations).toEqual({ 'example.com/note': 'first' })
      await keys.patch(name, { metadata: { finalizers: [] } }).catch(() => undefined)
    })

    test('by a manifest with PUT keeps what it does not know', async () => {
      const made = await make('plain')
      const { name, resourceVersion } = (await keys.shown(made.json, 'Active')).metadata
      const { ownerReferences } = made.json.metadata
      const body = {
        metadata: { name, resourceVersion, ownerReferences },
        spec: { user: 'ada', type: 'User', displayName: 'new' },
      }
      const put = await hands.plain.ask('PUT', `ownedaccesskeys/${name}`, { body })
      expect({ code: put.code, message: put.json.message }).toMatchObject({ code: 200 })
      const stored = await keys.read(name)
      expect(stored?.spec).toEqual({ ...made.json.spec, displayName: 'new' })
      expect(stored?.metadata.finalizers).toEqual([REVOKE_FINALIZER])
      expect(stored?.metadata.labels).toEqual(made.json.metadata.labels)
    })

    test('by who says that it is wanted strictly otherwise is changed strictly', async () => {
      const { name } = (await make('person')).json.metadata
      const path = `ownedaccesskeys/${name}?fieldValidation=Ignore`
      const { code } = await hands.person.ask('PATCH', path, { body: { spec: { scpoe: SHOP } } })
      expect(code).toBe(422)
    })

    test.each([
      { name: 'long paths', count: 5, bomb: { op: 'add', path: '/a'.repeat(3000), value: 1 } },
      { name: 'tests of much', count: 200, bomb: { op: 'test', path: '/metadata', value: 1 } },
    ])('by a JSON patch of many $name is not changed (E8)', async ({ count, bomb }) => {
      const { name } = (await make('person')).json.metadata
      const body = Array.from({ length: count }, () => bomb)
      const codes = [name, 'no-such-key'].map(async (one) => {
        const path = `ownedaccesskeys/${one}`
        return (await hands.person.ask('PATCH', path, { type: JSON_PATCH, body })).code
      })
      expect(await Promise.all(codes)).toEqual([422, 404])
    })

    test('by a strategic merge is not changed', async () => {
      const { name } = (await make('person')).json.metadata
      for (const type of [
        'application/strategic-merge-patch+json',
        'application/json',
        'text/plain',
      ])
        expect(
          (await hands.person.ask('PATCH', `ownedaccesskeys/${name}`, { type, body: {} })).code,
        ).toBe(415)
    })
  })

  test('by kubectl, on the client and then on the server, keeps what its manifest does not name (12.5)', async () => {
    const name = uniqueName('kubectl')
    const manifest = (spec: string): string =>
      `apiVersion: ${API_VERSION}\nkind: OwnedAccessKey\nmetadata:\n  name: ${name}\nspec:\n${spec}`
    const runs = async (args: readonly string[], input = ''): Promise<string> => {
      const { code, stdout, stderr } = await world.kubectl(hands.scoped, args, { input })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      return stdout
    }
    const apply = ['apply', '-f', '-']
    expect(await runs(apply, manifest('  ttl: 600\n'))).toMatch(/created/)
    const made = await keys.read(name)
    expect(await runs(apply, manifest('  ttl: 600\n'))).toMatch(/unchanged/)
    expect(await runs(apply, manifest('  ttl: 500\n  displayName: x\n'))).toMatch(/configured/)
    const onServer = [...apply, '--server-side']
    for (const spec of ['  ttl: 400\n', '  ttl: 300\n', '  ttl: 300\n'])
      expect(await runs(onServer, manifest(spec))).toMatch(/serverside-applied/)
    expect(await runs(['get', 'oak', name, '-o', 'yaml'])).not.toContain(made?.spec.key ?? '')
    expect(
      await runs(
        ['replace', '-f', '-'],
        manifest('  user: ada\n  type: User\n  ttl: 200\n  scope: {projects: [{project: shop}]}\n'),
      ),
    ).toMatch(/replaced/)
    const { spec } = (await keys.read(name)) ?? {}
    expect(spec).toEqual({ user: 'ada', type: 'User', key: made?.spec.key, ttl: 200, scope: SHOP })
    expect(await runs(['delete', 'oak', name])).toMatch(/deleted/)
  })

  test('as itself the gateway touches nothing but keys, tokens and Configs (12.1, I14)', async () => {
    const audit = auditOf(plane)
    const mark = await audit.mark()
    const made = await make('person')
    await hands.person.ask('DELETE', `ownedaccesskeys/${made.json.metadata.name}`)
    await world.ask(hands.person.token, '/api/v1/namespaces/default/configmaps', { method: 'POST' })
    const lines = await audit.linesSince(mark, GATEWAY_USER)
    const events = lines.map((line) => JSON.parse(line) as AuditedRequest)
    // Whom a request runs as is known once it is answered.
    const bare = events.filter(
      ({ impersonatedUser, stage }) =>
        stage === 'ResponseComplete' && impersonatedUser === undefined,
    )
    const writes = bare.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))
    expect(writes.map(({ verb }) => verb)).toEqual(
      expect.arrayContaining(['create', 'patch', 'delete']),
    )
    const others = writes.filter(({ objectRef }) => objectRef?.resource !== ACCESS_KEYS.plural)
    expect(others).toEqual([])
  })
}
