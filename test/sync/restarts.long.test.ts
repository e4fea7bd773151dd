// Syncers that stop, crash, stand by and start again, and what changed meanwhile.
import { expect, test } from 'vitest'
import { CONFIG_MAPS, ENDPOINTS, type Resource, SECRETS, SERVICES } from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { eventually } from '../support/eventually.ts'
import { type Match, isWrite, startProxy } from '../support/fault-proxy.ts'
import { metric } from '../support/metrics-page.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { SOON, endpointsAt } from '../support/sync-side.ts'
import { NO_WRITES, expectUntouched, leads, syncPlanes } from '../support/sync-world.ts'

const planes = await syncPlanes()
const world = await fileWorld(planes, {
  secrets: { all: false },
  endpoints: {
    patches: [
      {
        path: 'metadata.annotations["example.com/backend"]',
        expression: 'virtualToHostDNS(value)',
      },
      {
        path: 'metadata.annotations["example.com/secret"]',
        reference: { apiVersion: 'v1', kind: 'Secret' },
      },
      {
        path: 'metadata.annotations["example.com/map"]',
        reference: { apiVersion: 'v1', kind: 'ConfigMap' },
      },
    ],
  },
})
const { virtual, host, hostRef, at, pair } = world

const ALL: readonly (readonly [Resource, string])[] = [
  [SERVICES, 'all'],
  [ENDPOINTS, 'all'],
  [SECRETS, 'named'],
  [CONFIG_MAPS, 'named'],
]

test('a restart writes nothing, after any stop: SIGTERM, SIGINT, SIGKILL (19.7, 8.3)', async () => {
  await virtual.create(SERVICES, at('all'), {
    metadata: { labels: { release: 'r', app: 'x' }, annotations: { a: 'b' } },
    spec: { type: 'NodePort', ports: [{ port: 1 }] },
  })
  await virtual.create(SECRETS, at('named'), { stringData: { key: 'value' } })
  await virtual.create(CONFIG_MAPS, at('named'), { data: { key: 'value' } })
  await virtual.create(ENDPOINTS, at('all'), {
    ...endpointsAt('10.6.0.1'),
    metadata: {
      annotations: {
        'example.com/backend': 'db.shop.svc',
        'example.com/secret': 'named',
        'example.com/map': 'named',
      },
    },
  })
  let syncer = await world.start()
  for (const [resource, name] of ALL) await host.shows(resource, hostRef(at(name)), {})
  await world.caughtUp(syncer)
  for (const stop of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
    if (stop === 'SIGKILL') await syncer.crash()
    else syncer.kill(stop)
    const exit = stop === 'SIGKILL' ? { code: null, signal: stop } : { code: 0, signal: null }
    expect(await syncer.exited).toEqual(exit)
    const mark = await world.mark()
    syncer = await world.start()
    await world.caughtUp(syncer)
    expect(await world.writesSince(mark)).toEqual(NO_WRITES)
  }
  await syncer.stop()
})

test('a syncer makes good what was deleted, replaced or changed while none ran (18.3)', async () => {
  const names = ['deleted', 'replaced', 'changed', 'drifted', 'lost']
  let syncer = await world.start()
  for (const name of names) await pair(at(name), '10.6.1.1')
  for (const name of names) await host.shows(ENDPOINTS, hostRef(at(name)), endpointsAt('10.6.1.1'))
  const drifted = await virtual.get(ENDPOINTS, at('drifted'))
  const { uid } = (await host.get(ENDPOINTS, hostRef(at('replaced')))).metadata
  await syncer.stop()

  await virtual.remove(ENDPOINTS, at('deleted'))
  await virtual.remove(ENDPOINTS, at('replaced'))
  await virtual.create(ENDPOINTS, at('replaced'), endpointsAt('10.6.1.2'))
  await virtual.patch(ENDPOINTS, at('changed'), endpointsAt('10.6.1.3'))
  await host.patch(ENDPOINTS, hostRef(at('drifted')), endpointsAt('10.6.1.4'))
  await host.remove(ENDPOINTS, hostRef(at('lost')))

  syncer = await world.start()
  await host.gone(ENDPOINTS, hostRef(at('deleted')))
  const replaced = await host.shows(ENDPOINTS, hostRef(at('replaced')), endpointsAt('10.6.1.2'))
  expect(replaced.metadata.uid).not.toBe(uid)
  await host.shows(ENDPOINTS, hostRef(at('changed')), endpointsAt('10.6.1.3'))
  await host.shows(ENDPOINTS, hostRef(at('drifted')), endpointsAt('10.6.1.1'))
  await host.shows(ENDPOINTS, hostRef(at('lost')), endpointsAt('10.6.1.1'))
  await expectUntouched(virtual, ENDPOINTS, drifted)
  await syncer.stop()
})

test('the virtual labels win where both sides changed while no syncer ran (17.3)', async () => {
  const ref = at('both-sides')
  let syncer = await world.start()
  await pair(ref, '10.6.2.1')
  await virtual.patch(ENDPOINTS, ref, { metadata: { labels: { one: 'a', two: 'a' } } })
  await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { one: 'a', two: 'a' } } })
  await syncer.stop()
  await host.patch(ENDPOINTS, hostRef(ref), { metadata: { labels: { one: 'host', two: 'host' } } })
  const before = await virtual.patch(ENDPOINTS, ref, { metadata: { labels: { two: 'virtual' } } })
  syncer = await world.start()
  await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { one: 'a', two: 'virtual' } } })
  await expectUntouched(virtual, ENDPOINTS, before)
  await host.patch(ENDPOINTS, hostRef(ref), { metadata: { labels: { one: 'later' } } })
  await virtual.shows(ENDPOINTS, ref, { metadata: { labels: { one: 'later', two: 'virtual' } } })
  await syncer.stop()
})

// biome-ignore format: a table
const CRASHES = [
  { between: 'the create on the host and its answer', side: 'host', method: 'POST', path: 'endpoints' },
  { between: 'the update on the host and its answer', side: 'host', method: 'PUT', path: 'endpoints' },
  { between: 'the delete on the host and its answer', side: 'host', method: 'DELETE', path: 'endpoints' },
  { between: 'the write back to the virtual cluster and the one to the host', side: 'virtual', method: 'PUT', path: 'endpoints' },
] as const
test.each(CRASHES)('killed between $between: the next one finishes (18.3)', async (row) => {
  const ref = at(`crash-${row.method.toLowerCase()}-${row.side}`)
  await using proxy = await startProxy(planes[row.side])
  const kubeconfig = await proxy.kubeconfig(planes[row.side].syncerKubeconfig)
  await using first = await world.start({ kubeconfigs: { [row.side]: kubeconfig } })
  if (row.method !== 'POST') {
    await pair(ref, '10.6.3.1')
    await virtual.patch(ENDPOINTS, ref, { metadata: { labels: { app: 'a' } } })
    await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'a' } } })
  }
  await world.caughtUp(first)
  const name = row.side === 'host' ? hostRef(ref).name : ref.name
  const isIt: Match = (request) =>
    isWrite(request) &&
    request.method === row.method &&
    request.path.includes(`/${row.path}`) &&
    `${request.path} ${request.body}`.includes(name)
  const fault = proxy.on(isIt, { kind: 'swallow' })
  if (row.method === 'POST') await pair(ref, '10.6.3.1')
  else if (row.method === 'DELETE') await virtual.remove(ENDPOINTS, ref)
  else if (row.side === 'host') await virtual.patch(ENDPOINTS, ref, endpointsAt('10.6.3.2'))
  else await host.patch(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'flows' } } })
  await fault.reached(SOON)
  await first.crash()

  await using next = await world.start()
  await world.caughtUp(next)
  const wanted = row.method === 'PUT' && row.side === 'host' ? '10.6.3.2' : '10.6.3.1'
  const app = row.side === 'virtual' ? { metadata: { labels: { app: 'flows' } } } : {}
  if (row.method === 'DELETE') await host.gone(ENDPOINTS, hostRef(ref))
  else {
    await host.shows(ENDPOINTS, hostRef(ref), { ...endpointsAt(wanted), ...app })
    await virtual.shows(ENDPOINTS, ref, { ...endpointsAt(wanted), ...app })
  }
  const mark = await world.mark()
  await world.caughtUp(next)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})

// biome-ignore format: a table
const LOST = [
  { what: 'create', method: 'POST', act: { kind: 'swallow' } },
  { what: 'create', method: 'POST', act: { kind: 'destroy' } },
  { what: 'update', method: 'PUT', act: { kind: 'swallow' } },
  { what: 'update', method: 'PUT', act: { kind: 'destroy' } },
] as const
test.each(LOST)(
  'an answer to a $what on the host is lost ($act.kind): it is made good (18.3)',
  async (row) => {
    await using proxy = await startProxy(planes.host)
    const kubeconfig = await proxy.kubeconfig(planes.host.syncerKubeconfig)
    await using syncer = await world.start({ kubeconfigs: { host: kubeconfig } })
    const ref = at(`lost-${row.method}-${row.act.kind}`.toLowerCase())
    if (row.method === 'PUT') {
      await pair(ref, '10.6.4.1')
      await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.6.4.1'))
    }
    const path = pathOf(ENDPOINTS, { namespace: world.hostNamespace })
    const fault = proxy.on(
      (request) => request.method === row.method && request.path.startsWith(path),
      row.act,
    )
    const before =
      row.method === 'POST'
        ? await pair(ref, '10.6.4.2')
        : await virtual.patch(ENDPOINTS, ref, endpointsAt('10.6.4.2'))
    await fault.reached(SOON)
    fault.remove()
    await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.6.4.2'))
    await expectUntouched(virtual, ENDPOINTS, before)
    await world.caughtUp(syncer)
    await syncer.stop()
  },
)

test('one of two syncers leads; the other takes over at once when it stops (16.1)', async () => {
  await using first = await world.start()
  await leads(first)
  await using second = await world.start()
  const ref = at('taken-over')
  await pair(ref, '10.6.5.1')
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.6.5.1'))
  expect(await metric(second, 'leader_election_master_status')).toBe(0)
  expect(await metric(second, 'platform_sync_writes_total')).toBe(0)
  expect(await first.stop()).toEqual({ code: 0, signal: null })
  await leads(second)
  const before = await virtual.patch(ENDPOINTS, ref, endpointsAt('10.6.5.2'))
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.6.5.2'))
  await expectUntouched(virtual, ENDPOINTS, before)
})

test('a leader that loses its Lease ends, and writes nothing more (16.1)', async () => {
  await using syncer = await world.start({
    flags: [
      '--leader-elect-lease-duration=9s',
      '--leader-elect-renew-deadline=7s',
      '--leader-elect-retry-period=500ms',
    ],
  })
  await leads(syncer)
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${world.hostNamespace}/leases/syncer-${world.virtualCluster}`
  const { code } = await planes.host.raw('PATCH', lease, {
    spec: { holderIdentity: 'a-test', leaseDurationSeconds: 3600 },
  })
  expect(code).toBe(200)
  expect(await syncer.exited).toEqual({ code: 1, signal: null })
  await planes.host.raw('DELETE', lease)
})

test('SIGTERM while a write is under way waits for it (8.3)', async () => {
  await using proxy = await startProxy(planes.host)
  const kubeconfig = await proxy.kubeconfig(planes.host.syncerKubeconfig)
  await using syncer = await world.start({ kubeconfigs: { host: kubeconfig } })
  const path = pathOf(ENDPOINTS, { namespace: world.hostNamespace })
  const fault = proxy.on((request) => request.method === 'POST' && request.path.startsWith(path), {
    kind: 'hold',
  })
  const ref = at('held')
  await pair(ref, '10.6.6.1')
  await fault.reached(SOON)
  syncer.kill('SIGTERM')
  await eventually(
    'it stops',
    () => syncer.logs().some(({ msg }) => msg === 'stopping') || undefined,
    SOON,
  )
  fault.release()
  expect(await syncer.exited).toEqual({ code: 0, signal: null })
  expect(await host.get(ENDPOINTS, hostRef(ref))).toMatchObject(endpointsAt('10.6.6.1'))
})
