// A host whose API server has no streaming lists (WatchList): the syncer asks it for lists, and needs the components that
// grant them.
import { expect, test } from 'vitest'
import { mustKubectl } from '../support/kubectl.ts'
import {
  ALL_OBJECTS,
  HOST,
  HOST_NAME,
  HOST_NAMESPACE,
  REFERENCES,
  VIRTUAL,
  apply,
  componentRoles,
  eachHas,
  refusedTo,
  requestsOf,
  shippedSyncer,
} from './shipped-syncer.ts'

const { host, virtual, configure, start } = await shippedSyncer(['--feature-gates=WatchList=false'])
await apply(virtual, ALL_OBJECTS)
await mustKubectl(virtual, ['apply', '-f', componentRoles('virtual-namespaces')])

test.each([
  {
    mode: 'single',
    components: ['host-all-secrets', 'host-all-config-maps'],
    namespaces: {},
    hostObject: [HOST_NAME, '-n', HOST_NAMESPACE],
  },
  {
    mode: 'multi',
    components: ['host-namespaces', 'host-namespaces-all'],
    namespaces: { enabled: true },
    hostObject: ['database', '-n', 'my-vc-x-shop'],
  },
] as const)(
  'the syncer syncs in $mode-namespace mode, with the components for it (17.5, 20)',
  async ({ components, namespaces, hostObject }) => {
    for (const name of components) await mustKubectl(host, ['apply', '-f', componentRoles(name)])
    configure({ sync: { toHost: { endpoints: { patches: REFERENCES }, namespaces } } })
    const before = requestsOf(host, HOST).length
    const syncer = await start()
    await eachHas(host, hostObject, 'example.com/both', 'virtual')
    expect(await syncer.stop()).toEqual({ code: 0, signal: null })
    const used = new Set(
      requestsOf(host, HOST)
        .slice(before)
        .map(({ right }) => right),
    )
    expect([...used]).toEqual(expect.arrayContaining(['list secrets.', 'list configmaps.']))
    expect(refusedTo(host, HOST)).toEqual([])
    expect(refusedTo(virtual, VIRTUAL)).toEqual([])
    for (const name of components) await mustKubectl(host, ['delete', '-f', componentRoles(name)])
  },
)
