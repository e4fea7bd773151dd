// Services of a virtual cluster on its host. Each test has Services of its own, so five run at a time.
// Node ports that a test names are below 30086: an API server assigns these last, so no other Service has one by chance.
import { expect, test } from 'vitest'
import { SERVICES } from '../../src/api/names.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import type { Draft, SeenObject } from '../support/sync-side.ts'
import { NO_WRITES, expectUntouched, syncPlanes } from '../support/sync-world.ts'
import { sampled } from '../support/tier.ts'

const world = await fileWorld(await syncPlanes())
const { virtual, host, hostRef, namespace, at } = world
const syncer = await world.start({ flags: ['--allow-external-ip-cidr=198.51.100.0/24'] })

const PORTS = [{ name: 'sql', port: 5432 }]
const created = (name: string, spec: object): Promise<SeenObject> =>
  virtual.create(SERVICES, at(name), { spec: { ports: PORTS, ...spec } })
const onHost = (name: string, match: object = {}): Promise<SeenObject> =>
  host.shows(SERVICES, hostRef(at(name)), match)

/** The fields of a Service that flow back, replaced; all others must be as they were. */
const withoutFlows = (service: SeenObject): object => {
  const { metadata, spec, status: _, ...rest } = service as SeenObject & { spec: Draft }
  const { resourceVersion: __, ...kept } = metadata
  const { ports, ...others } = spec
  const plain = (ports as readonly Draft[]).map(({ nodePort: ___, ...port }) => port)
  return { ...rest, metadata: kept, spec: { ...others, ports: plain } }
}

test.concurrent('cluster IPs are of each cluster, and a headless Service stays one (18.4, 18.5)', async () => {
  const [plain, headless] = [
    await created('plain', {}),
    await created('headless', { clusterIP: 'None' }),
  ]
  const seen = await onHost('plain')
  expect(seen.spec).toMatchObject({
    clusterIP: expect.stringMatching(/^10\.96\./),
    type: 'ClusterIP',
  })
  await onHost('headless', { spec: { clusterIP: 'None', clusterIPs: ['None'] } })
  await world.caughtUp(syncer)
  await expectUntouched(virtual, SERVICES, plain)
  await expectUntouched(virtual, SERVICES, headless)
})

test.concurrent("a NodePort Service gets the host's numbers in both clusters (18.4, 18.5)", async () => {
  const before = await created('node-ports', {
    type: 'NodePort',
    ports: [...PORTS, { name: 'web', port: 80 }],
  })
  const { spec } = (await onHost('node-ports')) as SeenObject & {
    spec: { ports: { nodePort: number }[] }
  }
  const [one, two] = spec.ports.map(({ nodePort }) => nodePort)
  const after = await virtual.shows(SERVICES, at('node-ports'), {
    spec: {
      ports: [
        { name: 'sql', nodePort: one },
        { name: 'web', nodePort: two },
      ],
    },
  })
  expect(withoutFlows(after)).toEqual(withoutFlows(before))
  const moved = one === 30_001 ? 30_002 : 30_001
  await host.patch(SERVICES, hostRef(at('node-ports')), [
    { op: 'replace', path: '/spec/ports/0/nodePort', value: moved },
  ])
  await virtual.shows(SERVICES, at('node-ports'), {
    spec: { ports: [{ nodePort: moved }, { nodePort: two }] },
  })
})

test.concurrent('a node port that another Service of the virtual cluster has: an Event, and changes still cross (18.3, 18.5)', async () => {
  const other = await virtual.create(SERVICES, at('clash-other'), {
    metadata: { annotations: { 'vcluster.platform.sh/skip-sync': 'true' } },
    spec: { type: 'NodePort', ports: [{ port: 1, nodePort: 30_003 }] },
  })
  await created('clash', { type: 'NodePort' })
  await onHost('clash')
  await world.caughtUp(syncer)
  const before = await virtual.get(SERVICES, at('clash'))
  await host.patch(SERVICES, hostRef(at('clash')), [
    { op: 'replace', path: '/spec/ports/0/nodePort', value: 30_003 },
  ])
  const { message } = await virtual.event(before, 'NotWritten')
  expect(message).toMatch(/^The virtual cluster refuses the object: PUT .* 422 Invalid/)
  await expectUntouched(virtual, SERVICES, before)
  await virtual.patch(SERVICES, at('clash'), { metadata: { labels: { changed: 'yes' } } })
  await onHost('clash', { metadata: { labels: { changed: 'yes' } } })
  await virtual.remove(SERVICES, other.metadata)
  await virtual.shows(SERVICES, at('clash'), { spec: { ports: [{ nodePort: 30_003 }] } })
})

test.concurrent("the load balancer's status flows back, and goes with it (18.4, 18.5)", async () => {
  const before = await created('balanced', { type: 'LoadBalancer' })
  await onHost('balanced')
  const ingress = [{ ip: '192.0.2.10', ipMode: 'VIP' }]
  await host.patch(
    SERVICES,
    hostRef(at('balanced')),
    { status: { loadBalancer: { ingress } } },
    'status',
  )
  const after = await virtual.shows(SERVICES, at('balanced'), {
    status: { loadBalancer: { ingress } },
  })
  expect(withoutFlows(after)).toEqual(withoutFlows(before))
  await host.patch(SERVICES, hostRef(at('balanced')), { status: { loadBalancer: null } }, 'status')
  await virtual.until(
    SERVICES,
    at('balanced'),
    'has no address',
    ({ status }) => !Object.hasOwn((status as { loadBalancer: object }).loadBalancer, 'ingress'),
  )
})

test.concurrent('a status that a user wrote in the virtual cluster is overwritten (18.4)', async () => {
  await created('two-statuses', { type: 'LoadBalancer' })
  await onHost('two-statuses')
  const ip = (value: string) => ({
    status: { loadBalancer: { ingress: [{ ip: value, ipMode: 'VIP' }] } },
  })
  await host.patch(SERVICES, hostRef(at('two-statuses')), ip('192.0.2.11'), 'status')
  await virtual.shows(SERVICES, at('two-statuses'), ip('192.0.2.11'))
  await virtual.patch(SERVICES, at('two-statuses'), ip('203.0.113.66'), 'status')
  await virtual.shows(SERVICES, at('two-statuses'), ip('192.0.2.11'))
  expect(await host.get(SERVICES, hostRef(at('two-statuses')))).toMatchObject(ip('192.0.2.11'))
})

test.concurrent("a health check port that the host has assigned is the host's own, and does not flow back (18.4)", async () => {
  const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }
  await host.create(
    SERVICES,
    { namespace: world.hostNamespace, name: 'takes-the-port' },
    { spec: { ports: PORTS, ...local, healthCheckNodePort: 30_011 } },
  )
  const before = await created('health-taken', { ...local, healthCheckNodePort: 30_011 })
  const free = await created('health-free', { ...local, healthCheckNodePort: 30_012 })
  await onHost('health-free', { spec: { healthCheckNodePort: 30_012 } })
  const { spec } = (await onHost('health-taken')) as SeenObject & {
    spec: { healthCheckNodePort: number }
  }
  expect(spec.healthCheckNodePort).not.toBe(30_011)
  await world.caughtUp(syncer)
  for (const one of [before, free])
    expect(withoutFlows(await virtual.get(SERVICES, one.metadata))).toEqual(withoutFlows(one))
})

test.concurrent('external IPs that no flag allows are dropped, with an Event (18.6)', async () => {
  const before = await created('external', {
    externalIPs: ['198.51.100.7', '203.0.113.7'],
    externalTrafficPolicy: 'Local',
  })
  const none = await created('external-none', {
    externalIPs: ['203.0.113.8'],
    externalTrafficPolicy: 'Local',
  })
  await onHost('external', {
    spec: { externalIPs: ['198.51.100.7'], externalTrafficPolicy: 'Local' },
  })
  const seen = await onHost('external-none')
  expect(seen.spec).not.toHaveProperty('externalIPs')
  expect(seen.spec).not.toHaveProperty('externalTrafficPolicy')
  for (const one of [before, none]) {
    const { message } = await virtual.event(one, 'AddressRefused')
    expect(message).toMatch(/203\.0\.113\.[78] is in no range that external IPs are allowed from/)
    await expectUntouched(virtual, SERVICES, one)
  }
})

test.concurrent('an ExternalName of a Service of the virtual cluster is translated, another tenant is not reached (18.6)', async () => {
  const name = (externalName: string) => ({ type: 'ExternalName', externalName, ports: [] })
  const other = `later.${namespace}.svc.cluster.local`
  const outside = await created('outside', name('db.example.com'))
  const inside = await created('inside', name(other))
  const foreign = await created('foreign', name('api.tenant-b.svc.cluster.local'))
  await onHost('outside', { spec: { type: 'ExternalName', externalName: 'db.example.com' } })
  for (const one of [inside, foreign]) {
    await virtual.event(one, 'AddressRefused')
    expect(await host.read(SERVICES, hostRef(one.metadata))).toBeNull()
  }
  await created('later', {})
  const { name: hostName, namespace: hostNamespace } = hostRef(at('later'))
  await onHost('inside', {
    spec: { externalName: `${hostName}.${hostNamespace}.svc.cluster.local` },
  })
  await world.caughtUp(syncer)
  expect(await host.read(SERVICES, hostRef(foreign.metadata))).toBeNull()
  for (const one of [outside, inside, foreign]) await expectUntouched(virtual, SERVICES, one)
})

// biome-ignore format: a table
const TYPES = [
  { from: { type: 'ClusterIP' }, to: { type: 'NodePort' } },
  { from: { type: 'NodePort' }, to: { type: 'ClusterIP' } },
  { from: { type: 'LoadBalancer' }, to: { type: 'ClusterIP' } },
  { from: { type: 'ClusterIP' }, to: { type: 'ExternalName', externalName: 'a.example.com', clusterIP: null, clusterIPs: null } },
  { from: { type: 'ExternalName', externalName: 'a.example.com' }, to: { type: 'ClusterIP', externalName: null } },
]
test.concurrent.each(sampled(TYPES, 3, 1))(
  '$from.type becomes $to.type (18.4)',
  async ({ from, to }) => {
    const name = `type-${from.type}-${to.type}`.toLowerCase()
    await created(name, from)
    await onHost(name, { spec: { type: from.type } })
    const before = await virtual.patch(SERVICES, at(name), { spec: to })
    await onHost(name, { spec: { type: to.type } })
    await world.caughtUp(syncer)
    const after = await virtual.get(SERVICES, at(name))
    expect(withoutFlows(after)).toEqual(withoutFlows(before))
    // The API server repairs addresses at any time, and says so.
    const events = (await virtual.events(after)).filter(({ reason }) => !REPAIRS.has(reason))
    expect(events).toEqual([])
  },
)

/** Reasons of the API server's own events about the addresses of Services. */
const REPAIRS: ReadonlySet<string> = new Set(['ClusterIPNotAllocated'])

test.concurrent('a headless Service that becomes another is created again on the host, as in the virtual cluster (18.3, 18.4)', async () => {
  await created('was-headless', { clusterIP: 'None' })
  const { metadata } = await onHost('was-headless')
  await virtual.remove(SERVICES, at('was-headless'))
  const before = await created('was-headless', {})
  const seen = await host.until(
    SERVICES,
    hostRef(at('was-headless')),
    'is another one',
    (now) => now.metadata.uid !== metadata.uid,
  )
  expect(seen.spec).toMatchObject({ clusterIP: expect.stringMatching(/^10\./) })
  await expectUntouched(virtual, SERVICES, before)
})

test.concurrent('a changed port crosses, and keeps its number on the host (18.4)', async () => {
  await created('port-changed', { type: 'NodePort' })
  const { spec } = (await virtual.until(
    SERVICES,
    at('port-changed'),
    'is on the host',
    () => true,
  )) as SeenObject & { spec: { ports: Draft[] } }
  expect(spec.ports).toHaveLength(1)
  const seen = await onHost('port-changed')
  const [{ nodePort } = { nodePort: 0 }] = (seen.spec as { ports: { nodePort: number }[] }).ports
  await virtual.shows(SERVICES, at('port-changed'), { spec: { ports: [{ nodePort }] } })
  await virtual.patch(SERVICES, at('port-changed'), [
    { op: 'replace', path: '/spec/ports/0/port', value: 5433 },
  ])
  await onHost('port-changed', { spec: { ports: [{ port: 5433, nodePort }] } })
})

test('a syncer at rest writes nothing (19.7)', async () => {
  await world.caughtUp(syncer)
  const mark = await world.mark()
  await world.caughtUp(syncer)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})
