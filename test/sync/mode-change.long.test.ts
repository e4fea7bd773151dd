// Multi-namespace mode switched on and off while a syncer runs.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ENDPOINTS, SECRETS } from '../../src/api/names.ts'
import { uniqueName } from '../support/object-builder.ts'
import {
  deleteMarkedNamespaces,
  grantNamespaces,
  namespacesOf,
} from '../support/sync-namespaces.ts'
import { createPair, endpointsAt } from '../support/sync-side.ts'
import { type Syncer, syncPlanes, syncWorld } from '../support/sync-world.ts'

const planes = await syncPlanes()
await grantNamespaces(planes)
const REFERENCE = 'metadata.annotations["example.com/secret"]'
const configOf = (enabled: boolean) => ({
  namespaces: { enabled },
  endpoints: { patches: [{ path: REFERENCE, reference: { apiVersion: 'v1', kind: 'Secret' } }] },
})
const world = await syncWorld(planes, configOf(false))
const { virtual, host, hostRef } = world
const namespace = uniqueName('mode')
const ref = { namespace, name: 'db' }
const separate = { namespace: `${world.virtualCluster}-x-${namespace}`, name: 'db' }
const annotated = (secret: string) => ({
  metadata: { annotations: { 'example.com/secret': secret } },
})

let syncer: Syncer
beforeAll(async () => {
  syncer = await world.start()
})
afterAll(() => deleteMarkedNamespaces(planes.host, world))

test('a change of the mode writes each object again in its other place, and no patch fails on the way (17.5, 19.5)', async () => {
  await namespacesOf(planes.virtual).create(namespace)
  await virtual.create(SECRETS, { namespace, name: 'password' }, { type: 'Opaque' })
  const endpoints = await createPair(virtual, ref, '10.2.7.1')
  await virtual.patch(ENDPOINTS, ref, annotated('password'))
  await host.shows(ENDPOINTS, hostRef(ref), {
    ...endpointsAt('10.2.7.1'),
    ...annotated(hostRef({ namespace, name: 'password' }).name),
  })

  await world.reconfigure(syncer, configOf(true))
  await host.shows(ENDPOINTS, separate, { ...endpointsAt('10.2.7.1'), ...annotated('password') })
  await virtual.patch(ENDPOINTS, ref, endpointsAt('10.2.7.3'))
  await host.shows(ENDPOINTS, separate, endpointsAt('10.2.7.3'))
  await world.reconfigure(syncer, configOf(false))
  await virtual.patch(ENDPOINTS, ref, endpointsAt('10.2.7.2'))
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.2.7.2'))
  await world.caughtUp(syncer)

  const reasons = (await virtual.events(endpoints)).map(({ reason }) => reason)
  expect(reasons).not.toContain('PatchFailed')
  await namespacesOf(planes.virtual).remove(namespace)
})
