// Services of a virtual cluster with both IP families, the first of which its host does not have.
import { beforeAll, expect, test } from 'vitest'
import { SERVICES } from '../../src/api/names.ts'
import type { Ref, SeenObject } from '../support/sync-side.ts'
import { NO_WRITES, type Syncer, ownSyncPlanes, syncWorld } from '../support/sync-world.ts'

const planes = await ownSyncPlanes({
  virtual: ['--service-cluster-ip-range=fd00:10:96::/112,10.96.0.0/16'],
})
const world = await syncWorld(planes)
const { virtual, host, hostRef } = world
const namespace = await world.namespace()
let syncer: Syncer
beforeAll(async () => {
  syncer = await world.start()
})
const at = (name: string): Ref => ({ namespace, name })
const created = (name: string, spec: object): Promise<SeenObject> =>
  virtual.create(SERVICES, at(name), { spec: { ports: [{ port: 80 }], ...spec } })

test.each([
  { name: 'plain', spec: {}, policy: 'SingleStack' },
  { name: 'preferring', spec: { ipFamilyPolicy: 'PreferDualStack' }, policy: 'PreferDualStack' },
  {
    name: 'preferring-in-order',
    spec: { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] },
    policy: 'PreferDualStack',
  },
  {
    name: 'headless',
    spec: { clusterIP: 'None', selector: { app: 'web' }, ipFamilyPolicy: 'PreferDualStack' },
    policy: 'PreferDualStack',
  },
])('a Service that is $name takes what its host has (18.4)', async ({ name, spec, policy }) => {
  const before = await created(name, spec)
  await host.shows(SERVICES, hostRef(at(name)), {
    spec: { ipFamilies: ['IPv4'], ipFamilyPolicy: policy },
  })
  await world.caughtUp(syncer)
  expect(await virtual.get(SERVICES, at(name))).toEqual(before)
})

test('a Service that becomes PreferDualStack is in step, and nothing more is written (18.4, 19.7)', async () => {
  await created('becoming', {})
  await host.shows(SERVICES, hostRef(at('becoming')), { spec: { ipFamilyPolicy: 'SingleStack' } })
  await virtual.patch(SERVICES, at('becoming'), { spec: { ipFamilyPolicy: 'PreferDualStack' } })
  await host.shows(SERVICES, hostRef(at('becoming')), {
    spec: { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv4'] },
  })
  await world.caughtUp(syncer)
  const mark = await world.mark()
  await world.caughtUp(syncer)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})

test('a write of what flows back chooses no family (18.4)', async () => {
  await created('node-port', { type: 'NodePort' })
  const onHost = await host.shows(SERVICES, hostRef(at('node-port')), {})
  const { ports } = onHost['spec'] as { readonly ports: readonly { readonly nodePort: number }[] }
  await virtual.shows(SERVICES, at('node-port'), {
    spec: { ipFamilies: ['IPv6'], ports: [{ nodePort: ports[0]?.nodePort }] },
  })
  await host.remove(SERVICES, hostRef(at('node-port')))
  const again = (now: SeenObject): boolean => now.metadata.uid !== onHost.metadata.uid
  const made = await host.until(SERVICES, hostRef(at('node-port')), 'is created again', again)
  expect(made['spec']).toMatchObject({ ipFamilies: ['IPv4'] })
})

test.each([
  { name: 'requiring', spec: { ipFamilyPolicy: 'RequireDualStack' } },
  { name: 'choosing', spec: { ipFamilies: ['IPv6'] } },
])('a Service that is $name what the host lacks is not written (18.4)', async ({ name, spec }) => {
  const service = await created(name, spec)
  await virtual.event(service, 'NotWritten')
  expect(await host.read(SERVICES, hostRef(at(name)))).toBeNull()
})
