// Objects in the host namespace that are not the syncer's: they are never adopted, changed or deleted. Tests with
// objects of their own run five at a time; one that counts all objects does not.
import { describe, expect, test } from 'vitest'
import { ENDPOINTS, SERVICES } from '../../src/api/names.ts'
import { metric } from '../support/metrics-page.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { type Ref, SELECTORLESS, endpointsAt } from '../support/sync-side.ts'
import { NO_WRITES, expectUntouched, syncPlanes } from '../support/sync-world.ts'
import { sampled } from '../support/tier.ts'

const world = await fileWorld(await syncPlanes())
const { virtual, host, hostRef, virtualCluster, hostNamespace, namespace, at, pair } = world
const syncer = await world.start()

const MARK = 'vcluster.platform.sh/'
const LABELS = { [`${MARK}managed-by`]: virtualCluster, [`${MARK}namespace`]: namespace }

/** The marks of the host object of Endpoints, as the syncer writes them. */
const annotationsOf = ({ name }: Ref, uid = 'u'): Record<string, string> => ({
  [`${MARK}object-name`]: name,
  [`${MARK}object-namespace`]: namespace,
  [`${MARK}object-uid`]: uid,
  [`${MARK}object-kind`]: '/v1, Kind=Endpoints',
  [`${MARK}object-host-name`]: hostRef(at(name)).name,
  [`${MARK}object-host-namespace`]: hostNamespace,
})

// biome-ignore format: a table
const FOREIGN = [
  { what: 'without any mark', metadata: {} },
  { what: 'with our labels only', metadata: { labels: LABELS } },
  { what: 'with the marks of another object', metadata: { labels: LABELS, annotations: annotationsOf(at('another')) } },
  { what: 'with the marks of another kind', metadata: { annotations: { ...annotationsOf(at('foreign-3')), [`${MARK}object-kind`]: '/v1, Kind=Service' } } },
  { what: 'of another virtual cluster by its label', metadata: { labels: { ...LABELS, [`${MARK}managed-by`]: 'vc-other' }, annotations: annotationsOf(at('foreign-4')) } },
  { what: 'with another host name in its marks', metadata: { annotations: { ...annotationsOf(at('foreign-5')), [`${MARK}object-host-name`]: 'another' } } },
  { what: 'with another host namespace in its marks', metadata: { annotations: { ...annotationsOf(at('foreign-6')), [`${MARK}object-host-namespace`]: 'another' } } },
].map((row, index) => ({ ...row, name: `foreign-${index}` }))

describe.concurrent.each(sampled(FOREIGN, 3))(
  'Endpoints $what under the name of a synced object',
  ({ name, metadata }) => {
    test('are left alone through create, change and deletion, with an Event; then the name is ours (16.3)', async () => {
      const ref = at(name)
      const foreign = await host.create(ENDPOINTS, hostRef(ref), {
        ...endpointsAt('10.4.9.9'),
        metadata,
      })
      const created = await pair(ref, '10.4.0.1')
      expect(await virtual.event(created, 'NameTaken')).toMatchObject({
        type: 'Warning',
        message: expect.stringContaining(hostRef(ref).name),
      })
      const changed = await virtual.patch(ENDPOINTS, ref, endpointsAt('10.4.0.2'))
      await world.caughtUp(syncer)
      await virtual.remove(ENDPOINTS, ref)
      await world.caughtUp(syncer)
      await expectUntouched(host, ENDPOINTS, foreign)
      expect(changed.metadata.uid).toBe(created.metadata.uid)

      const again = await virtual.create(ENDPOINTS, ref, endpointsAt('10.4.0.3'))
      await virtual.event(again, 'NameTaken')
      await host.remove(ENDPOINTS, foreign.metadata)
      await host.shows(ENDPOINTS, hostRef(ref), {
        ...endpointsAt('10.4.0.3'),
        metadata: { annotations: { [`${MARK}object-uid`]: again.metadata.uid } },
      })
      await expectUntouched(virtual, ENDPOINTS, again)
    })
  },
)

test.concurrent('an object of the syncer under whose name nothing is synced stays foreign without marks (16.3)', async () => {
  const foreign = await host.create(
    ENDPOINTS,
    { namespace: hostNamespace, name: 'unrelated' },
    endpointsAt('10.4.1.1'),
  )
  await world.caughtUp(syncer)
  await expectUntouched(host, ENDPOINTS, foreign)
  await expectUntouched(host, SERVICES, await host.get(SERVICES, world.ownService))
})

test.concurrent('a whole copy of a synced object under another name is foreign, also when the original goes (16.3, 17.2)', async () => {
  const ref = at('original')
  await pair(ref, '10.4.6.1')
  const { metadata } = await host.shows(ENDPOINTS, hostRef(ref), {})
  const { labels, annotations } = metadata
  const copy = await host.create(
    ENDPOINTS,
    { namespace: hostNamespace, name: 'a-copy' },
    { ...endpointsAt('10.4.6.9'), metadata: { labels, annotations } },
  )
  await virtual.patch(ENDPOINTS, ref, endpointsAt('10.4.6.2'))
  await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.4.6.2'))
  await virtual.remove(SERVICES, ref)
  await host.gone(ENDPOINTS, hostRef(ref))
  await world.caughtUp(syncer)
  await expectUntouched(host, ENDPOINTS, copy)
})

test.concurrent('marks that a user took off make the object foreign; marks put back, ours (16.3, 17.2)', async () => {
  const ref = at('unmarked')
  const before = await pair(ref, '10.4.2.1')
  const onHost = await host.shows(ENDPOINTS, hostRef(ref), {})
  const name = `${MARK}object-name`
  const unmarked = await host.patch(ENDPOINTS, hostRef(ref), {
    metadata: { annotations: { [name]: null } },
    ...endpointsAt('10.4.2.9'),
  })
  await virtual.event(before, 'NameTaken')
  await world.caughtUp(syncer)
  await expectUntouched(host, ENDPOINTS, unmarked)
  await host.patch(ENDPOINTS, hostRef(ref), { metadata: { annotations: { [name]: ref.name } } })
  const after = await host.shows(ENDPOINTS, hostRef(ref), endpointsAt('10.4.2.1'))
  expect(after.metadata.uid).toBe(onHost.metadata.uid)
  await expectUntouched(virtual, ENDPOINTS, before)
})

test.concurrent('a leftover with our marks whose virtual object is gone is deleted (16.3, 18.3)', async () => {
  const ref = at('leftover')
  await host.create(ENDPOINTS, hostRef(ref), {
    ...endpointsAt('10.4.3.1'),
    metadata: { labels: LABELS, annotations: annotationsOf(ref) },
  })
  expect(await host.gone(ENDPOINTS, hostRef(ref))).toBeUndefined()
})

test('the marks decide which of two virtual objects has their host name, the second one waits (17.1)', async () => {
  const one = { namespace: await world.createNamespace('b-x-c'), name: 'a' }
  const other = { namespace: await world.createNamespace('c'), name: 'a-x-b' }
  expect(hostRef(one)).toEqual(hostRef(other))
  await pair(one, '10.4.4.1')
  const onHost = await host.shows(ENDPOINTS, hostRef(one), endpointsAt('10.4.4.1'))
  const second = await pair(other, '10.4.4.2')
  await virtual.event(second, 'NameTaken')
  await world.caughtUp(syncer)
  await expectUntouched(host, ENDPOINTS, onHost)
  expect(await taken()).toBe(1)

  // Its Endpoints go with it: the virtual cluster's controller deletes them.
  await virtual.remove(SERVICES, one)
  await host.shows(ENDPOINTS, hostRef(other), endpointsAt('10.4.4.2'))
  await world.caughtUp(syncer)
  expect(await taken()).toBe(0)
  await expectUntouched(virtual, ENDPOINTS, second)
})

const taken = (): Promise<number> =>
  metric(syncer, 'platform_sync_objects', 'kind="Endpoints"', 'state="taken"')

test('a foreign Service under the name of a synced one: neither it nor the Endpoints that it has are touched (16.3, 18.1)', async () => {
  const ref = at('foreign-service')
  const foreign = await host.create(SERVICES, hostRef(ref), {
    spec: { selector: { app: 'x' }, ports: [{ name: 'sql', port: 5432 }] },
  })
  const made = await host.shows(ENDPOINTS, hostRef(ref), {})
  await pair(ref, '10.4.5.1')
  await virtual.event(await virtual.get(SERVICES, ref), 'NameTaken')
  await world.caughtUp(syncer)
  await expectUntouched(host, SERVICES, foreign)
  await expectUntouched(host, ENDPOINTS, made)
  await virtual.patch(SERVICES, ref, SELECTORLESS)
  await world.caughtUp(syncer)
  await expectUntouched(host, SERVICES, foreign)
})

test('a syncer at rest writes nothing (19.7)', async () => {
  await world.caughtUp(syncer)
  const mark = await world.mark()
  await world.caughtUp(syncer)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})
