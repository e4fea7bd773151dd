// Keys that are created through a gateway (contract 12.2, 12.3).
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
import {
  APPLY_PATCH,
  createCaller,
  KEEPER,
  SHOP,
  type SelfServiceSetup,
} from './self-service-gateway.ts'

const BANK = { projects: [{ project: 'bank' }] }

/** Declares the tests of created keys. */
export function testKeyCreation(setup: SelfServiceSetup): void {
  const { callers, keys, createKey, codeFor, callerFrom } = setup
  /** Not at once: a gateway learns of a key by its watch. */
  const untilAccepted = (key: string | undefined): Promise<void> =>
    eventuallyPasses(
      'the gateway accepts the key',
      async () => expect(await codeFor(key)).toBe(200),
      SOON,
    )

  describe('a created key (12.2)', () => {
    test('from an empty body has name, secret, labels and user of the caller, in one write', async () => {
      const audit = auditOf(setup.plane)
      const mark = await audit.mark()
      const { code, json } = await callers.login.ask('POST', 'ownedaccesskeys', { body: {} })
      expect(code).toBe(201)
      const { metadata, spec } = json
      expect(metadata.name).toMatch(/^key-[a-z0-9]+$/)
      expect(spec).toEqual({ user: 'ada', key: expect.stringMatching(/^pak_/) as string })
      expect(metadata.finalizers).toEqual([REVOKE_FINALIZER])
      const { [CREATED_ANNOTATION]: created, ...others } = metadata.annotations ?? {}
      expect(others).toEqual({})
      // The gateway sets the annotation a moment before the API server sets creationTimestamp.
      const laterMs = Date.parse(metadata.creationTimestamp ?? '') - Date.parse(created ?? '')
      expect(laterMs).toBeGreaterThanOrEqual(0)
      expect(laterMs).toBeLessThan(SOON.withinMs)
      expect(metadata.ownerReferences).toBeUndefined()
      expect(metadata.labels).toEqual({ [MADE_WITH_LABEL]: callers.login.object.metadata.uid })
      await keys.shown(json, 'Active')
      await untilAccepted(spec.key)
      const writes = await audit.writesSince(mark, { user: OPERATOR_USER, notLeases: true })
      const ofThis = writes.filter(
        ({ name, resource }) => name === metadata.name && resource === ACCESS_KEYS.plural,
      )
      // One write of the operator: its status waits until the gateway has claimed its fields.
      expect(ofThis.map((write) => [write.subresource, write.code])).toEqual([['status', 200]])
    })

    test('with a given secret keeps and shows it', async () => {
      const key = `given-${'x'.repeat(40)}`
      expect((await createKey('login', { key })).json.spec.key).toBe(key)
    })

    test('with a digest by a login key needs a right by RBAC, and is no self-service key (12.1)', async () => {
      const key = `sha256:${'0'.repeat(64)}`
      expect((await createKey('login', { key })).code).toBe(403)
      const { code, json } = await createKey('admin', { key })
      expect({ code, message: json.message }).toMatchObject({ code: 201 })
      expect(json.spec).toEqual({ user: 'root-user', key })
      expect(json.metadata.labels).toBeUndefined()
    })

    test.each(['before', 'after'])(
      'with the digest of another user’s secret is refused, %s that user’s key exists (3.3, X6)',
      async (when) => {
        const secret = `owned-${uniqueName('x')}${'y'.repeat(32)}`
        const key = `sha256:${createHash('sha256').update(secret).digest('hex')}`
        const attacker = await createCaller(setup, { user: 'eve', type: 'Login' })
        const expectRefused = async () =>
          expect((await createKey(attacker, { key })).code).toBe(403)
        if (when === 'before') await expectRefused()
        const owned = await keys.create({ user: 'ada', type: 'User', key })
        await keys.shown(owned.metadata.name, 'Active')
        await untilAccepted(secret)
        await expectRefused()
        const own = await createKey(attacker)
        const path = `ownedaccesskeys/${own.json.metadata.name}`
        expect((await attacker.ask('PATCH', path, { body: { spec: { key } } })).code).toBe(403)
        const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
        const asked = { method: 'POST', body: JSON.stringify(body) }
        const headers = { 'content-type': 'application/json' }
        const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
        const answer = await setup.ask(secret, review, { ...asked, headers })
        expect(answer.body).toContain('"username":"ada"')
      },
    )

    test('with a digest can be applied with the same digest by any key of its user (12.1)', async () => {
      const key = `sha256:${'1'.repeat(64)}`
      const { name } = (await keys.create({ user: 'ada', type: 'User', key })).metadata
      await keys.shown(name, 'Active')
      const kind = { apiVersion: API_VERSION, kind: 'OwnedAccessKey' }
      for (const by of ['login', 'userKey'] as const) {
        const body = { ...kind, spec: { key, displayName: by } }
        const path = `ownedaccesskeys/${name}?fieldManager=git-${by}&force=true`
        const { code, json } = await callers[by].ask('PATCH', path, { type: APPLY_PATCH, body })
        expect({ code, message: json.message }).toMatchObject({ code: 200 })
      }
    })

    test('ignores a status in the body', async () => {
      const body = { spec: {}, status: { lastActivity: '2030-01-01T00:00:00Z', unknown: 1 } }
      const { code, json } = await callers.login.ask('POST', 'ownedaccesskeys', { body })
      expect(code).toBe(201)
      const stored = await keys.shown(json, 'Active')
      expect(stored.status.lastActivity).toBeUndefined()
    })

    test('with an unknown field is refused, whatever fieldValidation says (12.1)', async () => {
      const name = uniqueName('mistyped')
      const body = { metadata: { name }, spec: { scpoe: SHOP } }
      for (const query of ['', '?fieldValidation=Ignore', '?fieldValidation=Warn']) {
        const { code, json } = await callers.login.ask('POST', `ownedaccesskeys${query}`, { body })
        expect({ code, message: json.message }).toEqual({
          code: 400,
          message: expect.stringContaining('unknown field "spec.scpoe"') as string,
        })
      }
      expect(await keys.read(name)).toBeNull()
    })

    test('with the name of an existing key is a 409, also by apply', async () => {
      const name = uniqueName('taken')
      await keys.create({ user: 'bob' }, { name })
      expect((await createKey('login', {}, { name })).code).toBe(409)
      const before = await keys.read(name)
      const body = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', spec: { ttl: 5 } }
      const path = `ownedaccesskeys/${name}?fieldManager=caller&force=true`
      expect((await callers.login.ask('PATCH', path, { type: APPLY_PATCH, body })).code).toBe(409)
      expect((await keys.read(name))?.spec).toEqual(before?.spec)
    })

    test('by a dry run is not stored and shows no secret', async () => {
      const { code, json } = await callers.login.ask('POST', 'ownedaccesskeys?dryRun=All', {
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
      {
        name: 'a YAML alias',
        body: 'spec: &x\n  user: ada\nmetadata: *x\n',
        type: 'application/yaml',
      },
      { name: 'deeply nested JSON', body: `{"spec":${'['.repeat(500)}${']'.repeat(500)}}` },
      { name: 'broken JSON', body: '{"spec":' },
      { name: 'a list', body: '[]' },
      { name: 'an empty body', body: '' },
      { name: 'invalid UTF-8', body: '"\ud800"' },
      { name: 'protobuf', body: 'k8s', type: 'application/vnd.kubernetes.protobuf', code: 415 },
      { name: 'CBOR', body: 'x', type: 'application/cbor', code: 415 },
      { name: 'more than 3 MiB', body: `{"a":"${'x'.repeat(3 * 1024 * 1024)}"}`, code: 413 },
      { name: 'long YAML', body: `a: ${'x'.repeat(100_000)}`, type: 'application/yaml', code: 413 },
    ])('from $name is refused (E8)', async ({ body, type = 'application/json', code = 400 }) => {
      const answer = await callers.login.ask('POST', 'ownedaccesskeys', { body, type })
      expect(answer.code).toBe(code)
      expect(answer.json.kind).toBe('Status')
    })

    test('from a body with __proto__ and constructor is refused, and changes no prototype (E7)', async () => {
      const body =
        '{"__proto__":{"spec":{"user":"bob"}},"constructor":{"prototype":{"x":1}},"spec":{"__proto__":{"user":"bob"}}}'
      const { code, json } = await callers.login.ask('POST', 'ownedaccesskeys', { body })
      expect({ code, message: json.message }).toMatchObject({ code: 400 })
      const next = await createKey('login')
      expect(next.json.spec.user).toBe('ada')
    })

    test.each(['application/vnd.kubernetes.protobuf', 'application/cbor', 'text/html'])(
      'is refused with 406 for a client that accepts only %s',
      async (accept) => {
        const name = uniqueName('unread')
        const body = { metadata: { name } }
        const { code } = await callers.login.ask('POST', 'ownedaccesskeys', { body, accept })
        expect(code).toBe(406)
        expect(await keys.read(name)).toBeNull()
      },
    )
  })

  describe('a key that is created with a key that is no login key (12.3, B8)', () => {
    test('is owned by the calling key and deleted with it', async () => {
      const parent = await createCaller(setup, { user: 'ada', type: 'User' })
      const child = await createKey(parent, { type: 'User' })
      expect(child.code).toBe(201)
      const { uid, name } = parent.object.metadata
      const owner = { apiVersion: API_VERSION, kind: 'OwnedAccessKey', name, uid, controller: true }
      expect(child.json.metadata.ownerReferences).toEqual([owner])
      const grandchild = await createKey(await callerFrom(child))
      await untilAccepted(grandchild.json.spec.key)
      const orphaning = { propagationPolicy: 'Orphan' }
      for (const path of [`ownedaccesskeys/${name}`, 'ownedaccesskeys']) {
        const refused = await parent.ask('DELETE', path, { body: orphaning })
        expect({ code: refused.code, message: refused.json.message }).toMatchObject({ code: 403 })
      }
      expect(
        (await parent.ask('DELETE', `ownedaccesskeys/${name}?orphanDependents=true`)).code,
      ).toBe(403)
      expect((await callers.login.ask('DELETE', `ownedaccesskeys/${name}`)).code).toBe(200)
      for (const { json } of [child, grandchild]) {
        const isRefused = async () => (await codeFor(json.spec.key)) === 401 || undefined
        await eventually('the key created with it is refused too', isRefused, SOON)
        await keys.gone(json)
      }
    })

    test('inherits the scope of the calling key, and cannot widen it', async () => {
      const made = await createKey('scoped')
      expect(made.json.spec).toMatchObject({ user: 'ada', type: 'User', scope: KEEPER })
      const within = await createKey('scoped', { scope: SHOP })
      expect(within.json.spec.scope).toEqual(SHOP)
      for (const spec of [
        { scope: BANK },
        { scope: { ...KEEPER, clusters: [{ cluster: '*' }] } },
      ]) {
        const refused = await createKey('scoped', spec)
        expect({ code: refused.code, message: refused.json.message }).toEqual({
          code: 403,
          message: expect.stringMatching(/^spec\.scope\./) as string,
        })
      }
      const wider = await callers.scoped.ask(
        'PATCH',
        `ownedaccesskeys/${within.json.metadata.name}`,
        {
          body: { spec: { scope: KEEPER } },
        },
      )
      expect(wider.code).toBe(403)
    })

    test('ends with the calling key, or earlier', async () => {
      const endMs = Date.parse(callers.expiring.object.status.expirationTimestamp ?? '')
      const made = await keys.shown((await createKey('expiring')).json, 'Active')
      const lateMs = Date.parse(made.status.expirationTimestamp ?? '')
      expect(lateMs).toBeLessThanOrEqual(endMs)
      expect(lateMs).toBeGreaterThan(endMs - 5000)
      expect((await createKey('expiring', { ttl: 60 })).json.spec.ttl).toBe(60)
      const late = await createKey('expiring', { ttl: 7200 })
      expect({ code: late.code, message: late.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^spec\.ttl: the calling access key ends /) as string,
      })
    })

    test.each([
      { by: 'login', spec: { user: 'bob' }, code: 403 },
      { by: 'login', spec: { team: 'ops' }, code: 403 },
      { by: 'login', spec: { type: 'Workspace' }, code: 403 },
      { by: 'login', spec: { groups: ['dev'] }, code: 201 },
      { by: 'login', spec: { groups: ['ops'] }, code: 403 },
      { by: 'userKey', spec: { user: 'bob' }, code: 403 },
      { by: 'userKey', spec: { groups: ['dev'] }, code: 403 },
      { by: 'userKey', spec: { type: 'Login' }, code: 403 },
      { by: 'userKey', spec: { key: `sha256:${'2'.repeat(64)}` }, code: 403 },
      { by: 'adminUserKey', spec: { type: 'Login' }, code: 403 },
      { by: 'adminUserKey', spec: { user: 'bob', type: 'Login' }, code: 403 },
      { by: 'adminUserKey', spec: { type: 'Workspace' }, code: 403 },
      { by: 'adminUserKey', spec: { subject: 'root-user' }, code: 403 },
      { by: 'adminUserKey', spec: { key: `sha256:${'3'.repeat(64)}` }, code: 403 },
      { by: 'adminUserKey', spec: { user: 'bob' }, code: 201 },
      { by: 'adminTeamKey', spec: { team: 'admins' }, code: 403 },
      { by: 'adminTeamKey', spec: { team: 'ops' }, code: 201 },
      { by: 'admin', spec: { type: 'Login' }, code: 201 },
      { by: 'admin', spec: { user: 'bob' }, code: 201 },
      { by: 'admin', spec: { team: 'ops', groups: ['dev'] }, code: 201 },
      { by: 'admin', spec: { subject: 'robot' }, code: 201 },
      { by: 'admin', spec: { type: 'Workspace' }, code: 201 },
      { by: 'adminScopedKey', spec: { user: 'bob', scope: SHOP }, code: 403 },
      { by: 'adminScopedKey', spec: { team: 'ops', scope: SHOP }, code: 403 },
      { by: 'adminScopedKey', spec: { type: 'Workspace', scope: SHOP }, code: 403 },
      { by: 'adminScopedKey', spec: { type: 'User', scope: SHOP }, code: 201 },
    ] as const)('by $by with $spec answers $code (12.1, C9)', async ({ by, spec, code }) => {
      const made = await createKey(by, spec)
      expect({ code: made.code, message: made.json.message }).toMatchObject({ code })
      if (code !== 201) return
      // Only the answer to the create shows the secret.
      const { user = '', team, subject } = spec as OwnedAccessKeySpec
      const isOfCaller = [user, team, subject].every((name) => !name)
      expect(made.json.spec).toMatchObject(
        isOfCaller ? { user: callers[by].object.spec.user } : spec,
      )
      expect(made.json.spec.key).toMatch(/^pak_/)
      await keys.shown(made.json, 'Active')
    })

    test.each([
      { by: 'adminUserKey', spec: { user: 'root-user' } },
      { by: 'adminUserKey', spec: { user: null, subject: 'root-user' } },
      { by: 'adminTeamKey', spec: { user: null, team: 'admins' } },
    ] as const)('by $by for another user cannot become its own by $spec (12.3)', async (row) => {
      const { by, spec } = row
      const { name } = (await createKey(by, { user: 'bob' })).json.metadata
      const path = `ownedaccesskeys/${name}`
      const patched = await callers[by].ask('PATCH', path, { body: { spec } })
      expect({ code: patched.code, message: patched.json.message }).toEqual({
        code: 403,
        message: expect.stringMatching(/^spec\.(user|team|subject): /) as string,
      })
      expect((await keys.read(name))?.spec.user).toBe('bob')
      const renamed = await callers[by].ask('PATCH', path, { body: { spec: { displayName: 'x' } } })
      expect(renamed.code).toBe(200)
    })

    test('keeps the labels of the platform: a caller can neither set nor remove them (12.1, 12.2)', async () => {
      const made = await createKey('userKey', { type: 'User' })
      const path = `ownedaccesskeys/${made.json.metadata.name}`
      for (const labels of [null, { [MADE_WITH_LABEL]: null }, { [MADE_WITH_LABEL]: 'x' }])
        for (const by of ['login', 'userKey'] as const) {
          const refused = await callers[by].ask('PATCH', path, { body: { metadata: { labels } } })
          expect({ code: refused.code, message: refused.json.message }).toEqual({
            code: 403,
            message: expect.stringMatching(/^metadata\.labels\[/) as string,
          })
        }
      const labelled = { metadata: { labels: { a: 'b' } } }
      expect((await callers.userKey.ask('PATCH', path, { body: labelled })).code).toBe(200)
      const uid = { [MADE_WITH_LABEL]: callers.login.object.metadata.uid }
      expect((await createKey('userKey', {}, { labels: uid })).code).toBe(403)
    })
  })
}
