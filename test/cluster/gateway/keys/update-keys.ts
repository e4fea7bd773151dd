// Keys that are changed through a gateway, by each kind of patch and concurrently (contract 12.1, 12.2, 12.5).
import { describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  API_VERSION,
  HEARTBEAT_NAME,
  REVOKE_FINALIZER,
} from '../../../../src/api/names.ts'
import { type Audit, auditOf, type Mark } from '../../../support/audit-log.ts'
import { eventually } from '../../../support/eventually.ts'
import { GATEWAY_USER } from '../../../support/installed-control-plane.ts'
import { uniqueName } from '../../../support/object-builder.ts'
import { SOON } from '../test-gateway.ts'
import {
  APPLY_PATCH,
  type ParsedAnswer,
  type KeyCaller,
  JSON_PATCH,
  SHOP,
  type SelfServiceSetup,
} from './self-service-gateway.ts'

interface AuditedRequest {
  readonly stage: string
  readonly verb: string
  readonly impersonatedUser?: object
  readonly objectRef?: { readonly resource?: string; readonly name?: string }
}

/** Writes of the gateway as itself but its heartbeat. The audit log has the impersonated user of a request once it is answered. */
async function ownWritesSince(audit: Audit, mark: Mark): Promise<readonly AuditedRequest[]> {
  const lines = await audit.linesSince(mark, GATEWAY_USER)
  return lines
    .map((line) => JSON.parse(line) as AuditedRequest)
    .filter(
      ({ impersonatedUser, objectRef, stage, verb }) =>
        stage === 'ResponseComplete' &&
        impersonatedUser === undefined &&
        // Its watches are shown to live by the events of these writes.
        objectRef?.name !== HEARTBEAT_NAME &&
        !['get', 'list', 'watch'].includes(verb),
    )
}

/** Declares the tests of changed keys. */
export function testKeyUpdates(setup: SelfServiceSetup): void {
  const { callers, keys, createKey, plane } = setup
  describe('server-side apply (12.2, 12.5)', () => {
    const manifest = (name: string, spec: object): object => ({
      apiVersion: API_VERSION,
      kind: 'OwnedAccessKey',
      metadata: { name },
      spec,
    })
    const apply = (by: KeyCaller, name: string, spec: object, query = ''): Promise<ParsedAnswer> =>
      by.ask('PATCH', `ownedaccesskeys/${name}?fieldManager=git${query}`, {
        type: APPLY_PATCH,
        body: manifest(name, spec),
      })

    test('with odd characters stores each of them, each time (6.5)', async () => {
      const name = uniqueName('odd')
      const displayName =
        'a\u0080\u0085\u007f\u2028\u2029\ufffe\ufeff"\'\\ # : - {{x}} \u{1f511}\t\nb'
      // As YAML they can only be sent as escapes.
      const body = JSON.stringify(manifest(name, { displayName })).replaceAll(
        /[\u007f-\uffff]/g,
        (odd) => `\\u${odd.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
      const applied = (): Promise<ParsedAnswer> =>
        callers.login.ask('PATCH', `ownedaccesskeys/${name}?fieldManager=git`, {
          type: APPLY_PATCH,
          body,
        })
      const made = await applied()
      expect({ code: made.code, message: made.json.message }).toMatchObject({ code: 201 })
      expect(made.json.spec.displayName).toBe(displayName)
      const again = await applied()
      expect({ code: again.code, message: again.json.message }).toMatchObject({ code: 200 })
      expect((await keys.read(name))?.spec.displayName).toBe(displayName)
    })

    test.each(['login', 'scoped', 'expiring'] as const)(
      'by %s creates a key, then changes it, and keeps the fields that the gateway added',
      async (by) => {
        const name = uniqueName('applied')
        const made = await apply(callers[by], name, { displayName: 'one' })
        expect(made.code).toBe(201)
        expect(made.json.spec.key).toMatch(/^pak_/)
        const { key, ...rest } = made.json.spec
        for (const displayName of ['one', 'two', 'three']) {
          const again = await apply(callers[by], name, { displayName })
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
      'with the field manager %s is refused (C9)',
      async (manager) => {
        const { name } = (await createKey('login', { ttl: 60 })).json.metadata
        const path = `ownedaccesskeys/${name}?fieldManager=${manager}&force=true`
        const body = manifest(name, { ttl: 60 })
        const refused = await callers.login.ask('PATCH', path, { type: APPLY_PATCH, body })
        expect({ code: refused.code, message: refused.json.message }).toEqual({
          code: 403,
          message: expect.stringMatching(/^fieldManager: /) as string,
        })
      },
    )

    test('by six requests at once creates one key', async () => {
      const name = uniqueName('raced')
      const all = await Promise.all(
        Array.from({ length: 6 }, (_, at) =>
          apply(callers.login, name, { description: `${at}` }, '&force=true'),
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

  describe('a changed key (12.1, 12.5)', () => {
    test('has the changes of all concurrent patches without a resourceVersion', async () => {
      const { name } = (await createKey('login')).json.metadata
      const all = await Promise.all(
        Array.from({ length: 5 }, (_, at) =>
          callers.login.ask('PATCH', `ownedaccesskeys/${name}`, {
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

    test.each(['PUT', 'PATCH'])(
      'is unchanged after a %s with an old resourceVersion',
      async (method) => {
        const { metadata } = await keys.shown((await createKey('login')).json, 'Active')
        const { name } = metadata
        const read = await callers.login.ask('GET', `ownedaccesskeys/${name}`)
        await keys.patch(name, { metadata: { labels: { a: 'b' } } })
        const body = { ...read.json, spec: { ...read.json.spec, displayName: 'late' } }
        const { code, json } = await callers.login.ask(method, `ownedaccesskeys/${name}`, { body })
        expect({ code, reason: json.reason }).toEqual({ code: 409, reason: 'Conflict' })
        expect((await keys.read(name))?.spec.displayName).toBeUndefined()
      },
    )

    test('gets its first annotation by a JSON patch', async () => {
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
      const patched = await callers.admin.ask('PATCH', `ownedaccesskeys/${name}`, {
        type: JSON_PATCH,
        body,
      })
      expect({ code: patched.code, message: patched.json.message }).toMatchObject({ code: 200 })
      expect(patched.json.metadata.annotations).toEqual({ 'example.com/note': 'first' })
      await keys.patch(name, { metadata: { finalizers: [] } }).catch(() => undefined)
    })

    test('keeps the fields that a PUT omits', async () => {
      const made = await createKey('userKey')
      const { name, resourceVersion } = (await keys.shown(made.json, 'Active')).metadata
      const { ownerReferences } = made.json.metadata
      const body = {
        metadata: { name, resourceVersion, ownerReferences },
        spec: { user: 'ada', type: 'User', displayName: 'new' },
      }
      const put = await callers.userKey.ask('PUT', `ownedaccesskeys/${name}`, { body })
      expect({ code: put.code, message: put.json.message }).toMatchObject({ code: 200 })
      const stored = await keys.read(name)
      expect(stored?.spec).toEqual({ ...made.json.spec, displayName: 'new' })
      expect(stored?.metadata.finalizers).toEqual([REVOKE_FINALIZER])
      expect(stored?.metadata.labels).toEqual(made.json.metadata.labels)
    })

    test('is validated strictly with fieldValidation=Ignore', async () => {
      const { name } = (await createKey('login')).json.metadata
      const path = `ownedaccesskeys/${name}?fieldValidation=Ignore`
      const { code } = await callers.login.ask('PATCH', path, { body: { spec: { scpoe: SHOP } } })
      expect(code).toBe(422)
    })

    test.each([
      { name: 'long paths', count: 5, operation: { op: 'add', path: '/a'.repeat(3000), value: 1 } },
      {
        name: 'tests of a large value',
        count: 200,
        operation: { op: 'test', path: '/metadata', value: 1 },
      },
    ])('is unchanged after a JSON patch of many $name (E8)', async ({ count, operation }) => {
      const { name } = (await createKey('login')).json.metadata
      const body = Array.from({ length: count }, () => operation)
      const codes = [name, 'no-such-key'].map(async (one) => {
        const path = `ownedaccesskeys/${one}`
        return (await callers.login.ask('PATCH', path, { type: JSON_PATCH, body })).code
      })
      expect(await Promise.all(codes)).toEqual([422, 404])
    })

    test('is unchanged after a patch of an unsupported type', async () => {
      const { name } = (await createKey('login')).json.metadata
      for (const type of [
        'application/strategic-merge-patch+json',
        'application/json',
        'text/plain',
      ])
        expect(
          (await callers.login.ask('PATCH', `ownedaccesskeys/${name}`, { type, body: {} })).code,
        ).toBe(415)
    })
  })

  test('kubectl apply, client-side and then server-side, keeps the fields that the manifest omits (12.5)', async () => {
    const name = uniqueName('kubectl')
    const manifest = (spec: string): string =>
      `apiVersion: ${API_VERSION}\nkind: OwnedAccessKey\nmetadata:\n  name: ${name}\nspec:\n${spec}`
    const runs = async (args: readonly string[], input = ''): Promise<string> => {
      const { code, stdout, stderr } = await setup.kubectl(callers.scoped, args, { input })
      // The key gets the scope of the calling key, whose rules are deprecated.
      const advised = stderr.replaceAll(/^Warning: .*: spec\.scope\.rules is deprecated.*\n/gm, '')
      expect({ code, advised }).toEqual({ code: 0, advised: '' })
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

  test('the gateway writes nothing as itself but keys, tokens and Configs (12.1, I14)', async () => {
    const audit = auditOf(plane)
    const mark = await audit.mark()
    const made = await createKey('login')
    await callers.login.ask('DELETE', `ownedaccesskeys/${made.json.metadata.name}`)
    await setup.ask(callers.login.token, '/api/v1/namespaces/default/configmaps', {
      method: 'POST',
    })
    const writes = await eventually(
      'a key is made, its use is recorded, and it is deleted',
      async () => {
        const own = await ownWritesSince(audit, mark)
        const verbs = new Set(own.map(({ verb }) => verb))
        return ['create', 'patch', 'delete'].every((verb) => verbs.has(verb)) ? own : undefined
      },
      SOON,
    )
    const others = writes.filter(({ objectRef }) => objectRef?.resource !== ACCESS_KEYS.plural)
    expect(others).toEqual([])
  })
}
