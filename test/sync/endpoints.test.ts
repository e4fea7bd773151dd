// Endpoints of a virtual cluster on its host. Each test has Endpoints of its own, so five run at a time.
import { describe, expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { SELECTORLESS, type SeenObject, endpointsAt } from '../support/sync-side.ts'
import { NO_WRITES, expectUntouched, syncPlanes } from '../support/sync-world.ts'

const world = await fileWorld(await syncPlanes(), {
  endpoints: {
    patches: [
      { path: 'metadata.annotations["example.com/shout"]', expression: 'value.toUpperCase()' },
    ],
  },
})
const { virtual, host, hostRef, virtualCluster, hostNamespace, namespace, at, pair } = world
const syncer = await world.start({ flags: ['--deny-cidr=10.77.0.0/16'] })

/** Endpoints that stand on both sides. */
async function standing(
  name: string,
  ip: string,
): Promise<Record<'before' | 'onHost', SeenObject>> {
  const before = await pair(at(name), ip)
  const onHost = await host.shows(ENDPOINTS, hostRef(at(name)), endpointsAt(ip))
  return { before, onHost }
}

test.concurrent('Service first: the host has both, with marks and the own Service as owner (17.2, 17.4, 18.1)', async () => {
  const ref = at('service-first')
  const { before, onHost } = await standing(ref.name, '10.1.0.1')
  const { uid } = (await host.get(SERVICES, world.ownService)).metadata
  expect(onHost.metadata.ownerReferences).toEqual([
    { apiVersion: 'v1', kind: 'Service', name: virtualCluster, uid, controller: false },
  ])
  expect(onHost.metadata.labels).toEqual({
    'vcluster.platform.sh/managed-by': virtualCluster,
    'vcluster.platform.sh/namespace': namespace,
  })
  expect(onHost.metadata.annotations).toMatchObject({
    'vcluster.platform.sh/object-name': ref.name,
    'vcluster.platform.sh/object-namespace': namespace,
    'vcluster.platform.sh/object-uid': before.metadata.uid,
    'vcluster.platform.sh/object-kind': '/v1, Kind=Endpoints',
    'vcluster.platform.sh/object-host-name': hostRef(ref).name,
    'vcluster.platform.sh/object-host-namespace': hostNamespace,
  })
  await expectUntouched(virtual, ENDPOINTS, before)
})

test.concurrent('Endpoints first: they follow their Service (18.1)', async () => {
  const ref = at('endpoints-first')
  const before = await virtual.create(ENDPOINTS, ref, endpointsAt('10.1.0.2'))
  await world.caughtUp(syncer)
  expect(await host.read(ENDPOINTS, hostRef(ref))).toBeNull()
  await virtual.create(SERVICES, ref, SELECTORLESS)
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.1.0.2'))
  await expectUntouched(virtual, ENDPOINTS, before)
})

test.concurrent('addresses follow, and go with an empty list (18.2)', async () => {
  const ref = at('moving')
  await standing(ref.name, '10.1.1.1')
  await virtual.patch(ENDPOINTS, ref, endpointsAt('10.1.1.2'))
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.1.1.2'))
  const before = await virtual.patch(ENDPOINTS, ref, { subsets: [] })
  await host.until(ENDPOINTS, hostRef(ref), 'has no subset', ({ subsets }) => subsets === undefined)
  await expectUntouched(virtual, ENDPOINTS, before)
})

test.concurrent('a Pod that an address names has its name on the host, other targets stay (18.2)', async () => {
  const ref = at('targets')
  await virtual.create(SERVICES, ref, SELECTORLESS)
  const targetRef = { kind: 'Pod', namespace, name: 'pod-1', uid: 'u', resourceVersion: '1' }
  const node = { kind: 'Node', name: 'node-1', uid: 'v' }
  const subset = {
    addresses: [{ ip: '10.1.2.1', targetRef, nodeName: 'node-1', hostname: 'h' }],
    notReadyAddresses: [
      { ip: '10.1.2.2', targetRef },
      { ip: '10.1.2.3', targetRef: node },
    ],
    ports: [{ port: 1 }],
  }
  const before = await virtual.create(ENDPOINTS, ref, { subsets: [subset] })
  const seen = await host.shows(ENDPOINTS, hostRef(ref), {})
  const pod = { kind: 'Pod', namespace: hostNamespace, name: hostRef(at('pod-1')).name }
  expect(seen['subsets']).toEqual([
    {
      addresses: [{ ip: '10.1.2.1', targetRef: pod, nodeName: 'node-1', hostname: 'h' }],
      notReadyAddresses: [
        { ip: '10.1.2.2', targetRef: pod },
        { ip: '10.1.2.3', targetRef: node },
      ],
      ports: [{ port: 1, protocol: 'TCP' }],
    },
  ])
  await expectUntouched(virtual, ENDPOINTS, before)
})

test.concurrent("a change on the host is overwritten, and marks stay the syncer's (18.2, 18.5, 19.6)", async () => {
  const { before, onHost } = await standing('drifting', '10.1.3.1')
  const ref = hostRef(at('drifting'))
  await host.patch(ENDPOINTS, ref, {
    ...endpointsAt('10.66.66.66'),
    metadata: {
      annotations: { 'vcluster.platform.sh/object-uid': 'another' },
      labels: { 'vcluster.platform.sh/namespace': 'another' },
      ownerReferences: null,
    },
  })
  // Another uid in the marks names another object: the host object is deleted and created again.
  const { subsets, metadata } = onHost
  const { annotations, labels, ownerReferences } = metadata
  const after = await host.shows(ENDPOINTS, ref, {
    subsets,
    metadata: { annotations, labels, ownerReferences },
  })
  expect(after.metadata.uid).not.toBe(metadata.uid)
  await expectUntouched(virtual, ENDPOINTS, before)
})

test.concurrent('labels and annotations of the host flow back where the virtual object has the key, and only then (17.3)', async () => {
  const ref = at('labelled')
  await virtual.create(SERVICES, ref, SELECTORLESS)
  const before = await virtual.create(ENDPOINTS, ref, {
    ...endpointsAt('10.1.4.1'),
    metadata: {
      labels: { app: 'db', release: 'r1' },
      annotations: { note: 'one', 'example.com/shout': 'hey' },
    },
  })
  const onHost = await host.shows(ENDPOINTS, hostRef(ref), {
    metadata: { labels: { app: 'db' }, annotations: { note: 'one', 'example.com/shout': 'HEY' } },
  })
  expect(onHost.metadata.labels).not.toHaveProperty('release')
  expect(Object.entries(onHost.metadata.labels ?? {})).toContainEqual([
    expect.stringMatching(`^vcluster.platform.sh/label-${virtualCluster}-x-[0-9a-f]{10}$`),
    'r1',
  ])
  await world.caughtUp(syncer)
  await host.patch(ENDPOINTS, hostRef(ref), {
    metadata: {
      labels: { app: 'changed', 'only-host': 'x' },
      annotations: { note: null, 'only-host': 'y', 'example.com/shout': 'OTHER' },
    },
  })
  const after = await virtual.shows(ENDPOINTS, ref, { metadata: { labels: { app: 'changed' } } })
  await host.shows(ENDPOINTS, hostRef(ref), {
    metadata: {
      labels: { app: 'changed', 'only-host': 'x' },
      // A patched field does not flow, and a removed one comes back.
      annotations: { note: 'one', 'only-host': 'y', 'example.com/shout': 'HEY' },
    },
  })
  const { resourceVersion, labels, ...metadata } = after.metadata
  const { resourceVersion: _, labels: __, ...metadataBefore } = before.metadata
  expect(labels).toEqual({ app: 'changed', release: 'r1' })
  expect(metadata).toEqual(metadataBefore)
  expect(after['subsets']).toEqual(before['subsets'])
  expect(resourceVersion).not.toBe(before.metadata.resourceVersion)
})

describe.concurrent('deletion', () => {
  test('of the virtual Endpoints deletes those of the host (18.3)', async () => {
    const onHost = hostRef(at('deleted'))
    await standing('deleted', '10.1.5.1')
    // Each kind is synced by itself: the Service may come a moment after the Endpoints.
    const { metadata } = await host.shows(SERVICES, onHost, { metadata: { name: onHost.name } })
    await virtual.remove(ENDPOINTS, at('deleted'))
    await host.gone(ENDPOINTS, onHost)
    expect((await host.get(SERVICES, onHost)).metadata.uid).toBe(metadata.uid)
  })

  test('of the virtual Service deletes both on the host (18.1, 18.3)', async () => {
    await standing('service-deleted', '10.1.5.2')
    await virtual.remove(SERVICES, at('service-deleted'))
    await host.gone(SERVICES, hostRef(at('service-deleted')))
    await host.gone(ENDPOINTS, hostRef(at('service-deleted')))
  })

  test('behind our back: the host object is created again, the virtual one stays (18.3)', async () => {
    const { before, onHost } = await standing('behind', '10.1.5.3')
    await host.remove(ENDPOINTS, onHost.metadata)
    await host.until(
      ENDPOINTS,
      onHost.metadata,
      'is another one',
      ({ metadata }) => metadata.uid !== onHost.metadata.uid,
    )
    await expectUntouched(virtual, ENDPOINTS, before)
  })

  test('gives another host object when a creation follows at once (18.3)', async () => {
    const { onHost } = await standing('replaced', '10.1.5.4')
    await virtual.remove(ENDPOINTS, at('replaced'))
    const before = await virtual.create(ENDPOINTS, at('replaced'), endpointsAt('10.1.5.5'))
    const seen = await host.shows(ENDPOINTS, onHost.metadata, {
      ...endpointsAt('10.1.5.5'),
      metadata: { annotations: { 'vcluster.platform.sh/object-uid': before.metadata.uid } },
    })
    expect(seen.metadata.uid).not.toBe(onHost.metadata.uid)
    await expectUntouched(virtual, ENDPOINTS, before)
  })

  test('of a host object that a finalizer keeps is waited for (18.3)', async () => {
    const { before, onHost } = await standing('kept', '10.1.5.6')
    const ref = onHost.metadata
    await host.patch(ENDPOINTS, ref, { metadata: { finalizers: ['example.com/keep'] } })
    await host.remove(ENDPOINTS, ref)
    await virtual.patch(ENDPOINTS, at('kept'), endpointsAt('10.1.5.7'))
    await world.caughtUp(syncer)
    expect(await host.get(ENDPOINTS, ref)).toMatchObject({
      ...endpointsAt('10.1.5.6'),
      metadata: { uid: ref.uid, finalizers: ['example.com/keep'] },
    })
    await host.patch(ENDPOINTS, ref, { metadata: { finalizers: null } })
    const again = await host.shows(ENDPOINTS, ref, endpointsAt('10.1.5.7'))
    expect(again.metadata.uid).not.toBe(ref.uid)
    expect(await virtual.get(ENDPOINTS, at('kept'))).toMatchObject({
      metadata: { uid: before.metadata.uid },
    })
  })

  test('of a virtual object that a finalizer keeps: the host object goes at once (18.3)', async () => {
    const { onHost } = await standing('finalized', '10.1.5.8')
    await virtual.patch(ENDPOINTS, at('finalized'), {
      metadata: { finalizers: ['example.com/keep'] },
    })
    await world.caughtUp(syncer)
    expect((await host.get(ENDPOINTS, onHost.metadata)).metadata.finalizers).toBeUndefined()
    await virtual.remove(ENDPOINTS, at('finalized'))
    await host.gone(ENDPOINTS, onHost.metadata)
    const left = await virtual.get(ENDPOINTS, at('finalized'))
    expect(left.metadata.finalizers).toEqual(['example.com/keep'])
    await virtual.patch(ENDPOINTS, at('finalized'), { metadata: { finalizers: null } })
  })
})

// biome-ignore format: a table
const REFUSED = [
  { what: 'of a metadata service', name: 'metadata', ip: '100.100.100.200', says: /100\.100\.100\.200 is a metadata address/ },
  { what: 'in a denied range', name: 'denied', ip: '10.77.1.1', says: /10\.77\.1\.1 is in the denied range 10\.77\.0\.0\/16/ },
]
test.concurrent.each(REFUSED)(
  'an address $what is refused, and the host object stays (18.2)',
  async (row) => {
    const ref = at(`refused-${row.name}`)
    const { onHost } = await standing(ref.name, '10.1.6.1')
    const before = await virtual.patch(ENDPOINTS, ref, endpointsAt(row.ip))
    const event = await virtual.event(before, 'AddressRefused')
    expect(event).toMatchObject({ type: 'Warning', message: expect.stringMatching(row.says) })
    await world.caughtUp(syncer)
    await expectUntouched(host, ENDPOINTS, onHost)
    await expectUntouched(virtual, ENDPOINTS, before)
    await virtual.patch(ENDPOINTS, ref, endpointsAt('10.1.6.2'))
    await host.shows(ENDPOINTS, onHost.metadata, endpointsAt('10.1.6.2'))
  },
)

// biome-ignore format: a table
const SKIPPED = [
  { by: 'a label', metadata: { labels: { 'vcluster.platform.sh/skip-sync': 'true' } } },
  { by: 'an annotation', metadata: { annotations: { 'vcluster.platform.sh/skip-sync': 'true' } } },
]
test.concurrent.each(SKIPPED)(
  '$by skip-sync leaves the object alone (16.3)',
  async ({ by, metadata }) => {
    const ref = at(`skipped-${by.replaceAll(' ', '-')}`)
    await virtual.create(SERVICES, ref, SELECTORLESS)
    const before = await virtual.create(ENDPOINTS, ref, { ...endpointsAt('10.1.7.1'), metadata })
    await world.caughtUp(syncer)
    expect(await host.read(ENDPOINTS, hostRef(ref))).toBeNull()
    await expectUntouched(virtual, ENDPOINTS, before)
  },
)

test.concurrent('default/kubernetes is left alone (16.3)', async () => {
  const ref = { namespace: 'default', name: 'kubernetes' }
  await world.caughtUp(syncer)
  for (const resource of [SERVICES, ENDPOINTS])
    expect(await host.read(resource, hostRef(ref))).toBeNull()
})

test('a syncer at rest writes nothing (19.7)', async () => {
  await world.caughtUp(syncer)
  const mark = await world.mark()
  await world.caughtUp(syncer)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})
