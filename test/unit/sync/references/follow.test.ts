import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { objectKey } from '../../../../src/kube/informer/store.ts'
import { followReferences } from '../../../../src/sync/references/follow.ts'
import { virtualNameOf } from '../../../../src/sync/objects/host-name.ts'
import { checkSyncConfig } from '../../../../src/sync/config/config.ts'
import {
  SYNCED_KINDS,
  type SyncedKind,
  SYNCED_RESOURCES,
} from '../../../../src/sync/objects/synced-kinds.ts'
import type { SyncSources } from '../../../../src/sync/sources.ts'
import { type MemoryCluster, memoryCluster } from '../memory-cluster.ts'
import { SINGLE } from '../translation.ts'

const REFERENCE = { path: 'metadata.annotations.creds', reference: { kind: 'Secret' } }
const ELSEWHERE = {
  path: 'metadata.annotations.config',
  reference: { apiVersion: 'example.org/v1', kind: 'ConfigMap' },
}

const NAMED_ANYWHERE = { kind: 'Secret', namePath: 'name', namespacePath: 'namespace' }

/** Sources in memory, with a log of what is wanted and released. */
function world(patches: Partial<Record<SyncedKind, readonly object[]>>) {
  const toHost = Object.fromEntries(
    Object.entries(patches).map(([kind, own]) => [kind, { patches: own }]),
  )
  const { config, faults } = checkSyncConfig({ sync: { toHost } })
  if (config === null) throw new Error(faults.join('; '))
  const calls: string[] = []
  const clusters = Object.fromEntries(
    SYNCED_KINDS.map((kind) => [kind, memoryCluster(SYNCED_RESOURCES[kind].kind, 'v')]),
  ) as Record<SyncedKind, MemoryCluster>
  const sourcesOf = (side: 'virtual' | 'host') =>
    Object.fromEntries(
      SYNCED_KINDS.map((kind) => {
        const { cache } = clusters[kind]
        const told = (verb: string) => (ref: { name: string; namespace?: string }) =>
          void calls.push(`${verb} ${side} ${kind} ${objectKey(ref)}`)
        return [
          kind,
          {
            subscribe: (listener: never) => side === 'virtual' && cache.subscribe(listener),
            want: told('want'),
            release: told('release'),
          },
        ]
      }),
    ) as unknown as SyncSources['virtual']
  const references = followReferences(config, SINGLE, {
    virtual: sourcesOf('virtual'),
    host: sourcesOf('host'),
  })
  const changes: string[] = []
  references.subscribe(({ kind, key }) => void changes.push(`${kind} ${key}`))
  const put = (
    name: string,
    annotations: JsonMap,
    metadata: JsonMap = {},
    kind: SyncedKind = 'endpoints',
  ): void =>
    void clusters[kind].put({
      apiVersion: 'v1',
      kind: SYNCED_RESOURCES[kind].kind,
      metadata: { name, namespace: 'shop', annotations, ...metadata },
    })
  const remove = (name: string): void => clusters.endpoints.remove({ name, namespace: 'shop' })
  return { references, calls, changes, put, remove }
}

const WANTED = ['want virtual secrets shop/creds', 'want host secrets host/creds-x-shop-x-vc']

describe('the objects that others refer to (16.2, 19.5)', () => {
  test('referenced objects are read on both sides from the first reference on, and announced', () => {
    const { references, calls, changes, put } = world({ endpoints: [REFERENCE] })
    put('a', { creds: 'creds' })
    put('b', { creds: 'creds' })
    expect(calls).toEqual(WANTED)
    expect(changes).toEqual(['secrets shop/creds'])
    expect(references.isReferenced('secrets', 'shop/creds')).toBe(true)
    expect(references.referrersOf('secrets', 'shop/creds')).toEqual([
      { kind: 'Endpoints', key: 'shop/a' },
      { kind: 'Endpoints', key: 'shop/b' },
    ])
  })

  test.each<{ name: string; ends: (own: ReturnType<typeof world>) => void }>([
    { name: 'names another', ends: ({ put }) => put('a', { creds: 'other' }) },
    { name: 'names nothing', ends: ({ put }) => put('a', {}) },
    { name: 'is gone', ends: ({ remove }) => remove('a') },
    {
      name: 'terminates',
      ends: ({ put }) =>
        put('a', { creds: 'creds' }, { deletionTimestamp: 'x', finalizers: ['x'] }),
    },
    {
      name: 'is left alone',
      ends: ({ put }) =>
        put('a', { creds: 'creds' }, { labels: { 'vcluster.platform.sh/skip-sync': 'true' } }),
    },
  ])(
    'referenced objects are announced when the last referrer $name, and read until they are released',
    ({ ends }) => {
      const own = world({ endpoints: [REFERENCE] })
      own.put('a', { creds: 'creds' })
      own.changes.length = 0
      ends(own)
      expect(own.changes).toContain('secrets shop/creds')
      expect(own.references.isReferenced('secrets', 'shop/creds')).toBe(false)
      expect(own.calls.filter((call) => call.startsWith('release'))).toEqual([])
      own.references.release('secrets', 'shop/creds')
      expect(own.calls.filter((call) => call.startsWith('release'))).toEqual([
        'release virtual secrets shop/creds',
        'release host secrets host/creds-x-shop-x-vc',
      ])
    },
  )

  test('stay while another refers to them', () => {
    const { references, changes, put, remove } = world({ endpoints: [REFERENCE] })
    put('a', { creds: 'creds' })
    put('b', { creds: 'creds' })
    remove('a')
    expect(changes).toEqual(['secrets shop/creds'])
    expect(references.isReferenced('secrets', 'shop/creds')).toBe(true)
  })

  test('are read on the host while another has the same name there (17.1)', () => {
    const patches = [{ path: 'metadata.annotations', reference: NAMED_ANYWHERE }]
    const { references, calls, put, remove } = world({ endpoints: patches })
    put('first', { name: 'a', namespace: 'b-x-c' })
    put('second', { name: 'a-x-b', namespace: 'c' })
    remove('second')
    references.release('secrets', 'c/a-x-b')
    expect(calls.filter((call) => call.startsWith('release'))).toEqual([
      'release virtual secrets c/a-x-b',
    ])
    remove('first')
    references.release('secrets', 'b-x-c/a')
    expect(calls.filter((call) => call.startsWith('release'))).toEqual([
      'release virtual secrets c/a-x-b',
      'release virtual secrets b-x-c/a',
      'release host secrets host/a-x-b-x-c-x-vc',
    ])
  })

  test('end with the release of the one that names them, if that is read by its name (16.2)', () => {
    const CONFIG = { path: 'metadata.annotations.config', reference: { kind: 'ConfigMap' } }
    const { references, changes, put, remove } = world({
      endpoints: [CONFIG],
      configMaps: [REFERENCE],
    })
    put('web', { config: 'settings' })
    put('settings', { creds: 'creds' }, {}, 'configMaps')
    expect(references.held('secrets')).toEqual(['shop/creds'])
    remove('web')
    changes.length = 0
    references.release('configMaps', 'shop/settings')
    expect(references.isReferenced('secrets', 'shop/creds')).toBe(false)
    expect(changes).toEqual(['secrets shop/creds'])
    references.release('secrets', 'shop/creds')
    expect([references.held('configMaps'), references.held('secrets')]).toEqual([[], []])
  })

  test('stay when an object of a kind that is read whole is released (16.2)', () => {
    const { references, put } = world({ endpoints: [REFERENCE] })
    put('a', { creds: 'creds' })
    references.release('endpoints', 'shop/a')
    expect(references.isReferenced('secrets', 'shop/creds')).toBe(true)
  })

  test.each<{ name: string; patches: Parameters<typeof world>[0]; annotations: JsonMap }>([
    { name: 'no patch', patches: {}, annotations: { creds: 'creds' } },
    {
      name: 'a patch of another kind of object',
      patches: { services: [REFERENCE] },
      annotations: { creds: 'creds' },
    },
    {
      name: 'a kind of another group, under the same name',
      patches: { endpoints: [ELSEWHERE] },
      annotations: { config: 'creds' },
    },
    {
      name: 'a kind that is not synced',
      patches: { endpoints: [{ ...REFERENCE, reference: { kind: 'Pod' } }] },
      annotations: { creds: 'creds' },
    },
  ])('are none with $name', ({ patches, annotations }) => {
    const { calls, changes, put } = world(patches)
    put('a', annotations)
    expect([calls, changes]).toEqual([[], []])
  })
})

test('the name of a key', () => {
  expect(virtualNameOf('shop/web')).toEqual({ name: 'web', namespace: 'shop' })
})
