// Patches that fail, that never settle, and that try to reach what they must not.
import { describe, expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import { metric } from '../support/metrics-page.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { SELECTORLESS, endpointsAt } from '../support/sync-side.ts'
import { NO_WRITES, expectUntouched, syncPlanes } from '../support/sync-world.ts'

const world = await fileWorld(await syncPlanes())
const { virtual, host, hostRef, namespace, at, pair } = world

const withPatches = (...patches: readonly object[]): Promise<void> =>
  world.configure({ endpoints: { patches } })

test('an expression that fails: nothing of its object is written, an Event says where, the rest goes on (19.8)', async () => {
  await withPatches(
    { path: 'metadata.labels.app', expression: 'value' },
    { path: 'metadata.annotations["example.com/bad"]', expression: 'value.missing.field' },
  )
  await using syncer = await world.start()
  const ref = at('failing')
  await virtual.create(SERVICES, ref, SELECTORLESS)
  const before = await virtual.create(ENDPOINTS, ref, {
    ...endpointsAt('10.8.0.1'),
    metadata: { annotations: { 'example.com/bad': 'x' } },
  })
  const event = await virtual.event(before, 'PatchFailed')
  expect(event.message).toMatch(
    /^sync\.toHost\.endpoints\.patches\[1\] at metadata\.annotations\["example\.com\/bad"\]: /,
  )
  await pair(at('beside-failing'), '10.8.0.2')
  await host.shows(ENDPOINTS, hostRef(at('beside-failing')), endpointsAt('10.8.0.2'))
  expect(await host.read(ENDPOINTS, hostRef(ref))).toBeNull()
  expect(await metric(syncer, 'platform_sync_objects', 'kind="Endpoints"', 'state="failed"')).toBe(
    1,
  )
  await expectUntouched(virtual, ENDPOINTS, before)

  await virtual.patch(ENDPOINTS, ref, { metadata: { annotations: { 'example.com/bad': null } } })
  const onHost = await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.8.0.1'))
  // It fails again while a host object stands: that one stays as it is, until the patches are right.
  const again = await virtual.patch(ENDPOINTS, ref, {
    ...endpointsAt('10.8.0.3'),
    metadata: { annotations: { 'example.com/bad': 'y' } },
  })
  await world.caughtUp(syncer)
  await expectUntouched(host, ENDPOINTS, onHost)
  await withPatches({ path: 'metadata.annotations["example.com/bad"]', expression: '"good"' })
  await host.shows(ENDPOINTS, hostRef(ref), {
    ...endpointsAt('10.8.0.3'),
    metadata: { annotations: { 'example.com/bad': 'good' } },
  })
  await expectUntouched(virtual, ENDPOINTS, again)
})

// biome-ignore format: a table
const HOSTILE = [
  { what: 'loops', expression: '(() => { for (;;); })()' },
  { what: 'fills memory', expression: 'Array(1e8).fill("x".repeat(1000)).join("")' },
  { what: 'returns no JSON', expression: 'NaN' },
  { what: 'gives a number where text is needed', expression: '5' },
  { what: 'returns a promise', expression: 'Promise.resolve(1)' },
]
test.each(HOSTILE)(
  'an expression that $what is an error of its object, and the next one works (19.3, 19.4)',
  async ({ expression, what }) => {
    await withPatches({ path: 'metadata.annotations.hostile', expression })
    await using syncer = await world.start()
    const ref = at(`hostile-${HOSTILE.findIndex((row) => row.what === what)}`)
    await virtual.create(SERVICES, ref, SELECTORLESS)
    const before = await virtual.create(ENDPOINTS, ref, {
      ...endpointsAt('10.8.1.1'),
      metadata: { annotations: { hostile: 'x' } },
    })
    await virtual.event(before, 'PatchFailed')
    await world.caughtUp(syncer)
    expect(await host.read(ENDPOINTS, hostRef(ref))).toBeNull()
    await expectUntouched(virtual, ENDPOINTS, before)
    await virtual.remove(ENDPOINTS, ref)
    await syncer.stop()
  },
)

describe('patches that never settle', () => {
  // biome-ignore format: a table
  const UNSTABLE = [
    { what: 'grow', patch: { expression: 'String((parseInt(context.hostObject?.metadata.labels.app) || 0) + 1)' } },
    { what: 'swap', patch: { expression: 'context.hostObject?.metadata.labels.app === "b" ? "c" : "b"' } },
  ]
  test.each(UNSTABLE)(
    '$what: the last good state stays, an Event, then quiet, also after a restart (19.7)',
    async ({ what, patch }) => {
      const ref = at(`unstable-${what.replaceAll(' ', '-')}`)
      await world.configure({})
      let syncer = await world.start()
      await virtual.create(SERVICES, ref, SELECTORLESS)
      const before = await virtual.create(ENDPOINTS, ref, {
        ...endpointsAt('10.8.2.1'),
        metadata: { labels: { app: 'a' } },
      })
      const good = await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'a' } } })
      await world.caughtUp(syncer)

      await withPatches({ path: 'metadata.labels.app', ...patch })
      const event = await virtual.event(before, 'PatchNotStable')
      expect(event.message).toContain('sync.toHost.endpoints.patches[0]')
      const mark = await world.mark()
      await world.caughtUp(syncer)
      await staysTrue(
        'nothing is written',
        async () => expect(await world.writesSince(mark)).toEqual(NO_WRITES),
        { forMs: 1500 },
      )
      await expectLastGood()
      await syncer.stop()
      syncer = await world.start()
      await world.caughtUp(syncer)
      expect(await world.writesSince(mark)).toEqual(NO_WRITES)
      expect(
        await metric(syncer, 'platform_sync_objects', 'kind="Endpoints"', 'state="unstable"'),
      ).toBeGreaterThan(0)
      await expectUntouched(virtual, ENDPOINTS, before)

      // A user changes it: it is examined again, and still does not converge.
      await virtual.patch(ENDPOINTS, ref, endpointsAt('10.8.2.2'))
      await world.caughtUp(syncer)
      await expectLastGood()
      const writes = await world.writesSince(mark)
      expect(writes.virtual).toEqual([])
      expect(writes.host.filter((write) => !write.startsWith('patch'))).toEqual([])
      expect(writes.host.length).toBeLessThan(3)

      await withPatches({ path: 'metadata.labels.app', expression: '"fixed"' })
      const fixed = await host.shows(ENDPOINTS, hostRef(ref), {
        ...endpointsAt('10.8.2.2'),
        metadata: { labels: { app: 'fixed' } },
      })
      expect(fixed.metadata.annotations).not.toHaveProperty(VERDICT)
      expect(await virtual.get(ENDPOINTS, ref)).toMatchObject({
        metadata: { labels: { app: 'a' } },
      })
      await virtual.remove(ENDPOINTS, ref)
      await syncer.stop()

      async function expectLastGood(): Promise<void> {
        const { metadata, ...rest } = await host.get(ENDPOINTS, hostRef(ref))
        const { [VERDICT]: verdict, ...annotations } = metadata.annotations ?? {}
        const { resourceVersion: _, ...others } = metadata
        const { resourceVersion: __, ...expected } = good.metadata
        expect(verdict).toMatch(/^[0-9a-f]{64}$/)
        expect({ ...rest, metadata: { ...others, annotations } }).toEqual({
          ...good,
          metadata: expected,
        })
      }
    },
  )
  const VERDICT = 'vcluster.platform.sh/patches-not-stable'
})

test('node ports that grow with each round: the virtual Service is never written (19.7)', async () => {
  await world.configure({})
  await using syncer = await world.start()
  const ref = at('growing-port')
  await virtual.create(SERVICES, ref, { spec: { type: 'NodePort', ports: [{ port: 1 }] } })
  await host.shows(SERVICES, hostRef(ref), {})
  await world.caughtUp(syncer)
  const before = await virtual.get(SERVICES, ref)
  const { spec } = await host.get(SERVICES, hostRef(ref))
  const path = 'spec.ports[*].nodePort'
  await world.reconfigure(syncer, {
    services: { patches: [{ path, expression: 'value', reverseExpression: 'value + 1' }] },
  })
  await virtual.event(before, 'PatchNotStable')
  const mark = await world.mark()
  await world.caughtUp(syncer)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
  await expectUntouched(virtual, SERVICES, before)
  expect((await host.get(SERVICES, hostRef(ref))).spec).toEqual(spec)
  await virtual.remove(SERVICES, ref)
})

test('a write that the host refuses is reported and retried, and the rest goes on (18.3)', async () => {
  await withPatches({ path: 'metadata.labels.app', expression: 'value + " $"' })
  await using syncer = await world.start()
  const ref = at('refused')
  await virtual.create(SERVICES, ref, SELECTORLESS)
  const before = await virtual.create(ENDPOINTS, ref, {
    ...endpointsAt('10.8.6.1'),
    metadata: { labels: { app: 'a' } },
  })
  const { message } = await virtual.event(before, 'NotWritten')
  expect(message).toMatch(/^The host refuses the object: POST .* 422 Invalid: metadata\.labels/)
  await pair(at('beside-refused'), '10.8.6.2')
  await host.shows(ENDPOINTS, hostRef(at('beside-refused')), endpointsAt('10.8.6.2'))
  expect(
    await metric(syncer, 'platform_sync_objects', 'kind="Endpoints"', 'state="not-written"'),
  ).toBe(1)
  await withPatches({ path: 'metadata.labels.app', expression: 'value + "-b"' })
  await host.shows(ENDPOINTS, hostRef(ref), { metadata: { labels: { app: 'a-b' } } })
  await expectUntouched(virtual, ENDPOINTS, before)
})

test('Endpoints that are too large for etcd on the host say so, with their size (18.3, 19.8)', async () => {
  await withPatches({ path: 'metadata.annotations.big', expression: '"x".repeat(250000)' })
  await using syncer = await world.start()
  const ref = at('large')
  await virtual.create(SERVICES, ref, SELECTORLESS)
  const nodeName = Array.from({ length: 4 }, () => 'n'.repeat(60)).join('.')
  const addresses = Array.from({ length: 5200 }, (_, n) => {
    return { ip: `10.9.${n >> 8}.${n & 255}`, nodeName }
  })
  const before = await virtual.create(ENDPOINTS, ref, {
    subsets: [{ addresses, ports: [{ name: 'sql', port: 5432 }] }],
    metadata: { annotations: { big: 'x' } },
  })
  const { message } = await virtual.event(before, 'NotWritten')
  expect(message).toMatch(/^The host refuses the object: .* 500/)
  expect(message).toMatch(/etcdserver: request is too large|message larger than max/)
  expect(message).toMatch(/the object is too large: 1[6-9]\d{5} bytes of JSON/)
  const lines = syncer.logs()
  expect(lines.filter(({ msg }) => msg.startsWith('reconcile failed'))).toEqual([])
  expect(lines.filter(({ msg }) => msg === 'an object is not in step')).toHaveLength(1)
  await virtual.remove(ENDPOINTS, ref)
})

test('no patch moves marks, name, owner or finalizers, on either side (19.6)', async () => {
  await withPatches({
    path: 'metadata',
    expression:
      '({ ...value, finalizers: ["example.com/x"], ownerReferences: [], uid: "u", labels: { evil: "1" }, annotations: { "vcluster.platform.sh/object-uid": "u" } })',
  })
  await using syncer = await world.start()
  const ref = at('marks')
  const before = await pair(ref, '10.8.3.1')
  const { metadata } = await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.8.3.1'))
  expect(metadata).toMatchObject({
    labels: {
      evil: '1',
      'vcluster.platform.sh/managed-by': world.virtualCluster,
      'vcluster.platform.sh/namespace': namespace,
    },
    annotations: { 'vcluster.platform.sh/object-uid': before.metadata.uid },
    ownerReferences: [{ name: world.ownService.name }],
  })
  expect(metadata.finalizers).toBeUndefined()
  await world.caughtUp(syncer)
  await expectUntouched(virtual, ENDPOINTS, before)
})

test('addresses are checked as patches have left them (18.2)', async () => {
  await withPatches({
    path: 'subsets[*].addresses[*].ip',
    expression: 'value.startsWith("10.9.") ? value : "100.100.100.200"',
  })
  await using syncer = await world.start()
  const ref = at('patched-address')
  const before = await pair(ref, '10.8.4.1')
  await virtual.event(before, 'AddressRefused')
  await world.caughtUp(syncer)
  expect(await host.read(ENDPOINTS, hostRef(ref))).toBeNull()
  await expectUntouched(virtual, ENDPOINTS, before)
})

test('more than ten answers in a minute are merged and delayed, and the last one comes (19.7)', {
  timeout: 150_000,
}, async () => {
  await world.configure({})
  await using syncer = await world.start()
  const ref = at('busy')
  await pair(ref, '10.8.5.0')
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.8.5.0'))
  await world.caughtUp(syncer)
  const mark = await world.mark()
  for (let change = 1; change <= 12; change += 1) {
    await host.patch(ENDPOINTS, hostRef(ref), endpointsAt(`10.8.5.${change}`))
    await world.caughtUp(syncer)
  }
  const { host: writes } = await world.writesSince(mark)
  expect(writes).toHaveLength(10)
  expect(await metric(syncer, 'platform_sync_objects', 'kind="Endpoints"', 'state="delayed"')).toBe(
    1,
  )
  await eventually(
    'it is answered',
    async () => {
      const seen = await host.get(ENDPOINTS, hostRef(ref))
      expect(seen).toMatchObject(endpointsAt('10.8.5.0'))
      return true
    },
    { withinMs: 90_000 },
  )
  expect((await world.writesSince(mark)).host.length).toBeLessThanOrEqual(10 + 1)
})
