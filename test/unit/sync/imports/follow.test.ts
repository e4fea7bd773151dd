import { describe, expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { pairLookups } from '../../../../src/sync/pair/reference-lookup.ts'
import { planImport } from '../../../../src/sync/imports/plan.ts'
import type { ObjectReference } from '../../../../src/sync/patches/reference.ts'
import type { SyncedObject } from '../../../../src/sync/objects/synced-object.ts'
import { endpoints, importWorld, labelled, object } from '../import-world.ts'

const secret = (name: string, namespace = 'shop'): ObjectReference => ({
  apiVersion: 'v1',
  kind: 'Secret',
  namespace,
  name,
})

/** The copy of a host object in the namespace `shop`. */
function copyOf(host: SyncedObject, kind: 'secrets' | 'endpoints' = 'secrets'): SyncedObject {
  const plan = planImport({
    kind,
    name: { name: host.name, namespace: 'shop' },
    virtualCluster: 'vc',
    isReferenced: true,
    virtual: null,
    host: host.object,
  })
  if (plan.step !== 'create') throw new Error('it can be imported')
  const { metadata, ...fields } = plan.object
  return object(kind, ['shop', host.name], metadata as never, fields)
}

describe('the state of an import', () => {
  test('the state of an import is there once the host object is read, and the virtual one where it matters (19.5)', () => {
    const { virtual, candidates, imports, takeChanges } = importWorld()
    virtual.endpoints.read('shop/web', endpoints('web', { a: 'db' }))
    expect([...candidates.wanted]).toEqual(['host/db'])
    expect(imports.isImported(secret('db'))).toBe('unread')
    candidates.read('host/db', null)
    expect(imports.isImported(secret('db'))).toBe(false)
    expect(takeChanges()).toEqual(['secrets shop/db', 'endpoints shop/web'])
    candidates.read('host/db', labelled('db'))
    expect(imports.isImported(secret('db'))).toBe('unread')
    virtual.secrets.read('shop/db', null)
    expect(imports.isImported(secret('db'))).toBe(true)
  })

  const rows: readonly {
    readonly name: string
    readonly host: SyncedObject | null
    readonly copy: SyncedObject | null
    readonly is: boolean
  }[] = [
    { name: 'nothing in the virtual cluster', host: labelled('db'), copy: null, is: true },
    { name: 'its copy', host: labelled('db'), copy: copyOf(labelled('db')), is: true },
    {
      name: "a user's own object",
      host: labelled('db'),
      copy: object('secrets', ['shop', 'db'], {}),
      is: false,
    },
    {
      name: 'the label of another virtual cluster',
      host: labelled('db', 'other'),
      copy: null,
      is: false,
    },
    { name: 'a copy without a host object', host: null, copy: copyOf(labelled('db')), is: false },
  ]
  test.each(rows)('$name: $is (19.5)', ({ host, copy, is }) => {
    const { virtual, candidates, imports } = importWorld()
    virtual.endpoints.read('shop/web', endpoints('web', { a: 'db' }))
    candidates.read('host/db', host)
    virtual.secrets.read('shop/db', copy)
    expect(imports.isImported(secret('db'))).toBe(is)
    // An unchanged copy is never synced: if it is not an import any more, it is about to be deleted.
    const isImport = copy !== null && imports.isImport('secrets', copy)
    expect(isImport).toBe(copy !== null && (is || host === null))
  })

  test('queues the object and its referrers when it changes, and only then (19.5)', () => {
    const { virtual, candidates, takeChanges } = importWorld()
    virtual.endpoints.read('shop/web', endpoints('web', { a: 'db' }))
    virtual.endpoints.read('shop/api', endpoints('api', { b: 'db' }))
    candidates.read('host/db', labelled('db'))
    virtual.secrets.read('shop/db', null)
    const changed = ['secrets shop/db', 'endpoints shop/web', 'endpoints shop/api']
    expect(takeChanges()).toEqual(changed)
    virtual.secrets.read('shop/db', copyOf(labelled('db')))
    candidates.read('host/db', { ...labelled('db'), resourceVersion: '2' })
    expect(takeChanges()).toEqual([])
    candidates.read('host/db', labelled('db', 'other'))
    expect(takeChanges()).toEqual(changed)
  })

  test('does not depend on what an import names: that names objects of the host (19.5)', () => {
    const { virtual, candidates } = importWorld()
    const copy = copyOf(labelled('db'), 'endpoints')
    const metadata = copy.object['metadata'] as JsonMap
    const annotations = { ...(metadata['annotations'] as JsonMap), a: 'x' }
    const naming = { ...copy.object, metadata: { ...metadata, annotations } }
    virtual.endpoints.read('shop/db', { ...copy, object: naming })
    expect([...candidates.wanted]).toEqual([])
  })

  test('an import waits for no host namespace that is not open, and has a state when it opens (17.5, 19.5)', () => {
    const listeners: ((namespace: string) => void)[] = []
    let isOpen = false
    const { virtual, candidates, imports, takeChanges } = importWorld({
      isOpen: () => isOpen,
      isOpening: () => false,
      mayCreateIn: () => isOpen,
      subscribe: (listener) => void listeners.push(listener),
    })
    virtual.endpoints.read('shop/web', endpoints('web', { a: 'db' }))
    virtual.secrets.read('shop/db', null)
    candidates.read('host/db', labelled('db'))
    expect(imports.isImported(secret('db'))).toBe(false)
    expect(takeChanges()).toEqual([])
    isOpen = true
    for (const listener of listeners) listener('other')
    expect(takeChanges()).toEqual([])
    for (const listener of listeners) listener('shop')
    expect(imports.isImported(secret('db'))).toBe(true)
    expect(takeChanges()).toEqual(['secrets shop/db', 'endpoints shop/web'])
  })

  test('is read while a name stands for it, in whatever namespace (19.5)', () => {
    const { virtual, candidates, imports } = importWorld()
    virtual.endpoints.read('shop/web', endpoints('web', { a: 'db' }))
    virtual.endpoints.read(
      'other/web',
      object('endpoints', ['other', 'web'], { annotations: { a: 'db' } }),
    )
    expect(imports.namesOf('secrets', 'host/db').map(({ key }) => key)).toEqual([
      'shop/db',
      'other/db',
    ])
    virtual.endpoints.read('shop/web', null)
    expect([...candidates.wanted]).toEqual(['host/db'])
    virtual.endpoints.read('other/web', null)
    expect([...candidates.wanted]).toEqual([])
  })
})

/** A world in which Endpoints shop/web name the Secret `own`, which is synced. */
function lookupWorld() {
  const world = importWorld()
  const { virtual, candidates } = world
  virtual.endpoints.read('shop/web', endpoints('web', { a: 'own' }))
  virtual.secrets.read('shop/own', object('secrets', ['shop', 'own'], {}))
  candidates.read('host/own', null)
  world.takeChanges()
  const served = { isServed: () => true, read: () => Promise.resolve() }
  const lookups = pairLookups('Endpoints', { ...world, served })
  return {
    ...world,
    begin: () => lookups.begin('shop/web'),
    drop: () => lookups.drop('shop/web'),
  }
}

describe('the look-ups of a translation', () => {
  test('wait for a host object that is not read, and queue the referrer when it is (19.5)', async () => {
    const { begin, candidates, takeChanges } = lookupWorld()
    const first = begin()
    expect(first.virtualNameOf(secret('foreign', 'host'))).toBe('unread')
    expect(await first.end()).toBe('wait')
    expect([...candidates.wanted]).toContain('host/foreign')
    candidates.read('host/foreign', null)
    expect(takeChanges()).toEqual(['endpoints shop/web'])
    const second = begin()
    expect(second.virtualNameOf(secret('foreign', 'host'))).toBeNull()
    expect(await second.end()).toBe('complete')
    expect(await begin().end()).toBe('complete')
    expect([...candidates.wanted]).not.toContain('host/foreign')
  })

  test('find a host object with our marks that nothing refers to (19.5)', async () => {
    const { begin, host } = lookupWorld()
    const marks = {
      'object-name': 'new',
      'object-namespace': 'shop',
      'object-kind': '/v1, Kind=Secret',
      'object-host-name': 'new-x-shop-x-vc',
      'object-host-namespace': 'host',
    }
    const annotations = Object.fromEntries(
      Object.entries(marks).map(([key, value]) => [`vcluster.platform.sh/${key}`, value]),
    )
    host.secrets.read(
      'host/new-x-shop-x-vc',
      object('secrets', ['host', 'new-x-shop-x-vc'], { annotations }),
    )
    const lookup = begin()
    expect(lookup.virtualNameOf(secret('new-x-shop-x-vc', 'host'))).toMatchObject({ name: 'new' })
    expect(await lookup.end()).toBe('complete')
  })

  test('begin to read what flows back by, and try again where it is read meanwhile (19.5)', async () => {
    const { begin, drop, virtual, candidates, references } = lookupWorld()
    const lookup = begin()
    expect(lookup.isImported(secret('shared'))).toBe('unread')
    candidates.read('host/shared', labelled('shared'))
    virtual.secrets.read('shop/shared', null)
    expect(await lookup.end()).toBe('again')
    expect(references.isReferenced('secrets', 'shop/shared')).toBe(true)
    const next = begin()
    expect(next.isImported(secret('shared'))).toBe(true)
    expect(await next.end()).toBe('complete')
    expect(references.isReferenced('secrets', 'shop/shared')).toBe(true)
    drop()
    expect(references.isReferenced('secrets', 'shop/shared')).toBe(false)
  })

  test.each([
    { name: 'another namespace of the host', reference: secret('x', 'kube-system') },
    { name: 'another kind', reference: { ...secret('x', 'host'), kind: 'Pod' } },
    { name: 'another group', reference: { ...secret('x', 'host'), apiVersion: 'example.com/v1' } },
  ])('never read $name (19.5)', async ({ reference }) => {
    const { begin, candidates } = lookupWorld()
    const lookup = begin()
    expect(lookup.virtualNameOf(reference)).toBeNull()
    expect(await lookup.end()).toBe('complete')
    expect([...candidates.wanted]).toEqual(['host/own'])
  })
})
