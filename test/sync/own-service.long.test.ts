// The virtual cluster's own Service on the host: it owns what the syncer writes, and deleting it cleans up.
import { expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { eventually } from '../support/eventually.ts'
import { metric } from '../support/metrics-page.ts'
import { type Ref, SOON, createPair, endpointsAt } from '../support/sync-side.ts'
import {
  NO_WRITES,
  type Syncer,
  expectOnlyFlows,
  expectUntouched,
  syncPlanes,
  syncWorld,
} from '../support/sync-world.ts'

const world = await syncWorld(await syncPlanes())
const { virtual, host, hostRef, ownService } = world
const namespace = await world.namespace()
const at = (name: string): Ref => ({ namespace, name })
const OWN = { spec: { ports: [{ name: 'https', port: 443 }] } }

test('the host cleans up after a deletion, nothing new is written; all stands again after a new creation (17.4)', async () => {
  const start = await world.mark()
  await using syncer = await world.start()
  const ref = at('owned')
  const before = await createPair(virtual, ref, '10.5.0.1')
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.5.0.1'))
  await host.shows(SERVICES, hostRef(ref), {})

  await host.remove(SERVICES, ownService)
  for (const resource of [SERVICES, ENDPOINTS]) await host.gone(resource, hostRef(ref))
  // Until the deletion reaches the syncer, it may create deleted objects again: the host's garbage collector deletes them, too.
  await waits(syncer, 1)
  for (const resource of [SERVICES, ENDPOINTS]) await host.gone(resource, hostRef(ref))
  const mark = await world.mark()
  const late = at('late')
  const lateEndpoints = await createPair(virtual, late, '10.5.0.2')
  await virtual.patch(ENDPOINTS, ref, endpointsAt('10.5.0.3'))
  await waits(syncer, 2)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
  for (const one of [ref, late])
    for (const resource of [SERVICES, ENDPOINTS])
      expect(await host.read(resource, hostRef(one))).toBeNull()

  const { metadata } = await host.create(SERVICES, ownService, OWN)
  const ownerReferences = [{ name: ownService.name, uid: metadata.uid, controller: false }]
  await host.shows(ENDPOINTS, hostRef(ref), {
    ...endpointsAt('10.5.0.3'),
    metadata: { ownerReferences },
  })
  await host.shows(ENDPOINTS, hostRef(late), {
    ...endpointsAt('10.5.0.2'),
    metadata: { ownerReferences },
  })
  await expectUntouched(virtual, ENDPOINTS, lateEndpoints)
  expect((await virtual.get(ENDPOINTS, ref)).metadata.uid).toBe(before.metadata.uid)
  await expectOnlyFlows(world, start)
})

/** Waits until this many Services and Endpoints wait for the own Service. */
const waits = (syncer: Syncer, count: number): Promise<true> =>
  eventually(
    `${count} of each wait`,
    async () => {
      const counts = await Promise.all(
        ['Service', 'Endpoints'].map((kind) =>
          metric(syncer, 'platform_sync_objects', `kind="${kind}"`, 'state="waiting"'),
        ),
      )
      return counts.every((one) => one === count) || undefined
    },
    SOON,
  )

test('missing at the start: nothing is written until it is there, and the log says so (17.4)', async () => {
  await host.remove(SERVICES, ownService)
  const ref = at('waits')
  await createPair(virtual, ref, '10.5.1.1')
  await using syncer = await world.start()
  expect(syncer.logs().map(({ msg }) => msg)).toContainEqual(
    expect.stringContaining('own Service does not exist, waiting'),
  )
  await host.create(SERVICES, ownService, OWN)
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.5.1.1'))
})

test('the references of orphans are set to the object that is created after a deletion (17.4)', async () => {
  await using syncer = await world.start()
  const ref = at('orphaned')
  await createPair(virtual, ref, '10.5.2.1')
  const { metadata } = await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.5.2.1'))
  await world.caughtUp(syncer)
  await syncer.stop()
  await host.remove(SERVICES, ownService, 'Orphan')
  await host.gone(SERVICES, ownService)
  const own = await host.create(SERVICES, ownService, OWN)
  await world.start()
  const after = await host.shows(ENDPOINTS, hostRef(ref), {
    metadata: { ownerReferences: [{ name: ownService.name, uid: own.metadata.uid }] },
  })
  expect(after.metadata.uid).toBe(metadata.uid)
})

test('owners of others stay beside ours (17.4)', async () => {
  const ref = at('two-owners')
  await createPair(virtual, ref, '10.5.3.1')
  await host.shows(ENDPOINTS, hostRef(ref), {})
  const other = await host.shows(SERVICES, hostRef(ref), {})
  const reference = {
    apiVersion: 'v1',
    kind: 'Service',
    name: other.metadata.name,
    uid: other.metadata.uid,
  }
  await host.patch(ENDPOINTS, hostRef(ref), { metadata: { ownerReferences: [reference] } })
  const after = await host.until(
    ENDPOINTS,
    hostRef(ref),
    'has both owners',
    ({ metadata }) => metadata.ownerReferences?.length === 2,
  )
  expect(after.metadata.ownerReferences).toContainEqual(reference)
})
