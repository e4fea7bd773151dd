// Objects of the host that a virtual cluster imports because a reference names them. Tests with objects of their own run
// five at a time.
import { beforeAll, expect, test } from 'vitest'
import { CONFIG_MAPS, ENDPOINTS, SECRETS, SERVICES } from '../../src/api/names.ts'
import { SELECTORLESS, endpointsAt } from '../support/sync-side.ts'
import {
  NO_WRITES,
  type Syncer,
  expectUntouched,
  syncPlanes,
  syncWorld,
} from '../support/sync-world.ts'

const P = 'vcluster.platform.sh'

const world = await syncWorld(await syncPlanes(), {
  endpoints: {
    patches: [
      { path: 'metadata.annotations.secret', reference: { kind: 'Secret' } },
      { path: 'metadata.annotations.settings', reference: { kind: 'ConfigMap' } },
      { path: 'metadata.annotations.service', reference: { kind: 'Service' } },
      { path: 'metadata.annotations.backend', reference: { kind: 'Endpoints' } },
    ],
  },
})
const { virtual, host, hostRef, virtualCluster, hostNamespace } = world
const namespace = await world.namespace()
const at = (name: string) => ({ namespace, name })
const onHost = (name: string) => ({ namespace: hostNamespace, name })
const LABELS = { [`${P}/import`]: virtualCluster }
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const password = (text: string) => ({ data: { password: base64(text) } })

let syncer: Syncer
beforeAll(async () => {
  syncer = await world.start()
})

/** Creates a Secret on the host that the virtual cluster may import. */
const offer = (name: string, text: string) =>
  host.create(SECRETS, onHost(name), { metadata: { labels: LABELS }, ...password(text) })

/** Creates Endpoints with references in their annotations. */
async function refer(name: string, annotations: object) {
  await virtual.create(SERVICES, at(name), SELECTORLESS)
  return virtual.create(ENDPOINTS, at(name), {
    metadata: { annotations },
    ...endpointsAt('10.3.0.1'),
  })
}

/** Waits until the reference crosses as this value. */
const crosses = (name: string, annotations: object) =>
  host.shows(ENDPOINTS, hostRef(at(name)), { metadata: { annotations } })

/** The name that the object would have on the host, had it crossed. */
const translated = (name: string): string => hostRef(at(name)).name

test('a labelled object of each kind is imported, and its name crosses unchanged (19.5)', async () => {
  const labelled = { metadata: { labels: LABELS } }
  await offer('a-secret', 'one')
  await host.create(CONFIG_MAPS, onHost('a-settings'), { ...labelled, data: { a: 'x' } })
  await host.create(SERVICES, onHost('a-service'), {
    ...labelled,
    spec: { type: 'NodePort', selector: { app: 'x' }, ports: [{ name: 'web', port: 80 }] },
  })
  await host.create(ENDPOINTS, onHost('a-backend'), { ...labelled, ...endpointsAt('10.3.0.9') })
  const names = {
    secret: 'a-secret',
    settings: 'a-settings',
    service: 'a-service',
    backend: 'a-backend',
  }
  const before = await refer('each', names)
  await crosses('each', names)
  await virtual.shows(SECRETS, at('a-secret'), { type: 'Opaque', ...password('one') })
  await virtual.shows(CONFIG_MAPS, at('a-settings'), { data: { a: 'x' } })
  await virtual.shows(SERVICES, at('a-service'), {
    spec: { type: 'ClusterIP', ports: [{ name: 'web', port: 80 }] },
  })
  await virtual.shows(ENDPOINTS, at('a-backend'), endpointsAt('10.3.0.9'))
  await expectUntouched(virtual, ENDPOINTS, before)
})

test('an import is never synced, and at rest nothing is written (19.5, 19.7)', async () => {
  await world.caughtUp(syncer)
  const mark = await world.mark()
  await world.caughtUp(syncer)
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
  for (const [resource, name] of [
    [SECRETS, 'a-secret'],
    [CONFIG_MAPS, 'a-settings'],
    [SERVICES, 'a-service'],
    [ENDPOINTS, 'a-backend'],
  ] as const)
    expect(await host.read(resource, hostRef(at(name)))).toBeNull()
})

test.concurrent('the copy follows the host object until a user changes it (19.5)', async () => {
  await offer('follows', 'one')
  await refer('follower', { secret: 'follows' })
  await virtual.shows(SECRETS, at('follows'), password('one'))
  await host.patch(SECRETS, onHost('follows'), password('two'))
  await virtual.shows(SECRETS, at('follows'), password('two'))
  const changed = await virtual.patch(SECRETS, at('follows'), password('of the tenant'))
  await host.patch(SECRETS, onHost('follows'), password('three'))
  await world.caughtUp(syncer)
  await expectUntouched(virtual, SECRETS, changed)
  await crosses('follower', { secret: 'follows' })
})

test.concurrent('a copy goes with its label, and comes back with it (19.5)', async () => {
  await offer('lent', 'one')
  await refer('borrower', { secret: 'lent' })
  await crosses('borrower', { secret: 'lent' })
  await virtual.shows(SECRETS, at('lent'), password('one'))
  await host.patch(SECRETS, onHost('lent'), { metadata: { labels: { [`${P}/import`]: 'other' } } })
  await virtual.gone(SECRETS, at('lent'))
  await crosses('borrower', { secret: translated('lent') })
  await host.patch(SECRETS, onHost('lent'), { metadata: { labels: LABELS } })
  await virtual.shows(SECRETS, at('lent'), password('one'))
  await crosses('borrower', { secret: 'lent' })
  await host.remove(SECRETS, onHost('lent'))
  await virtual.gone(SECRETS, at('lent'))
})

test.concurrent("a copy that a user changed stays without its label, as the tenant's own (19.5)", async () => {
  await offer('kept', 'one')
  await refer('keeper', { secret: 'kept' })
  await virtual.shows(SECRETS, at('kept'), password('one'))
  await virtual.patch(SECRETS, at('kept'), password('mine'))
  await host.patch(SECRETS, onHost('kept'), { metadata: { labels: { [`${P}/import`]: null } } })
  await host.shows(SECRETS, hostRef(at('kept')), password('mine'))
  await crosses('keeper', { secret: translated('kept') })
  await virtual.shows(SECRETS, at('kept'), password('mine'))
})

test.concurrent('a deleted copy is made again, and one that nothing names goes (19.5)', async () => {
  await offer('named', 'one')
  await refer('namer', { secret: 'named' })
  const { metadata } = await virtual.shows(SECRETS, at('named'), password('one'))
  await virtual.remove(SECRETS, at('named'))
  await virtual.until(
    SECRETS,
    at('named'),
    'is created again',
    (now) => now.metadata.uid !== metadata.uid,
  )
  await virtual.patch(ENDPOINTS, at('namer'), { metadata: { annotations: { secret: null } } })
  await virtual.gone(SECRETS, at('named'))
})

test.concurrent('nothing is imported without the label, whatever a tenant forges (19.5)', async () => {
  const kubeconfig = await host.create(SECRETS, onHost('kubeconfig'), password('canary'))
  await refer('thief', { secret: 'kubeconfig' })
  await crosses('thief', { secret: translated('kubeconfig') })
  await world.caughtUp(syncer)
  expect(await virtual.read(SECRETS, at('kubeconfig'))).toBeNull()
  const annotations = { [`${P}/imported-from`]: `${kubeconfig.metadata.uid}/${'0'.repeat(64)}` }
  await virtual.create(SECRETS, at('kubeconfig'), {
    metadata: { annotations, labels: LABELS },
    ...password('forged'),
  })
  await host.shows(SECRETS, hostRef(at('kubeconfig')), password('forged'))
  await crosses('thief', { secret: translated('kubeconfig') })
  await expectUntouched(host, SECRETS, kubeconfig)
})

test.concurrent('an object with marks is not imported, nor one of a synced object (19.5)', async () => {
  const annotations = { [`${P}/object-name`]: 'x' }
  await host.create(SECRETS, onHost('marked'), { metadata: { labels: LABELS, annotations } })
  await virtual.create(SECRETS, at('synced'), { metadata: { labels: LABELS }, ...password('x') })
  const synced = translated('synced')
  await refer('copier', { secret: 'marked' })
  await refer('first', { secret: 'synced' })
  await refer('second', { secret: synced })
  await crosses('copier', { secret: translated('marked') })
  await crosses('first', { secret: synced })
  await crosses('second', { secret: translated(synced) })
  await world.caughtUp(syncer)
  expect(await virtual.read(SECRETS, at('marked'))).toBeNull()
  expect(await virtual.read(SECRETS, at(synced))).toBeNull()
})

test.concurrent('a name on the way back is imported, translated, or does not flow (19.5)', async () => {
  await offer('back', 'one')
  await host.create(SECRETS, onHost('foreign'), password('canary'))
  await virtual.create(SECRETS, at('own'), password('own'))
  await virtual.create(SECRETS, at('other'), password('other'))
  await refer('flows', { secret: 'own' })
  await refer('other-user', { secret: 'other' })
  await crosses('flows', { secret: translated('own') })
  await crosses('other-user', { secret: translated('other') })
  const change = (secret: string) =>
    host.patch(ENDPOINTS, hostRef(at('flows')), { metadata: { annotations: { secret } } })
  await change('foreign')
  await crosses('flows', { secret: translated('own') })
  await virtual.shows(ENDPOINTS, at('flows'), { metadata: { annotations: { secret: 'own' } } })
  await change('back')
  await virtual.shows(ENDPOINTS, at('flows'), { metadata: { annotations: { secret: 'back' } } })
  await virtual.shows(SECRETS, at('back'), password('one'))
  await crosses('flows', { secret: 'back' })
  await change(translated('other'))
  await virtual.shows(ENDPOINTS, at('flows'), { metadata: { annotations: { secret: 'other' } } })
  await crosses('flows', { secret: translated('other') })
  await virtual.gone(SECRETS, at('back'))
  expect(await virtual.read(SECRETS, at('foreign'))).toBeNull()
})

test('an import that is refused is an Event on the object that names it (19.5)', async () => {
  const namePath = { namePath: 'of', namespacePath: 'in' }
  await world.configure({
    endpoints: {
      patches: [{ path: 'metadata.annotations', reference: { kind: 'Secret', ...namePath } }],
    },
  })
  await offer('homeless', 'one')
  const seen = await refer('wanderer', { of: 'homeless', in: 'no-such-namespace' })
  const { message } = await virtual.event(seen, 'NotWritten')
  expect(message).toBe(
    'The virtual cluster refuses the import of Secret no-such-namespace/homeless with 404 NotFound',
  )
  await crosses('wanderer', { of: 'homeless', in: hostNamespace })
})

test('a kind that the virtual cluster does not serve is an error of the object, or of the configuration (19.5)', async () => {
  await world.configure({
    endpoints: {
      patches: [
        {
          path: 'metadata.annotations',
          reference: {
            kind: 'Secret',
            namePath: 'of',
            kindPath: 'kind',
            apiVersionPath: 'version',
          },
        },
      ],
    },
  })
  const seen = await refer('unserved', { of: 'x', kind: 'Widget', version: 'example.com/v1' })
  const { message } = await virtual.event(seen, 'PatchFailed')
  expect(message).toContain('the virtual cluster does not serve the kind')
  await world.configure({
    endpoints: {
      patches: [
        {
          path: 'metadata.annotations.a',
          reference: { kind: 'Widget', apiVersion: 'example.com/v1' },
        },
      ],
    },
  })
  const failing = await world.start().catch((error: unknown) => String(error))
  expect(failing).toContain('is not served by the virtual cluster')
})
