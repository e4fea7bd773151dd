// spec.key: generated or given, kept when tools apply manifests without it, and shown nowhere else.
import { describe, expect, test } from 'vitest'
import { CREATED_ANNOTATION, REVOKE_FINALIZER } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { KEY_PATTERN, hasValidChecksum } from '../../support/canary.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { newKey, uniqueName } from '../../support/object-builder.ts'
import { type StoredKey, fieldsOfOperator, keyClientOf } from './key-client.ts'

const plane = await sharedControlPlane()
const keys = keyClientOf(plane)

const SECRET = 'k'.repeat(32)

describe.concurrent('spec.key', () => {
  test('is generated when absent, different for each object (3.1, 3.2)', async () => {
    const created = await Promise.all(['', '', undefined].map((key) => keys.create(specWith(key))))
    const all = await Promise.all(created.map((key) => keys.shown(key, 'Active')))
    const secrets = all.map(({ spec }) => spec.key ?? '')
    for (const secret of secrets) {
      expect(secret).toMatch(KEY_PATTERN)
      expect(hasValidChecksum(secret)).toBe(true)
    }
    expect(new Set(secrets).size).toBe(secrets.length)
    expect(all.map(({ status }) => status.keyID)).toEqual(
      secrets.map((secret) => secretDigest(secret).slice(0, 16)),
    )
  })

  test('is owned by our field manager when generated, with finalizer and annotation (2.8, 3.1)', async () => {
    const key = await keys.shown(await keys.create(), 'Active')
    expect(fieldsOfOperator(key)).toEqual({
      'f:metadata': {
        'f:annotations': { [`f:${CREATED_ANNOTATION}`]: {} },
        'f:finalizers': { [`v:"${REVOKE_FINALIZER}"`]: {} },
      },
      'f:spec': { 'f:key': {} },
    })
    expect(key.metadata.annotations).toEqual({
      [CREATED_ANNOTATION]: key.metadata.creationTimestamp,
    })
  })

  // biome-ignore format: a table
  test.each([
    { name: 'in clear', key: uniqueName(SECRET) },
    { name: 'of the shortest length', key: uniqueName('k').padEnd(32, '_').slice(0, 32) },
    { name: 'as a digest', key: `sha256:${secretDigest(uniqueName(SECRET))}` },
  ])('is kept when given $name, owned by the field manager of the user (3.1, 3.6)', async ({ key: given }) => {
    const key = await keys.shown(await keys.create({ key: given }), 'Active')
    expect(key.spec.key).toBe(given)
    expect(key.status.keyID).toBe(secretDigest(given).slice(0, 16))
    expect(fieldsOfOperator(key)).not.toHaveProperty('f:spec')
  })

  test('is in no other field, table or event (1.6, 3.5)', async () => {
    const key = await keys.shown(await keys.create({ type: 'User', ttl: 3600 }), 'Active')
    const secret = key.spec.key ?? ''
    const { spec: _, ...beside } = key
    const table = await plane.kubectl(['get', 'oak', key.metadata.name, '-o', 'wide'])
    const sinks = [JSON.stringify(beside), table.stdout, JSON.stringify(await keys.events(key))]
    expect(table.stdout).toContain(key.status.keyID)
    for (const text of sinks) expect(text).not.toContain(secret.slice(4, 16))
  })

  test('is another one when the object is created again under its name (3.1)', async () => {
    const first = await keys.shown(await keys.create(), 'Active')
    await keys.remove(first)
    await keys.gone(first)
    const { name } = first.metadata
    const second = await keys.shown(await keys.create({}, { name }), 'Active')
    expect(second.spec.key).toMatch(KEY_PATTERN)
    expect(second.spec.key).not.toBe(first.spec.key)
  })
})

describe.concurrent.each([
  { tool: 'kubectl apply', args: ['apply'] },
  {
    tool: 'kubectl apply --server-side',
    args: ['apply', '--server-side', '--field-manager=gitops'],
  },
])('$tool of a manifest without spec.key', ({ args }) => {
  test('changes nothing when repeated (3.1)', async () => {
    const name = uniqueName('gitops')
    await apply(name, { ttl: 3600 })
    const first = await keys.shown(name, 'Active')
    for (let round = 1; round <= 3; round += 1) await apply(name, { ttl: 3600 })
    expect(await keys.read(name)).toEqual(first)
  })

  test('changes only the fields of the manifest (3.1)', async () => {
    const name = uniqueName('gitops')
    const labels = { team: 'a' }
    await apply(name, { ttl: 3600, displayName: 'first' }, { labels, finalizers: [HELD, HELD_TOO] })
    const first = await keys.shown(name, 'Active')
    await apply(name, { ttl: 7200 }, { finalizers: [HELD] })
    const second = await keys.shown(name, 'Active')
    expect(second.spec).toEqual({ ...first.spec, ttl: 7200, displayName: undefined })
    expect(second.metadata.labels).toBeUndefined()
    expect(second.metadata.finalizers?.toSorted()).toEqual([HELD, REVOKE_FINALIZER].toSorted())
    expect(createdOf(second)).toBe(createdOf(first))
    await keys.patch(second, { metadata: { finalizers: [] } })
  })

  const HELD = 'example.com/backup'
  const HELD_TOO = 'example.com/inventory'

  async function apply(name: string, spec: OwnedAccessKeySpec, metadata: object = {}) {
    const manifest = newKey(spec, { name, ...metadata })
    const input = JSON.stringify(manifest)
    const { code, stdout, stderr } = await plane.kubectl([...args, '-f', '-'], { input })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }
})

const specWith = (key: string | undefined): OwnedAccessKeySpec => (key === undefined ? {} : { key })

const createdOf = ({ metadata }: StoredKey) => metadata.annotations?.[CREATED_ANNOTATION]
