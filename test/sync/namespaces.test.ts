// Multi-namespace mode: a host namespace for each namespace of the virtual cluster.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFIG_MAPS, ENDPOINTS, SECRETS, SERVICES } from '../../src/api/names.ts'
import { uniqueName } from '../support/object-builder.ts'
import {
  type SeenNamespace,
  deleteMarkedNamespaces,
  grantNamespaces,
  inDefault,
  namespacesOf,
} from '../support/sync-namespaces.ts'
import { SELECTORLESS, createPair, endpointsAt } from '../support/sync-side.ts'
import { NO_WRITES, type Syncer, syncPlanes, syncWorld } from '../support/sync-world.ts'
import { inWhole } from '../support/tier.ts'

const planes = await syncPlanes()
const rights = await grantNamespaces(planes)
const inVirtual = namespacesOf(planes.virtual)
const onHost = namespacesOf(planes.host)
const run = uniqueName('mn')
const named = (name: string): string => `${run}-${name}`

/** The mappings to begin with. */
const BY_NAME = {
  [named('named')]: named('existing'),
  [named('missing')]: named('made-by-name'),
  [named('team-*')]: named('prod-*'),
  [named('other')]: named('prod-shared'),
}
const configOf = (byName: object) => ({
  namespaces: { enabled: true, mappings: { byName } },
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
    ],
  },
})
const world = await syncWorld(planes, configOf(BY_NAME))
const { virtual, host } = world
const hostOf = (namespace: string): string => `${world.virtualCluster}-x-${namespace}`
const MANAGED_BY = 'vcluster.platform.sh/managed-by'
const MADE = 'vcluster.platform.sh/made-by-syncer'
const isOurs = ({ metadata }: SeenNamespace): boolean =>
  metadata.labels?.[MANAGED_BY] === world.virtualCluster
const uidOf = ({ metadata }: SeenNamespace): string => metadata.uid

let syncer: Syncer
beforeAll(async () => {
  await onHost.create(named('existing'))
  syncer = await world.start()
})
afterAll(() => deleteMarkedNamespaces(planes.host, world))

const db = (namespace: string) => ({ namespace, name: 'db' })

/** A virtual namespace with a Service and Endpoints of name `db`, which stand on the host. */
async function synced(name: string, hostName = hostOf(name)): Promise<SeenNamespace> {
  const seen = await inVirtual.create(name)
  await createPair(virtual, { namespace: name, name: 'db' }, '10.2.0.1')
  await host.shows(ENDPOINTS, db(hostName), endpointsAt('10.2.0.1'))
  await host.shows(SERVICES, db(hostName), {})
  return seen
}

/** Deletes a virtual namespace with what is in it, and waits for its end. */
async function end(name: string): Promise<void> {
  await inVirtual.remove(name)
  await inVirtual.gone(name)
}

describe('a namespace of the virtual cluster', () => {
  test('has a host namespace that the syncer makes and marks (17.5)', async () => {
    const seen = await inVirtual.create(named('shop'))
    const made = await onHost.until(hostOf(named('shop')), isOurs)
    expect(made.metadata.labels).toEqual({
      'kubernetes.io/metadata.name': hostOf(named('shop')),
      [MANAGED_BY]: world.virtualCluster,
      'vcluster.platform.sh/namespace': named('shop'),
      [MADE]: world.hostNamespace,
    })
    expect(made.metadata.annotations).toEqual({
      'vcluster.platform.sh/object-name': named('shop'),
      'vcluster.platform.sh/object-uid': uidOf(seen),
      'vcluster.platform.sh/object-kind': '/v1, Kind=Namespace',
      'vcluster.platform.sh/object-host-name': hostOf(named('shop')),
      'vcluster.platform.sh/syncer-namespace': world.hostNamespace,
    })
  })

  test('has its objects there under their own names, with their labels and references, without an owner (17.5)', async () => {
    const namespace = named('names')
    await inVirtual.create(namespace)
    const ref = { namespace, name: 'db' }
    const labels = { release: 'stable', app: 'db' }
    const annotations = {
      'example.com/backend': `web.${named('shop')}.svc`,
      'example.com/secret': 'creds',
    }
    await virtual.create(SECRETS, { namespace, name: 'creds' }, { stringData: { a: 'b' } })
    await virtual.create(SERVICES, ref, SELECTORLESS)
    await virtual.create(ENDPOINTS, ref, {
      ...endpointsAt('10.2.0.2'),
      metadata: { labels, annotations },
    })
    const seen = await host.shows(ENDPOINTS, db(hostOf(namespace)), endpointsAt('10.2.0.2'))
    expect(seen.metadata.labels).toMatchObject(labels)
    expect(seen.metadata.annotations).toMatchObject({
      'example.com/backend': `web.${hostOf(named('shop'))}.svc.cluster.local`,
      'example.com/secret': 'creds',
      'vcluster.platform.sh/object-host-namespace': hostOf(namespace),
    })
    const secret = { namespace: hostOf(namespace), name: 'creds' }
    const { metadata } = await host.until(SECRETS, secret, 'is there', () => true)
    expect([seen.metadata.ownerReferences, metadata.ownerReferences]).toEqual([
      undefined,
      undefined,
    ])
  })

  test('is mapped by a pattern, and by name to one that is missing (17.5)', async () => {
    await synced(named('team-a'), named('prod-a'))
    await synced(named('missing'), named('made-by-name'))
    for (const name of [named('prod-a'), named('made-by-name')]) {
      const { metadata } = await onHost.until(name, isOurs)
      expect(metadata.labels?.[MADE]).toBe(world.hostNamespace)
    }
  })
})

// The end of a namespace takes a cluster five seconds.

describe.each(inWhole('a namespace of the virtual cluster that changes'))('%s', () => {
  test('gets its host namespace back when a user deletes that (18.3, 17.5)', async () => {
    const name = named('again')
    await synced(name)
    const before = await onHost.until(hostOf(name), isOurs)
    await onHost.remove(hostOf(name))
    await onHost.until(hostOf(name), (seen) => isOurs(seen) && uidOf(seen) !== uidOf(before))
    const seen = await host.shows(ENDPOINTS, db(hostOf(name)), endpointsAt('10.2.0.1'))
    expect(seen.metadata.namespace).toBe(hostOf(name))
  })

  test('takes its host namespace with it (17.5)', async () => {
    const name = named('ends')
    await synced(name)
    await end(name)
    await onHost.gone(hostOf(name))
    expect(await host.read(ENDPOINTS, db(hostOf(name)))).toBeNull()
  })

  test('moves to another host namespace when its mapping changes (17.5)', async () => {
    const name = named('team-moves')
    await synced(name, named('prod-moves'))
    await world.configure(configOf({ ...BY_NAME, [name]: named('moved') }))
    await host.shows(ENDPOINTS, db(named('moved')), endpointsAt('10.2.0.1'))
    await onHost.gone(named('prod-moves'))
    await world.configure(configOf(BY_NAME))
    await onHost.gone(named('moved'))
    const back = await host.shows(ENDPOINTS, db(named('prod-moves')), endpointsAt('10.2.0.1'))
    expect(back.metadata.annotations).toMatchObject({
      'vcluster.platform.sh/object-host-namespace': named('prod-moves'),
    })
  })
})

describe.each(inWhole('a host namespace that exists'))('%s', () => {
  test('is left alone, and its virtual one left out, until it is gone (17.5)', async () => {
    const name = named('taken')
    const before = await onHost.create(hostOf(name))
    const foreign = await host.create(SERVICES, db(hostOf(name)), SELECTORLESS)
    const seen = await inVirtual.create(name)
    await createPair(virtual, { namespace: name, name: 'db' }, '10.2.0.3')
    await createPair(virtual, { namespace: name, name: 'other' }, '10.2.0.3')
    const { message, type } = await virtual.event(inDefault(seen), 'NamespaceTaken')
    expect([type, message]).toEqual([
      'Warning',
      `Namespace ${hostOf(name)} of the host does not belong to this namespace; nothing of this namespace is written.`,
    ])
    // Later objects are synced, so these were left out.
    await synced(named('after-taken'))
    expect(await host.get(SERVICES, db(hostOf(name)))).toEqual(foreign)
    expect(await host.read(SERVICES, { namespace: hostOf(name), name: 'other' })).toBeNull()
    const { metadata } = await onHost.until(hostOf(name), () => true)
    expect([metadata.labels, metadata.annotations]).toEqual([
      before.metadata.labels,
      before.metadata.annotations,
    ])
    await onHost.remove(hostOf(name))
    await host.shows(ENDPOINTS, { namespace: hostOf(name), name: 'other' }, endpointsAt('10.2.0.3'))
  })

  test('is used and marked when mappings name it, and stays without marks and our objects (17.5)', async () => {
    const existing = named('existing')
    const before = await onHost.until(existing, () => true)
    const own = await host.create(CONFIG_MAPS, { namespace: existing, name: 'own' }, {})
    const seen = await synced(named('named'), existing)
    const used = await onHost.until(existing, isOurs)
    expect(used.metadata.labels?.[MADE]).toBeUndefined()
    await end(named('named'))
    const { message } = await virtual.event(inDefault(seen), 'NamespaceKept')
    expect(message).toContain('the syncer has not made it')
    const after = await onHost.until(existing, (now) => !isOurs(now))
    expect(after.metadata.labels).toEqual(before.metadata.labels)
    expect(after.metadata.annotations ?? {}).toEqual(before.metadata.annotations ?? {})
    expect(await host.read(SERVICES, db(existing))).toBeNull()
    expect(await host.get(CONFIG_MAPS, own.metadata)).toEqual(own)
  })

  test('is deleted with nothing of others in it: a foreign object keeps it, and our objects go (17.5)', async () => {
    const name = named('kept')
    const seen = await synced(name)
    const foreign = await host.create(CONFIG_MAPS, { namespace: hostOf(name), name: 'foreign' }, {})
    await end(name)
    const { message } = await virtual.event(inDefault(seen), 'NamespaceKept')
    expect(message).toContain('it has configmaps foreign')
    expect(await host.read(SERVICES, db(hostOf(name)))).toBeNull()
    expect(await host.read(ENDPOINTS, db(hostOf(name)))).toBeNull()
    expect((await onHost.read(hostOf(name)))?.status.phase).toBe('Active')
    expect(await host.get(CONFIG_MAPS, foreign.metadata)).toEqual(foreign)
    // The same name again: it is used again.
    await synced(name)
  })

  test('stays where not all that is in it can be seen (17.5)', async () => {
    const name = named('unseen')
    const seen = await synced(name)
    await rights.mayListAll(false)
    try {
      await end(name)
      const { message } = await virtual.event(inDefault(seen), 'NamespaceKept')
      expect(message).toContain('not all that it has can be read: ')
      expect(message).toContain('pods')
      expect((await onHost.read(hostOf(name)))?.status.phase).toBe('Active')
      expect(await host.read(SERVICES, db(hostOf(name)))).toBeNull()
    } finally {
      await rights.mayListAll(true)
    }
  })
})

test.each(
  inWhole(
    'of two namespaces that lead to one the second is left out, until the first is gone (17.5)',
  ),
)('%s', async () => {
  const shared = named('prod-shared')
  await synced(named('other'), shared)
  const second = await inVirtual.create(named('team-shared'))
  await createPair(virtual, { namespace: named('team-shared'), name: 'cache' }, '10.2.0.4')
  await virtual.event(inDefault(second), 'NamespaceTaken')
  await synced(named('after-shared'))
  const cache = { namespace: shared, name: 'cache' }
  expect(await host.read(SERVICES, cache)).toBeNull()
  expect((await host.get(SERVICES, db(shared))).metadata.labels).toMatchObject({
    'vcluster.platform.sh/namespace': named('other'),
  })
  await end(named('other'))
  await host.shows(ENDPOINTS, cache, endpointsAt('10.2.0.4'))
  expect(await host.read(SERVICES, db(shared))).toBeNull()
})

test('the faults of all mappings end the syncer at its start, and nothing is written (17.5)', async () => {
  await syncer.stop()
  const stray = named('stray-x')
  await onHost.create(stray)
  for (const name of ['left', 'right', 'x']) await inVirtual.create(named(name))
  await world.configure(
    configOf({
      ...BY_NAME,
      [named('lef*')]: named('one*'),
      [named('right')]: named('onet'),
      [named('x*')]: named('stray-x*'),
      [named('never')]: world.hostNamespace,
    }),
  )
  const mark = await world.mark()
  const failure = await world.start().then(
    () => 'it started',
    (error: unknown) => String(error),
  )
  expect(failure).toContain('it ended instead (1)')
  for (const fault of [
    `${named('never')} is mapped to ${world.hostNamespace}, which is the syncer's own`,
    `${named('left')} and ${named('right')} lead to one namespace of the host, ${named('onet')}`,
    `${named('x')} leads to ${stray} on the host, which is not its own`,
  ])
    expect(failure).toContain(fault)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})

test.each(
  inWhole(
    'after a restart it finds what ended meanwhile, and writes nothing that is in step (17.5)',
  ),
)('%s', async () => {
  const name = named('meanwhile')
  await world.configure(configOf(BY_NAME))
  const starting = await world.start()
  await synced(name)
  await starting.stop()
  await end(name)
  syncer = await world.start()
  await onHost.gone(hostOf(name))
  await synced(named('last'))
  const mark = await world.mark()
  await synced(named('very-last'))
  const { virtual: toVirtual, host: toHost } = await world.writesSince(mark)
  // An object may be created twice before its event arrives: the second is a conflict.
  expect([toVirtual, [...new Set(toHost)].toSorted()]).toEqual([
    [],
    [
      'create endpoints db',
      `create namespaces ${hostOf(named('very-last'))}`,
      'create services db',
    ],
  ])
})
