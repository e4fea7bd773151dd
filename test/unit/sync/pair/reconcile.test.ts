import { describe, expect, test } from 'vitest'
import { nestedField, setNestedField } from '../../../../src/domain/json/field-path.ts'
import { ownerOf } from '../../../../src/sync/objects/host-metadata.ts'
import {
  endpoints,
  foreign,
  HOST,
  inStep,
  KEY,
  NO_WRITES,
  OWNER,
  SUBSETS,
  syncedPair,
  withField,
} from '../synced-pair.ts'
import { SINGLE } from '../translation.ts'

describe('a virtual object', () => {
  test('is created on the host with marks and owner, and then nothing is written (18.3)', async () => {
    const pair = syncedPair('endpoints')
    const stored = pair.virtual.put(endpoints({ subsets: SUBSETS }, { labels: { app: 'a' } }))
    await pair.reconcile(KEY)
    expect(pair.writes()).toEqual({ virtual: [], host: ['create create'] })
    expect(ownerOf(pair.atHost() ?? {}, 'Endpoints', SINGLE)).toEqual({
      name: 'web',
      namespace: 'shop',
      uid: nestedField(stored, ['metadata', 'uid']),
    })
    expect(pair.atHost()).toMatchObject({
      subsets: SUBSETS,
      metadata: { labels: { app: 'a' }, ownerReferences: [{ ...OWNER, controller: false }] },
    })
    await pair.reconcile(KEY)
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.report.countByState()).toEqual({ synced: 1 })
    expect(pair.events).toEqual([])
  })

  test('that changes is updated on the host (18.3)', async () => {
    const pair = await inStep()
    pair.virtual.put(setNestedField(pair.atVirtual() ?? {}, ['subsets'], []))
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: [], host: ['replace update'] })
    expect(pair.atHost()?.['subsets']).toEqual([])
  })

  test('that goes takes its host object with it, and all that is remembered (18.3)', async () => {
    const pair = await inStep()
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: [], host: ['delete delete'] })
    expect(pair.atHost()).toBeNull()
    expect(pair.report.countByState()).toEqual({})
    expect(pair.released).toContain(KEY)
  })

  test('that comes again under its name gets a host object of its own (18.3)', async () => {
    const pair = await inStep()
    const before = pair.atHost()
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    pair.virtual.put(endpoints())
    await pair.settle()
    expect(pair.writes().host).toEqual(['delete delete', 'create create'])
    expect(nestedField(pair.atHost() ?? {}, ['metadata', 'uid'])).not.toBe(
      nestedField(before ?? {}, ['metadata', 'uid']),
    )
  })

  test('waits until what terminates on the host is gone (18.3)', async () => {
    const pair = await inStep()
    pair.host.put(withField(['metadata', 'finalizers'], 'x')(pair.atHost()))
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    pair.virtual.put(endpoints())
    await pair.settle()
    expect(pair.writes().host).toEqual(['delete delete'])
    expect(pair.report.countByState()).toEqual({ waiting: 1 })
    pair.host.remove(HOST)
    await pair.settle()
    expect(pair.writes().host).toEqual(['create create'])
  })

  test('gets its host object back when a user deletes that (18.3)', async () => {
    const pair = await inStep()
    const virtual = pair.atVirtual()
    pair.host.remove(HOST)
    await pair.settle()
    expect(pair.writes()).toEqual({ virtual: [], host: ['create create'] })
    expect(pair.atVirtual()).toBe(virtual)
  })

  test('waits for its owner, but an existing host object does not (17.4)', async () => {
    const pair = syncedPair('endpoints')
    pair.world.mayCreate = false
    pair.virtual.put(endpoints())
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
    pair.world.mayCreate = true
    await pair.settle()
    pair.writes()
    pair.world.mayCreate = false
    pair.virtual.put(setNestedField(pair.atVirtual() ?? {}, ['subsets'], []))
    await pair.settle()
    expect(pair.writes().host).toEqual(['replace update'])
  })

  test('without a host namespace of its own is left out, and so is a host object of its name (17.5)', async () => {
    const pair = await inStep()
    pair.world.isOpen = false
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    await pair.settle()
    expect([pair.writes(), pair.events]).toEqual([NO_WRITES, []])
    pair.world.isOpen = true
    await pair.settle()
    expect(pair.writes().host).toEqual(['delete delete'])
  })

  test.each([
    { name: 'has no host namespace any more', given: { isOpen: false } },
    { name: 'waits to be read, and is named no more', given: { isGivenUp: true } },
  ])('that $name is forgotten, with all that is read for it (16.2, 17.5)', async ({ given }) => {
    const pair = await inStep()
    pair.counts.length = 0
    pair.report.changed(KEY)
    Object.assign(pair.world, given)
    await pair.settle()
    expect(pair.released).toEqual([KEY])
    expect(pair.report.countByState()).toEqual({})
    Object.assign(pair.world, { isOpen: true, isGivenUp: false })
    pair.virtual.put(setNestedField(pair.atVirtual() ?? {}, ['subsets'], []))
    await pair.settle()
    // No lag is counted from the earlier change.
    expect(pair.counts).toEqual(['toHost'])
  })

  test('whose host object is not read yet waits for its first read (18.3, 19.5)', async () => {
    const pair = syncedPair('endpoints')
    pair.virtual.put(endpoints({ subsets: SUBSETS }))
    Object.defineProperty(pair.host.cache, 'isSynced', { value: () => false })
    await pair.reconcile(KEY)
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.states.waitingFor(`${HOST.namespace}/${HOST.name}`)).toEqual([KEY])
  })

  test('whose cache is not read yet does not count as gone (18.3)', async () => {
    const pair = await inStep()
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    Object.defineProperty(pair.virtual.cache, 'isSynced', { value: () => false })
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
  })
})

describe('a host object that is not of this virtual object', () => {
  test('is left alone, and reported once (16.3)', async () => {
    const pair = syncedPair('endpoints')
    pair.host.put(foreign)
    pair.virtual.put(endpoints())
    for (let times = 0; times < 3; times += 1) await pair.reconcile(KEY)
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.events.map(({ reason }) => reason)).toEqual(['NameTaken'])
    expect(pair.report.countByState()).toEqual({ taken: 1 })
    expect(pair.states.waitingFor('host/web-x-shop-x-vc')).toEqual([KEY])
    pair.host.remove(HOST)
    await pair.settle()
    expect(pair.writes().host).toEqual(['create create'])
    expect(pair.states.waitingFor('host/web-x-shop-x-vc')).toEqual([])
  })

  test.each([
    { name: 'terminates', metadata: { deletionTimestamp: 'x', finalizers: ['x'] } },
    {
      name: 'is marked to be skipped',
      metadata: { labels: { 'vcluster.platform.sh/skip-sync': 'true' } },
    },
  ])('is waited for where it $name (16.3)', async ({ metadata }) => {
    const pair = syncedPair('endpoints')
    pair.host.put({ ...foreign, metadata: { ...HOST, ...metadata } })
    pair.virtual.put(endpoints())
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.states.waitingFor('host/web-x-shop-x-vc')).toEqual([KEY])
  })

  test('is deleted if its controller made it, and its end is waited for (18.1)', async () => {
    const pair = syncedPair('endpoints')
    pair.host.put(foreign)
    pair.world.isLeftover = true
    pair.virtual.put(endpoints())
    pair.host.lags = true
    await pair.reconcile(KEY)
    expect(pair.writes().host).toEqual(['delete delete'])
    expect(pair.states.waitingFor('host/web-x-shop-x-vc')).toEqual([KEY])
    pair.host.deliver()
    pair.host.lags = false
    await pair.settle()
    expect(pair.writes().host).toEqual(['create create'])
  })

  // shop-x-b/a and b/a-x-shop have one name on the host.
  test.each([
    { name: 'while it waits', isGone: false },
    { name: 'when it goes', isGone: true },
  ])('stays where its virtual object has the same host name, $name (17.1)', async ({ isGone }) => {
    const pair = syncedPair('endpoints')
    const first = { name: 'a-x-shop', namespace: 'b' }
    const second = { name: 'a', namespace: 'shop-x-b' }
    pair.virtual.put({ ...endpoints(), metadata: first })
    await pair.settle('b/a-x-shop')
    const before = pair.host.get({ name: 'a-x-shop-x-b-x-vc', namespace: 'host' })
    expect(before).not.toBeNull()
    pair.writes()
    pair.virtual.put({ ...endpoints(), metadata: second })
    await pair.settle('shop-x-b/a')
    if (isGone) pair.virtual.remove(second)
    await pair.settle('shop-x-b/a')
    expect(pair.writes()).toEqual(NO_WRITES)
    expect(pair.host.get({ name: 'a-x-shop-x-b-x-vc', namespace: 'host' })).toBe(before)
    expect(pair.events.map(({ reason, regarding }) => [reason, regarding.namespace])).toEqual([
      ['NameTaken', 'shop-x-b'],
    ])
    expect(pair.states.waitingFor('host/a-x-shop-x-b-x-vc')).toEqual(isGone ? [] : ['shop-x-b/a'])
  })
})

describe('a kind that is switched off', () => {
  test('leaves the host object until the virtual one goes (16.1)', async () => {
    const on = await inStep()
    const pair = syncedPair('endpoints', { isEnabled: false })
    pair.host.put(on.atHost() ?? {})
    pair.virtual.put(setNestedField(on.atVirtual() ?? {}, ['subsets'], []))
    await pair.settle()
    expect(pair.writes()).toEqual(NO_WRITES)
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    await pair.settle()
    expect(pair.writes().host).toEqual(['delete delete'])
  })
})

describe('a stale cache', () => {
  test('of the host: a second create conflicts, and no Event says so (18.3)', async () => {
    const pair = syncedPair('endpoints')
    pair.virtual.put(endpoints())
    pair.host.lags = true
    await pair.reconcile(KEY)
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ code: 409 })
    pair.host.deliver()
    await pair.settle()
    expect(pair.events).toEqual([])
    expect(pair.writes().host).toEqual(['create create', 'create create'])
  })

  test('of the host: an update of a deleted object is not a refusal (18.3)', async () => {
    const pair = await inStep()
    pair.host.lags = true
    pair.host.remove(HOST)
    pair.virtual.put(setNestedField(pair.atVirtual() ?? {}, ['subsets'], []))
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ code: 404 })
    expect(pair.events).toEqual([])
  })

  test('of the host: what a user changed since is not overwritten (18.3)', async () => {
    const pair = await inStep()
    pair.host.lags = true
    const theirs = pair.host.put(withField(['metadata', 'labels', 'their'], 'x')(pair.atHost()))
    pair.virtual.put(setNestedField(pair.atVirtual() ?? {}, ['subsets'], []))
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ code: 409 })
    expect(pair.atHost()).toBe(theirs)
    pair.host.deliver()
    await pair.settle()
    expect(pair.atHost()).toMatchObject({ subsets: [], metadata: { labels: { their: 'x' } } })
  })

  test('of the host: an object that was created again is not deleted (18.3)', async () => {
    const pair = await inStep()
    pair.host.lags = true
    pair.host.remove(HOST)
    const other = pair.host.put(foreign)
    pair.virtual.remove({ name: 'web', namespace: 'shop' })
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ code: 409 })
    expect(pair.atHost()).toBe(other)
  })

  test('of the virtual cluster: what its user changed since is not overwritten (18.3, 18.5)', async () => {
    const pair = await inStep('endpoints', endpoints({}, { labels: { app: 'a' } }))
    pair.host.put(withField(['metadata', 'labels', 'app'], 'host')(pair.atHost()))
    pair.virtual.lags = true
    const theirs = pair.virtual.put(
      withField(['metadata', 'labels', 'app'], 'user')(pair.atVirtual()),
    )
    await expect(pair.reconcile(KEY)).rejects.toMatchObject({ code: 409 })
    expect(pair.atVirtual()).toBe(theirs)
    pair.virtual.deliver()
    await pair.settle()
    expect(pair.atVirtual()).toBe(theirs)
    expect(nestedField(pair.atHost() ?? {}, ['metadata', 'labels', 'app'])).toBe('user')
  })
})
