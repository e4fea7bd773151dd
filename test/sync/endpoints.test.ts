// Endpoints of a virtual cluster on its host.
import { beforeAll, expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { SELECTORLESS, createPair, endpointsAt } from '../support/sync-side.ts'
import {
  NO_WRITES,
  type Syncer,
  expectUntouched,
  syncPlanes,
  syncWorld,
} from '../support/sync-world.ts'

const world = await syncWorld(await syncPlanes())
const { virtual, host, hostRef, virtualCluster, hostNamespace } = world
const namespace = await world.namespace()
const at = (name: string) => ({ namespace, name })
let syncer: Syncer
beforeAll(async () => {
  syncer = await world.start()
})

test('Service first: both stand on the host, with marks and the own Service as owner (17.2, 17.4, 18.1)', async () => {
  const ref = at('service-first')
  const before = await createPair(virtual, ref, '10.1.0.1')
  const seen = await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.1.0.1'))
  const { uid } = await host.get(SERVICES, world.ownService).then(({ metadata }) => metadata)
  expect(seen.metadata.ownerReferences).toEqual([
    { apiVersion: 'v1', kind: 'Service', name: virtualCluster, uid, controller: false },
  ])
  expect(seen.metadata.labels).toMatchObject({
    'vcluster.platform.sh/managed-by': virtualCluster,
    'vcluster.platform.sh/namespace': namespace,
  })
  expect(seen.metadata.annotations).toMatchObject({
    'vcluster.platform.sh/object-name': ref.name,
    'vcluster.platform.sh/object-namespace': namespace,
    'vcluster.platform.sh/object-uid': before.metadata.uid,
    'vcluster.platform.sh/object-kind': '/v1, Kind=Endpoints',
    'vcluster.platform.sh/object-host-name': hostRef(ref).name,
    'vcluster.platform.sh/object-host-namespace': hostNamespace,
  })
  await expectUntouched(virtual, ENDPOINTS, before)
})

test('Endpoints first: they follow their Service (18.1)', async () => {
  const ref = at('endpoints-first')
  const before = await virtual.create(ENDPOINTS, ref, endpointsAt('10.1.0.2'))
  await world.caughtUp(syncer)
  expect(await host.read(ENDPOINTS, hostRef(ref))).toBeNull()
  await virtual.create(SERVICES, ref, SELECTORLESS)
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.1.0.2'))
  await expectUntouched(virtual, ENDPOINTS, before)
})

test('at rest nothing is written (19.7)', async () => {
  const mark = await world.mark()
  await world.caughtUp(syncer)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})
