// What is made through a gateway, and what it is (contract 12.2, 12.3).
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  API_VERSION,
  CREATED_ANNOTATION,
  MADE_WITH_LABEL,
  REVOKE_FINALIZER,
} from '../../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { auditOf } from '../../../support/audit-log.ts'
import { eventually, eventuallyPasses } from '../../../support/eventually.ts'
import { OPERATOR_USER } from '../../../support/installed-control-plane.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { SOON } from '../test-gateway.ts'
import { APPLY_PATCH, hand } from './self-service-clients.ts'
import { KEEPER, SHOP, type World } from './self-service-gateway.ts'

const BANK = { projects: [{ project: 'bank' }] }

/** Tests of what is made. */
export function testMaking(world: World): void {
  const { hands, keys, make, opens, held } = world
  /** Not at once: a gateway hears of a key by its watch. */
  const opensSoon = (key: string | undefined): Promise<void> =>
    eventuallyPasses('the key opens', async () => expect(await opens(key)).toBe(200), SOON)

  describe('a key that is made (12.2)', () => {
    test('of nothing: named, generated, marked and one’s own, in one write that the operator leaves', async () => {
      const audit = auditOf(world.plane)
      const mark = await audit.mark()
      const { code, json } = await hands.person.ask('POST', 'ownedaccesskeys', { body: {} })
      expect(code).toBe(201)
      const { metadata, spec } = json
      expect(metadata.name).toMatch(/^key-[a-z0-9]+$/)
      expect(spec).toEqual({ user: 'ada', key: expect.stringMatching(/^pak_/) as string })
      expect(metadata.finalizers).toEqual([REVOKE_FINALIZER])
      const { [CREATED_ANNOTATION]: created, ...others } = metadata.annotations ?? {}
      expect(others).toEqual({})
      // The gateway's second, and the API server's a moment later.
      const laterMs = Date.parse(metadata.creationTimestamp ?? '') - Date.parse(created ?? '')
      expect(laterMs).toBeGreaterThanOrEqual(0)
      expect(laterMs).toBeLessThan(SOON.withinMs)
      expect(metadata.ownerReferences).toBeUndefined()
      expect(metadata.labels).toEqual({ [MADE_WITH_LABEL]: hands.person.object.metadata.uid })
      await keys.shown(json, 'Active')
      await opensSoon(spec.key)
      const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
      const ofThis = writes.filter(
        ({ name, resource }) => name === metadata.name && resource === ACCESS_KEYS.plural,
      )
      expect(ofThis.map(({ subresource }) => subresource)).not.toContain('')
    })

    test('with a key: it is taken as it is, and shown', async () => {
      const key = `given-${'x'.repeat(40)}`
      expect((await make('person', { key })).json.spec.key).toBe(key)
    })

    test('with a digest by a person: RBAC decides, and then it is not self-service’s (12.1)', async () => {
      const key = `sha256:${'0'.repeat(64)}`
      expect((await make('person', { key })).code).toBe(403)
      const { code, json } = await make('root', { key })
      expect({ code, message: json.message }).toMatchObject({ code: 201 })
      expect(json.spec).toEqual({ user: 'root-user', key })
      expect(json.metadata.labels).toBeUndefined()
    })

    test.each(['before', 'after'])(
      'with a digest that a stranger read in Git, %s its owner: he gets none, and the bearer is its owner’s (3.3, X6)',
      async (when) => {
        const secret = `owned-${uniqueName('x')}${'y'.repeat(32)}`
        const key = `sha256:${createHash('sha256').update(secret).digest('hex')}`
        const thief = await hand(world, { user: 'eve', type: 'Login' })
        const steal = async () => expect((await make(thief, { key })).code).toBe(403)
        if (when === 'before') await steal()
        const owned = await keys.create({ user: 'ada', type: 'User', key })
        await keys.shown(owned.metadata.name, 'Active')
        await opensSoon(secret)
        await steal()
        const mine = await make(thief)
        const path = `ownedaccesskeys/${mine.json.metadata.name}`
        expect((await thief.ask('PATCH', path, { body: { spec: { key } } })).code).toBe(403)
        const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
        const asked = { method: 'POST', body: JSON.stringify(body) }
        const headers = { 'content-type': 'application/json' }
        const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
        const answer = await world.ask(secret, review, { ...asked, headers })
        expect(answer.body).toContain('"username":"ada"')
      },
    )

    test('with a digest that stands there is applied again, and changed, by any key (12.1)', async () => {
      const key = `sha256:${'1'.repeat(64)}`
      const { name } = (await keys.create({ user: 'ada', type: 'User', key })).metadata
      await keys.shown(name, 'Active')
      const kind = { apiVersion: API_VERSION, kind: 'OwnedAccessKey' }
      for (const by of ['person', 'plain'] as const) {
        const body = { ...kind, spec: { key, displayName: by } }
        const path = `ownedaccesskeys/${name}?fieldManager=git-${by}&force=true`
        const { code, json } = await hands[by].ask('PATCH', path, { type: APPLY_PATCH, body })
        expect({ code, message: json.message }).toMatchObject({ code: 200 })
      }
    })

    test('with a status, it has none of it', async () => {
      const body = { spec: {}, status: { lastActivity: '2030-01-01T00:00:00Z', unknown: 1 } }
      const { code, json } = await hands.person.ask('POST', 'ownedaccesskeys', { body })
      expect(code).toBe(201)
      const stored = await keys.shown(json, 'Active')
      expect(stored.status.lastActivity).toBeUndefined()
    })

    test('with a mistyped field, it is not made (12.1)', async () => {
      const name = uniqueName('mistyped')
      const body = { metadata: { name }, spec: { scpoe: SHOP } }
      for (const query of ['', '?fieldValidation=Ignore', '?fieldValidation=Warn']) {
        const { code, json } = await hands.person.ask('POST', `ownedaccesskeys${query}`, { body })
        expect({ code, message: json.message }).toEqual({
          code: 400,
          message: expect.stringContaining('unknown field "spec.scpoe"') as string,
        })
      }
      expect(await keys.read(name)).toBeNull()
    })

    test('of the name of another, it is not made', async () => {
      const name = uniqueName('taken')
      await keys.create({ user: 'bob' }, { name })
      expect((await make('person', {}, { name })).code).toBe(409)
      const before = await keys.read(name)
      const body = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', spec: { ttl: 5 } }
      const path = `ownedaccesskeys/${name}?fieldManager=hand&force=true`
      expect((await hands.person.ask('PATCH', path, { type: APPLY_PATCH, body })).code).toBe(409)
      expect((await keys.read(name))?.spec).toEqual(before?.spec)
    })

    test('tried only, it is not there and shows no key', async () => {
      const { code, json } = await hands.person.ask('POST', 'ownedaccesskeys?dryRun=All', {
        body: {},
      })
      expect({ code, key: json.spec.key }).toEqual({ code: 201, key: undefined })
      expect(await keys.read(json.metadata.name)).toBeNull()
    })

    test.each([
      { name: 'duplicate names', body: '{"spec":{"user":"ada","user":"bob"}}' },
      { name: 'duplicate names, one escaped', body: '{"spec":{"user":"ada","\\u0075ser":"bob"}}' },
      {
        name: 'duplicate names in YAML',
        body: 'spec:\n  user: ada\n  user: bob\n',
        type: 'application/yaml',
      },
      { name: 'an alias', body: 'spec: &x\n  user: ada\nmetadata: *x\n', type: 'application/yaml' },
      { name: 'many levels', body: `{"spec":${'['.repeat(500)}${']'.repeat(500)}}` },
      { name: 'no JSON', body: '{"spec":' },
      { name: 'a list', body: '[]' },
      { name: 'nothing', body: '' },
      { name: 'no UTF-8', body: '"\ud800"' },
      { name: 'protobuf', body: 'k8s', type: 'application/vnd.kubernetes.protobuf', code: 415 },
      { name: 'CBOR', body: 'x', type: 'application/cbor', code: 415 },
      { name: 'more than 3 MiB', body: `{"a":"${'x'.repeat(3 * 1024 * 1024)}"}`, code: 413 },
      { name: 'long YAML', body: `a: ${'x'.repeat(100_000)}`, type: 'application/yaml', code: 413 },
    ])(
      'from $name, it is refused (E8)',
      async ({ body, type = 'application/json', code = 400 }) => {
        const answer = await hands.person.ask('POST', 'ownedaccesskeys', { body, type })
        expect(answer.code).toBe(code)
        expect(answer.json.kind).toBe('Status')
      },
    )

    test('from what reaches for prototypes, it has nothing of it (E7)', async () => {
      const body =
        '{"__proto__":{"spec":{"user":"bob"}},"constructor":{"prototype":{"x":1}},"spec":{"__proto__":{"user":"bob"}}}'
      const { code, json } = await hands.person.ask('POST', 'ownedaccesskeys', { body })
      expect({ code, message: json.message }).toMatchObject({ code: 400 })
      const next = await make('person')
      expect(next.json.spec.user).toBe('ada')
    })

    test.each(['application/vnd.kubernetes.protobuf', 'application/cbor', 'text/html'])(
      'for who accepts only %s, it is not made',
      async (accept) => {
        const name = uniqueName('unread')
        const body = { metadata: { name } }
        const { code } = await hands.person.ask('POST', 'ownedaccesskeys', { body, accept })
        expect(code).toBe(406)
        expect(await keys.read(name)).toBeNull()
      },
    )
  })

  describe('with another key than one’s own in person (12.3, B8)', () => {
    test('a key goes with the calling one', async () => {
      const parent = await hand(world, { user: 'ada', type: 'User' })
      const child = await make(parent, { type: 'User' })
      expect(child.code).toBe(201)
      const { uid, name } = parent.object.metadata
      const owner = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', name, uid, controller: true }
      expect(child.json.metadata.ownerReferences).toEqual([owner])
      const grandchild = await make(await held(child))
      await opensSoon(grandchild.json.spec.key)
      const orphaning = { propagationPolicy: 'Orphan' }
      for (const path of [`ownedaccesskeys/${name}`, 'ownedaccesskeys']) {
        const refused = await parent.ask('DELETE', path, { body: orphaning })
        expect({ code: refused.code, message: refused.json.message }).toMatchObject({ code: 403 })
      }
      expect(
        (await parent.ask('DELETE', `ownedaccesskeys/${name}?orphanDependents=true`)).code,
      ).toBe(403)
      expect((await hands.person.ask('DELETE', `ownedaccesskeys/${name}`)).code).toBe(200)
      for (const { json } of [child, grandchild]) {
        const isOut = async () => (await opens(json.spec.key)) === 401 || undefined
        await eventually('the key made with it is out too', isOut, SOON)
        await keys.gone(json)
      }
    })

    test('a key inherits the scope of the calling one, which it can not widen', async () => {
      const made = await make('scoped')
      expect(made.json.spec).toMatchObject({ user: 'ada', type: 'User', scope: KEEPER })
      const within = await make('scoped', { scope: SHOP })
      expect(within.json.spec.scope).toEqual(SHOP)
      for (const spec of [
        { scope: BANK },
        { scope: { ...KEEPER, clusters: [{ cluster: '*' }] } },
      ]) {
        const refused = await make('scoped', spec)
        expect({ code: refused.code, message: refused.json.message }).toEqual({
          code: 403,
          message: expect.stringMatching(/^spec\.scope\./) as string,
        })
      }
      const wider = await hands.scoped.ask(
        'PATCH',
        `ownedaccesskeys/${within.json.metadata.name}`,
        {
          body: { spec: { scope: KEEPER } },
        },
      )
      expect(wider.code).toBe(403)
    })

    test('a key ends with the calling one, or sooner', async () => {
      const endMs = Date.parse(hands.ending.object.status.expirationTimestamp ?? '')
      const made = await keys.shown((await make('ending')).json, 'Active')
      const lateMs = Date.parse(made.status.expirationTimestamp ?? '')
      expect(lateMs).toBeLessThanOrEqual(endMs)
      expect(lateMs).toBeGreaterThan(endMs - 5000)
      expect((await make('ending', { ttl: 60 })).json.spec.ttl).toBe(60)
      const late = await make('ending', { ttl: 7200 })
      expect({ code: late.code, message: late.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^spec\.ttl: the calling access key ends /) as string,
      })
    })

    test.each([
      { by: 'person', spec: { user: 'bob' }, code: 403 },
      { by: 'person', spec: { team: 'ops' }, code: 403 },
      { by: 'person', spec: { type: 'Workspace' }, code: 403 },
      { by: 'person', spec: { groups: ['dev'] }, code: 201 },
      { by: 'person', spec: { groups: ['ops'] }, code: 403 },
      { by: 'plain', spec: { user: 'bob' }, code: 403 },
      { by: 'plain', spec: { groups: ['dev'] }, code: 403 },
      { by: 'plain', spec: { type: 'Login' }, code: 403 },
      { by: 'plain', spec: { key: `sha256:${'2'.repeat(64)}` }, code: 403 },
      { by: 'rootPlain', spec: { type: 'Login' }, code: 403 },
      { by: 'rootPlain', spec: { user: 'bob', type: 'Login' }, code: 403 },
      { by: 'rootPlain', spec: { type: 'Workspace' }, code: 403 },
      { by: 'rootPlain', spec: { subject: 'root-user' }, code: 403 },
      { by: 'rootPlain', spec: { key: `sha256:${'3'.repeat(64)}` }, code: 403 },
      { by: 'rootPlain', spec: { user: 'bob' }, code: 201 },
      { by: 'rootTeam', spec: { team: 'admins' }, code: 403 },
      { by: 'rootTeam', spec: { team: 'ops' }, code: 201 },
      { by: 'root', spec: { type: 'Login' }, code: 201 },
      { by: 'root', spec: { user: 'bob' }, code: 201 },
      { by: 'root', spec: { team: 'ops', groups: ['dev'] }, code: 201 },
      { by: 'root', spec: { subject: 'robot' }, code: 201 },
      { by: 'root', spec: { type: 'Workspace' }, code: 201 },
      { by: 'rootScoped', spec: { user: 'bob', scope: SHOP }, code: 403 },
      { by: 'rootScoped', spec: { team: 'ops', scope: SHOP }, code: 403 },
      { by: 'rootScoped', spec: { type: 'Workspace', scope: SHOP }, code: 403 },
      { by: 'rootScoped', spec: { type: 'User', scope: SHOP }, code: 201 },
    ] as const)('$by makes a key of $spec: $code (12.1, C9)', async ({ by, spec, code }) => {
      const made = await make(by, spec)
      expect({ code: made.code, message: made.json.message }).toMatchObject({ code })
      if (code !== 201) return
      // Whoever makes a key gets it: nobody can be shown it later.
      const { user = '', team, subject } = spec as OwnedAccessKeySpec
      const isOfCaller = [user, team, subject].every((name) => !name)
      expect(made.json.spec).toMatchObject(isOfCaller ? { user: hands[by].object.spec.user } : spec)
      expect(made.json.spec.key).toMatch(/^pak_/)
      await keys.shown(made.json, 'Active')
    })

    test.each([
      { by: 'rootPlain', spec: { user: 'root-user' } },
      { by: 'rootPlain', spec: { user: null, subject: 'root-user' } },
      { by: 'rootTeam', spec: { user: null, team: 'admins' } },
    ] as const)('$by makes a key for somebody else, and not its own: $spec (12.3)', async (row) => {
      const { by, spec } = row
      const { name } = (await make(by, { user: 'bob' })).json.metadata
      const path = `ownedaccesskeys/${name}`
      const patched = await hands[by].ask('PATCH', path, { body: { spec } })
      expect({ code: patched.code, message: patched.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^spec\.(user|team|subject): /) as string,
      })
      expect((await keys.read(name))?.spec.user).toBe('bob')
      const longer = await hands[by].ask('PATCH', path, { body: { spec: { displayName: 'x' } } })
      expect(longer.code).toBe(200)
    })

    test('no mark of the platform’s can be put on a key or taken off (12.1, 12.2)', async () => {
      const made = await make('plain', { type: 'User' })
      const path = `ownedaccesskeys/${made.json.metadata.name}`
      for (const labels of [null, { [MADE_WITH_LABEL]: null }, { [MADE_WITH_LABEL]: 'x' }])
        for (const by of ['person', 'plain'] as const) {
          const refused = await hands[by].ask('PATCH', path, { body: { metadata: { labels } } })
          expect({ code: refused.code, message: refused.json.message }).toEqual({
            code: 403,
            message: expect.stringMatching(/^metadata\.labels\[/) as string,
          })
        }
      const labelled = { metadata: { labels: { a: 'b' } } }
      expect((await hands.plain.ask('PATCH', path, { body: labelled })).code).toBe(200)
      const uid = { [MADE_WITH_LABEL]: hands.person.object.metadata.uid }
      expect((await make('plain', {}, { labels: uid })).code).toBe(403)
    })
  })
}
