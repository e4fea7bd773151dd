// Services that gain or lose a selector, and the Endpoints and slices that the host's own controllers make for them.
import { expect, test } from 'vitest'
import { ENDPOINTS, type Resource, SERVICES } from '../../src/api/names.ts'
import { eventually } from '../support/eventually.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { SOON, type SeenObject, endpointsAt } from '../support/sync-side.ts'
import { expectUntouched, syncPlanes } from '../support/sync-world.ts'

const planes = await syncPlanes()
const world = await fileWorld(planes)
const { virtual, host, hostRef, virtualCluster, hostNamespace, namespace, at, pair } = world
let syncer = await world.start()

const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }
const OF_CONTROLLER = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }
const isOfController = ({ metadata }: SeenObject): boolean =>
  metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller'

/** A Pod on the host with the status of a ready Pod at an address, and with the labels of synced Pods. */
async function createPod(name: string, app: string, podIP: string): Promise<void> {
  const ref = { namespace: hostNamespace, name }
  await host.create(PODS, ref, {
    metadata: {
      labels: {
        app,
        'vcluster.platform.sh/managed-by': virtualCluster,
        'vcluster.platform.sh/namespace': namespace,
      },
    },
    spec: { containers: [{ name: 'c', image: 'i' }], nodeName: 'node-1' },
  })
  const conditions = [{ type: 'Ready', status: 'True' }]
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions }
  await host.patch(PODS, ref, { status }, 'status')
}

test("a Service with a selector: the host's controller makes its Endpoints, of Pods of this namespace (18.1, 18.4)", async () => {
  const ref = at('selecting')
  await createPod('pod-of-selecting', 'selecting', '10.3.1.1')
  const before = await virtual.create(SERVICES, ref, {
    spec: { selector: { app: 'selecting' }, ports: [{ name: 'sql', port: 5432 }] },
  })
  const service = await host.shows(SERVICES, hostRef(ref), {})
  expect(service.spec).toMatchObject({
    selector: {
      app: 'selecting',
      'vcluster.platform.sh/managed-by': virtualCluster,
      'vcluster.platform.sh/namespace': namespace,
    },
  })
  await host.shows(ENDPOINTS, hostRef(ref), { subsets: [{ addresses: [{ ip: '10.3.1.1' }] }] })
  // The virtual cluster's controller makes slices of its own Pods as well: they stay in the virtual cluster.
  const own = await virtual.shows(ENDPOINTS, ref, { metadata: { labels: OF_CONTROLLER } })
  await world.caughtUp(syncer)
  expect((await host.get(ENDPOINTS, hostRef(ref))).metadata.labels).toMatchObject(OF_CONTROLLER)
  expect(await virtual.events(own)).toEqual([])
  await expectUntouched(virtual, SERVICES, before)
})

test('a selector gained: our Endpoints go, and the host makes its own (18.1)', async () => {
  const ref = at('gaining')
  await createPod('pod-of-gaining', 'gaining', '10.3.2.1')
  await pair(ref, '10.3.2.9')
  const ours = await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.3.2.9'))
  await virtual.patch(SERVICES, ref, { spec: { selector: { app: 'gaining' } } })
  // The controller may first write into the syncer's Endpoints, which are deleted all the same.
  const isAnother = (made: SeenObject): boolean =>
    isOfController(made) && made.metadata.uid !== ours.metadata.uid
  const made = await host.until(ENDPOINTS, hostRef(ref), "is the controller's own", isAnother)
  await host.shows(ENDPOINTS, hostRef(ref), { subsets: [{ addresses: [{ ip: '10.3.2.1' }] }] })
  await world.caughtUp(syncer)
  expect((await host.get(ENDPOINTS, hostRef(ref))).metadata.uid).toBe(made.metadata.uid)
})

test("a selector lost: the host's Endpoints go, and ours stand (18.1)", async () => {
  const ref = at('losing')
  await createPod('pod-of-losing', 'losing', '10.3.3.1')
  await virtual.create(SERVICES, ref, {
    spec: { selector: { app: 'losing' }, ports: [{ name: 'sql', port: 5432 }] },
  })
  await host.until(ENDPOINTS, hostRef(ref), "is the controller's", isOfController)
  await virtual.until(ENDPOINTS, ref, "is the controller's", isOfController)
  await virtual.patch(SERVICES, ref, { spec: { selector: null } })
  await virtual.patch(ENDPOINTS, ref, {
    ...endpointsAt('10.3.3.9'),
    metadata: { labels: { 'endpoints.kubernetes.io/managed-by': null } },
  })
  const ours = await host.shows(ENDPOINTS, hostRef(ref), {
    ...endpointsAt('10.3.3.9'),
    metadata: { annotations: { 'vcluster.platform.sh/object-name': ref.name } },
  })
  await world.caughtUp(syncer)
  expect((await host.get(ENDPOINTS, hostRef(ref))).metadata.uid).toBe(ours.metadata.uid)
  expect(await virtual.get(ENDPOINTS, ref)).toMatchObject(endpointsAt('10.3.3.9'))
})

test('a selector gained and lost while no syncer runs (18.1)', async () => {
  const [gaining, losing] = [at('gaining-unseen'), at('losing-unseen')]
  await pair(gaining, '10.3.4.1')
  await host.shows(ENDPOINTS, hostRef(gaining), endpointsAt('10.3.4.1'))
  await virtual.create(SERVICES, losing, {
    spec: { selector: { app: 'none' }, ports: [{ name: 'sql', port: 5432 }] },
  })
  await host.until(ENDPOINTS, hostRef(losing), "is the controller's", isOfController)
  await virtual.until(ENDPOINTS, losing, "is the controller's", isOfController)
  await syncer.stop()
  await virtual.patch(SERVICES, gaining, { spec: { selector: { app: 'none' } } })
  await virtual.patch(SERVICES, losing, { spec: { selector: null } })
  // The virtual cluster's controller leaves its label on its Endpoints: that label proves nothing about the host's controller.
  await virtual.patch(ENDPOINTS, losing, endpointsAt('10.3.4.2'))
  syncer = await world.start()
  await host.until(ENDPOINTS, hostRef(gaining), "is the controller's", isOfController)
  await host.shows(ENDPOINTS, hostRef(losing), {
    ...endpointsAt('10.3.4.2'),
    metadata: { annotations: { 'vcluster.platform.sh/object-name': losing.name } },
  })
})

test('Endpoints become EndpointSlices on the host by its own mirroring (16.2)', async () => {
  const ref = at('mirrored')
  await pair(ref, '10.3.5.1')
  const onHost = hostRef(ref)
  const selector = encodeURIComponent(`kubernetes.io/service-name=${onHost.name}`)
  const path = `/apis/discovery.k8s.io/v1/namespaces/${hostNamespace}/endpointslices?labelSelector=${selector}`
  const slicesAt = (ip: string): Promise<boolean> =>
    eventually(
      `a slice has ${ip}`,
      async () => {
        const { body } = await planes.host.raw<{ readonly items: readonly object[] }>('GET', path)
        expect(body.items).toMatchObject([{ endpoints: [{ addresses: [ip] }] }])
        return true
      },
      SOON,
    )
  await slicesAt('10.3.5.1')
  await virtual.patch(ENDPOINTS, ref, endpointsAt('10.3.5.2'))
  expect(await slicesAt('10.3.5.2')).toBe(true)
})
