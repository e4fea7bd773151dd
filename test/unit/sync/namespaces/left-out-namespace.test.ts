import { describe, expect, test } from 'vitest'
import { CONFIG_MAPS, NAMESPACES, SERVICES } from '../../../../src/api/names.ts'
import { nestedField } from '../../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { setupWorld } from '../setup-world.ts'

/** Virtual namespaces `dev-*` lead to `sandbox-*`: dev-open has its own, and sandbox-acme is another tenant's. */
function leftOutWorld() {
  const world = setupWorld({
    namespaces: { enabled: true, mappings: { byName: { 'dev-*': 'sandbox-*' } } },
    configMaps: {
      all: true,
      patches: [
        {
          path: 'data',
          reference: { kind: 'Service', namePath: 'name', namespacePath: 'namespace' },
        },
      ],
    },
  })
  const { virtual, host, markedNamespace } = world
  for (const name of ['dev-open', 'dev-acme']) virtual.put(NAMESPACES, { metadata: { name } })
  host.put(NAMESPACES, markedNamespace('sandbox-open', 'dev-open'))
  host.put(NAMESPACES, { metadata: { name: 'sandbox-acme' } })
  for (const namespace of ['dev-open', 'dev-acme'])
    virtual.put(SERVICES, {
      metadata: { namespace, name: 'db' },
      spec: { ports: [{ port: 80 }] },
    })
  return world
}

const front = (externalName: string): JsonMap => ({
  metadata: { namespace: 'dev-open', name: 'front' },
  spec: { type: 'ExternalName', externalName },
})

describe('an external name', () => {
  test.each([
    { name: 'of a Service without a host namespace', given: 'db.dev-acme.svc' },
    { name: 'in a host namespace of another tenant', given: 'db.sandbox-acme.svc' },
  ])('$name is refused (18.6)', async ({ given }) => {
    const { virtual, host, settle, takeEvents } = leftOutWorld()
    virtual.put(SERVICES, front(given))
    await settle()
    expect(host.get(SERVICES, 'sandbox-open/front')).toBeNull()
    expect(takeEvents()).toEqual([expect.stringMatching(/^AddressRefused: /)])
  })

  test.each(['db.dev-open.svc', 'db.sandbox-open.svc.cluster.local'])(
    '%s of a synced Service is written (18.6)',
    async (given) => {
      const { virtual, host, settle } = leftOutWorld()
      virtual.put(SERVICES, front(given))
      await settle()
      const written = host.get(SERVICES, 'sandbox-open/front')
      expect(nestedField(written ?? {}, ['spec', 'externalName'])).toBe(
        'db.sandbox-open.svc.cluster.local',
      )
    },
  )

  test('is written when the host namespace comes, and examined again when it goes (17.5, 18.6)', async () => {
    const { virtual, host, settle, markedNamespace, takeQueued } = leftOutWorld()
    virtual.put(SERVICES, front('db.dev-acme.svc'))
    await settle()
    host.put(NAMESPACES, markedNamespace('sandbox-acme', 'dev-acme'))
    await settle()
    expect(host.get(SERVICES, 'sandbox-open/front')?.['spec']).toMatchObject({
      externalName: 'db.sandbox-acme.svc.cluster.local',
    })
    host.put(NAMESPACES, { metadata: { name: 'sandbox-acme' } })
    expect(takeQueued('services')).toContain('dev-open/front')
  })
})

describe('a reference', () => {
  const naming = (namespace: string): JsonMap => ({
    metadata: { namespace: 'dev-open', name: 'names' },
    data: { name: 'db', namespace },
  })
  test('fails when it leads into a namespace without a host namespace (19.5)', async () => {
    const { virtual, host, settle, takeEvents } = leftOutWorld()
    virtual.put(CONFIG_MAPS, naming('dev-acme'))
    await settle()
    expect(host.get(CONFIG_MAPS, 'sandbox-open/names')).toBeNull()
    expect(takeEvents()).toEqual([
      'PatchFailed: sync.toHost.configMaps.patches[0] at data: the namespace that it names has none on the host: "dev-acme"; nothing is written.',
    ])
  })

  test('is written when the host namespace comes, and examined again when it goes (17.5, 19.5)', async () => {
    const { virtual, host, settle, markedNamespace, takeQueued } = leftOutWorld()
    virtual.put(CONFIG_MAPS, naming('dev-acme'))
    await settle()
    host.put(NAMESPACES, markedNamespace('sandbox-acme', 'dev-acme'))
    await settle()
    expect(host.get(CONFIG_MAPS, 'sandbox-open/names')?.['data']).toEqual({
      name: 'db',
      namespace: 'sandbox-acme',
    })
    host.put(NAMESPACES, { metadata: { name: 'sandbox-acme' } })
    expect(takeQueued('configMaps')).toContain('dev-open/names')
  })

  test('waits when it leads into a namespace whose host namespace is being made (19.5)', async () => {
    const { virtual, host, settle, markedNamespace, takeEvents } = leftOutWorld()
    virtual.put(NAMESPACES, { metadata: { name: 'dev-new' } })
    virtual.put(CONFIG_MAPS, naming('dev-new'))
    expect(await settle()).toEqual([])
    expect([host.get(CONFIG_MAPS, 'sandbox-open/names'), takeEvents()]).toEqual([null, []])
    host.put(NAMESPACES, markedNamespace('sandbox-new', 'dev-new'))
    await settle()
    expect(host.get(CONFIG_MAPS, 'sandbox-open/names')?.['data']).toEqual({
      name: 'db',
      namespace: 'sandbox-new',
    })
    expect(takeEvents()).toEqual([])
  })
})
