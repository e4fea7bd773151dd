// Writes of a syncer that arrive late: they undo nothing that another user has written meanwhile.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ENDPOINTS, type Resource, SERVICES } from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { type FaultProxy, type Rule, first, startProxy } from '../support/fault-proxy.ts'
import type { Pair } from '../support/sync-planes.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { type Ref, SOON, endpointsAt } from '../support/sync-side.ts'
import { type Syncer, expectUntouched, syncPlanes } from '../support/sync-world.ts'

const planes = await syncPlanes()
const world = await fileWorld(planes)
const { virtual, host, hostRef, at, pair } = world
const proxies: Pair<FaultProxy> = {
  virtual: await startProxy(planes.virtual),
  host: await startProxy(planes.host),
}
let syncer: Syncer
beforeAll(async () => {
  syncer = await world.start({
    kubeconfigs: {
      virtual: await proxies.virtual.kubeconfig(planes.virtual.syncerKubeconfig),
      host: await proxies.host.kubeconfig(planes.host.syncerKubeconfig),
    },
  })
})
afterAll(async () => {
  await syncer.stop()
  for (const proxy of [proxies.virtual, proxies.host]) await proxy[Symbol.asyncDispose]()
})

/** Holds the next write of this method to the object. */
const held = (side: 'virtual' | 'host', method: string, resource: Resource, ref: Ref): Rule =>
  proxies[side].on(
    first(1, (request) => {
      const path = pathOf(resource, method === 'POST' ? { namespace: ref.namespace } : ref)
      const isTo = request.path === path || request.path === `${path}/status`
      const isIts = method !== 'POST' || request.body.includes(`"${ref.name}"`)
      return request.method === method && isTo && isIts
    }),
    { kind: 'hold' },
  )

test('a label flows back late: what the user wrote meanwhile stays, and the label follows (18.5)', async () => {
  const ref = at('late-label')
  await pair(ref, '10.10.0.1')
  await virtual.patch(ENDPOINTS, ref, { metadata: { labels: { app: 'a' } } })
  await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'a' } } })
  await world.caughtUp(syncer)
  const fault = held('virtual', 'PUT', ENDPOINTS, ref)
  await host.patch(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'flows' } } })
  await fault.reached(SOON)
  await virtual.patch(ENDPOINTS, ref, {
    ...endpointsAt('10.10.0.2'),
    metadata: { annotations: { mine: 'yes' } },
  })
  fault.release()
  await virtual.shows(ENDPOINTS, ref, {
    ...endpointsAt('10.10.0.2'),
    metadata: { annotations: { mine: 'yes' }, labels: { app: 'flows' } },
  })
  await host.shows(ENDPOINTS, hostRef(ref), {
    ...endpointsAt('10.10.0.2'),
    metadata: { annotations: { mine: 'yes' }, labels: { app: 'flows' } },
  })
})

test('a label that the user changed as well: the virtual one wins (17.3)', async () => {
  const ref = at('both-labels')
  await pair(ref, '10.10.1.1')
  await virtual.patch(ENDPOINTS, ref, { metadata: { labels: { app: 'a' } } })
  await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'a' } } })
  await world.caughtUp(syncer)
  const fault = held('virtual', 'PUT', ENDPOINTS, ref)
  await host.patch(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'host' } } })
  await fault.reached(SOON)
  const before = await virtual.patch(ENDPOINTS, ref, { metadata: { labels: { app: 'mine' } } })
  fault.release()
  await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'mine' } } })
  await world.caughtUp(syncer)
  await expectUntouched(virtual, ENDPOINTS, before)
})

test('a write back to an object that was deleted and created again meanwhile touches the new one no more than it may (18.3, 18.5)', async () => {
  const ref = at('again')
  await pair(ref, '10.10.2.1')
  await virtual.patch(ENDPOINTS, ref, { metadata: { labels: { app: 'a' } } })
  await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'a' } } })
  await world.caughtUp(syncer)
  const fault = held('virtual', 'PUT', ENDPOINTS, ref)
  await host.patch(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'host' } } })
  await fault.reached(SOON)
  await virtual.remove(ENDPOINTS, ref)
  const again = await virtual.create(ENDPOINTS, ref, {
    ...endpointsAt('10.10.2.2'),
    metadata: { labels: { app: 'b' } },
  })
  fault.release()
  await host.shows(ENDPOINTS, hostRef(ref), {
    ...endpointsAt('10.10.2.2'),
    metadata: { labels: { app: 'b' } },
  })
  await world.caughtUp(syncer)
  await expectUntouched(virtual, ENDPOINTS, again)
})

// biome-ignore format: a table
const HOST_WRITES = [
  { what: 'update', method: 'PUT', act: (ref: Ref) => virtual.patch(ENDPOINTS, ref, endpointsAt('10.10.3.2')) },
  { what: 'delete', method: 'DELETE', act: (ref: Ref) => virtual.remove(ENDPOINTS, ref) },
]
test.each(HOST_WRITES)(
  'a late $what on the host meets a foreign object of that name, which stays (16.3, 18.3)',
  async ({ what, method, act }) => {
    const ref = at(`late-${what}`)
    await pair(ref, '10.10.3.1')
    await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.10.3.1'))
    await world.caughtUp(syncer)
    const fault = held('host', method, ENDPOINTS, hostRef(ref))
    await act(ref)
    await fault.reached(SOON)
    await host.remove(ENDPOINTS, hostRef(ref))
    const foreign = await host.create(ENDPOINTS, hostRef(ref), endpointsAt('10.10.3.9'))
    fault.release()
    await world.caughtUp(syncer)
    await expectUntouched(host, ENDPOINTS, foreign)
    expect((await host.get(SERVICES, hostRef(ref))).metadata.name).toBe(hostRef(ref).name)
  },
)

test('a late delete meets an object of ours that a user took the marks off: it stays (16.3)', async () => {
  const ref = at('late-unmarked')
  await pair(ref, '10.10.4.1')
  await host.shows(ENDPOINTS, hostRef(ref), {})
  await world.caughtUp(syncer)
  const fault = held('host', 'DELETE', ENDPOINTS, hostRef(ref))
  await virtual.remove(ENDPOINTS, ref)
  await fault.reached(SOON)
  const foreign = await host.patch(ENDPOINTS, hostRef(ref), {
    metadata: { annotations: { 'vcluster.platform.sh/object-name': null } },
  })
  fault.release()
  await world.caughtUp(syncer)
  await expectUntouched(host, ENDPOINTS, foreign)
})

test("a load balancer's status that comes late changes nothing else of the Service (18.4)", async () => {
  const ref = at('late-status')
  await virtual.create(SERVICES, ref, { spec: { type: 'LoadBalancer', ports: [{ port: 1 }] } })
  await host.shows(SERVICES, hostRef(ref), {})
  await world.caughtUp(syncer)
  const fault = held('virtual', 'PATCH', SERVICES, ref)
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.20', ipMode: 'VIP' }] } }
  await host.patch(SERVICES, hostRef(ref), { status }, 'status')
  await fault.reached(SOON)
  await virtual.patch(SERVICES, ref, [{ op: 'replace', path: '/spec/ports/0/port', value: 2 }])
  fault.release()
  await virtual.shows(SERVICES, ref, { spec: { ports: [{ port: 2 }] }, status })
  await host.shows(SERVICES, hostRef(ref), { spec: { ports: [{ port: 2 }] } })
})

test('a create that comes late is one of two, and the host has one object (18.3)', async () => {
  const ref = at('late-create')
  const fault = held('host', 'POST', ENDPOINTS, hostRef(ref))
  const before = await pair(ref, '10.10.5.1')
  await fault.reached(SOON)
  const foreign = await host.create(ENDPOINTS, hostRef(ref), endpointsAt('10.10.5.9'))
  fault.release()
  await virtual.event(before, 'NameTaken')
  await expectUntouched(host, ENDPOINTS, foreign)
  await expectUntouched(virtual, ENDPOINTS, before)
})
