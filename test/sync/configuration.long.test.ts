// The configuration file of a virtual cluster, and its changes while a syncer runs.
import { expect, test } from 'vitest'
import { CONFIG_MAPS, ENDPOINTS, SECRETS, SERVICES } from '../../src/api/names.ts'
import { runProgram } from '../support/command-process.ts'
import { eventually } from '../support/eventually.ts'
import { metric } from '../support/metrics-page.ts'
import { fileWorld } from '../support/sync-file-world.ts'
import { SOON, endpointsAt } from '../support/sync-side.ts'
import { NO_WRITES, expectUntouched, syncPlanes } from '../support/sync-world.ts'

const planes = await syncPlanes()
const world = await fileWorld(planes)
const { virtual, host, hostRef, ownService, at, pair } = world
let syncer = await world.start()

const portPatch = (expression: string) => ({
  endpoints: { patches: [{ path: 'subsets[*].ports[*].name', expression }] },
})
const portNamed = (name: string) => ({ subsets: [{ ports: [{ name }] }] })

const isValid = (value: 0 | 1): Promise<true> =>
  eventually(
    `platform_sync_config_valid is ${value}`,
    async () => (await metric(syncer, 'platform_sync_config_valid')) === value || undefined,
    SOON,
  )

test('a change is picked up: existing objects are patched again, and left alone without patches (16.1, 19.7)', async () => {
  const ref = at('repatched')
  const before = await pair(ref, '10.7.0.1')
  await host.shows(ENDPOINTS, hostRef(ref), portNamed('sql'))
  await world.configure(portPatch('"one-" + value'))
  await host.shows(ENDPOINTS, hostRef(ref), portNamed('one-sql'))
  await world.configure(portPatch('"two-" + value'))
  await host.shows(ENDPOINTS, hostRef(ref), portNamed('two-sql'))
  await world.configure({})
  const { metadata } = await host.shows(ENDPOINTS, hostRef(ref), portNamed('sql'))
  await world.caughtUp(syncer)
  expect((await host.get(ENDPOINTS, hostRef(ref))).metadata.resourceVersion).toBe(
    metadata.resourceVersion,
  )
  await expectUntouched(virtual, ENDPOINTS, before)
})

// biome-ignore format: a table
const INVALID = [
  { what: 'is not YAML', text: 'sync: [', says: /vcluster\.yaml/ },
  { what: 'has an expression that does not parse', text: JSON.stringify({ sync: { toHost: portPatch('value +') } }), says: /sync\.toHost\.endpoints\.patches\[0\]/ },
  { what: 'needs what is switched off', text: 'sync: {toHost: {endpoints: {enabled: false}}}', says: /sync\.toHost\.services requires sync\.toHost\.endpoints/ },
  { what: 'is empty where an object is needed', text: 'sync: {toHost: {endpoints: 7}}', says: /sync\.toHost\.endpoints must be an object/ },
]
test.each(INVALID)(
  'a change that $what keeps the last good one, with an Event (16.1)',
  async ({ text, says, what }) => {
    await world.configure(portPatch('"good-" + value'))
    const name = `kept-${INVALID.findIndex((row) => row.what === what)}`
    await pair(at(name), '10.7.1.1')
    await host.shows(ENDPOINTS, hostRef(at(name)), portNamed('good-sql'))
    await isValid(1)
    const own = await host.get(SERVICES, ownService)

    await world.configure(text)
    await isValid(0)
    await eventually(
      'the own Service has an Event',
      async () => {
        const events = await host.events(own)
        return (
          events.some((one) => one.reason === 'ConfigInvalid' && says.test(one.message)) ||
          undefined
        )
      },
      SOON,
    )
    await virtual.patch(ENDPOINTS, at(name), endpointsAt('10.7.1.2'))
    const onHost = await host.shows(ENDPOINTS, hostRef(at(name)), {
      subsets: [{ addresses: [{ ip: '10.7.1.2' }], ports: [{ name: 'good-sql' }] }],
    })
    await world.configure(portPatch('"good-" + value'))
    await isValid(1)
    await world.caughtUp(syncer)
    await expectUntouched(host, ENDPOINTS, onHost)
  },
)

test('an invalid one at the start is exit code 1 with all faults, and nothing is written (16.1)', async () => {
  await world.configure({
    endpoints: { patches: [{ path: 'a[', expression: 'value' }, { path: 'b' }] },
  })
  const mark = await world.mark()
  const { code, stdout, stderr } = await runProgram([
    'syncer',
    `--virtual-kubeconfig=${planes.virtual.syncerKubeconfig}`,
    `--host-kubeconfig=${planes.host.syncerKubeconfig}`,
    `--virtual-cluster=${world.virtualCluster}`,
    `--host-namespace=${world.hostNamespace}`,
    `--config=${world.configFile}`,
    '--metrics-bind-address=0',
    '--health-probe-bind-address=0',
  ])
  expect(code).toBe(1)
  expect(stdout + stderr).toMatch(/unclosed bracket at 1/)
  expect(stdout + stderr).toMatch(
    /patches\[1\] need to use one of: expression, labels or reference/,
  )
  expect(await world.writesSince(mark)).toEqual(NO_WRITES)
})

test('patches of a kind that is not synced: an Event names them, the rest is in force (16.2)', async () => {
  await world.configure({
    ...portPatch('"served-" + value'),
    pods: { patches: [{ path: 'spec.a', expression: 'value' }] },
  })
  const own = await host.get(SERVICES, ownService)
  const event = await host.event(own, 'PatchesNotServed')
  expect(event.message).toContain('sync.toHost.pods.patches')
  await pair(at('served'), '10.7.2.1')
  await host.shows(ENDPOINTS, hostRef(at('served')), portNamed('served-sql'))
})

test("vcluster's example with a reverseExpression that flows nowhere starts a syncer, and an Event names it, once (18.5)", async () => {
  const path = 'spec.ports[*].name'
  const patch = {
    path,
    expression: 'value.startsWith("prefix-") ? value : "prefix-" + value',
    reverseExpression: 'value.startsWith("prefix-") ? value.slice("prefix-".length) : value',
  }
  await syncer.stop()
  await world.configure({ services: { patches: [patch] } })
  syncer = await world.start()
  const own = await host.get(SERVICES, ownService)
  const event = await host.event(own, 'ReverseNotServed')
  expect(event.message).toBe(
    `sync.toHost.services.patches[0] reverseExpression has no effect: "${path}" does not flow back`,
  )
  const ref = at('prefixed')
  await pair(ref, '10.7.4.1')
  await host.shows(SERVICES, hostRef(ref), { spec: { ports: [{ name: 'prefix-sql' }] } })
  expect(await virtual.get(SERVICES, ref)).toMatchObject({ spec: { ports: [{ name: 'sql' }] } })
  const events = await host.events(own)
  expect(events.filter(({ reason }) => reason === 'ReverseNotServed')).toHaveLength(1)
})

test('a kind that is switched off leaves its host objects until the virtual object goes (16.2)', async () => {
  await world.reconfigure(syncer, {})
  const [stays, goes] = [at('off-stays'), at('off-goes')]
  for (const ref of [stays, goes]) {
    await pair(ref, '10.7.3.1')
    await host.shows(ENDPOINTS, hostRef(ref), portNamed('sql'))
  }
  const [service, endpoints] = [
    await host.get(SERVICES, hostRef(stays)),
    await host.get(ENDPOINTS, hostRef(stays)),
  ]
  await world.reconfigure(syncer, { services: { enabled: false }, endpoints: { enabled: false } })
  await virtual.patch(SERVICES, stays, { metadata: { labels: { changed: 'yes' } } })
  await virtual.patch(ENDPOINTS, stays, endpointsAt('10.7.3.2'))
  await virtual.remove(SERVICES, goes)
  await host.gone(SERVICES, hostRef(goes))
  await host.gone(ENDPOINTS, hostRef(goes))
  await expectUntouched(host, SERVICES, service)
  await expectUntouched(host, ENDPOINTS, endpoints)
  await world.configure({})
  await host.shows(ENDPOINTS, hostRef(stays), endpointsAt('10.7.3.2'))
  await host.shows(SERVICES, hostRef(stays), { metadata: { labels: { changed: 'yes' } } })
})

test('all Secrets and ConfigMaps, where the file says so, but for kube-root-ca.crt (16.2)', async () => {
  await world.configure({})
  await virtual.create(SECRETS, at('one'), { stringData: { key: 'v' } })
  await virtual.create(CONFIG_MAPS, at('one'), { data: { key: 'v' } })
  await world.caughtUp(syncer)
  expect(await host.read(SECRETS, hostRef(at('one')))).toBeNull()
  await world.configure({ secrets: { all: true }, configMaps: { all: true } })
  await host.shows(SECRETS, hostRef(at('one')), { data: { key: 'dg==' } })
  await host.shows(CONFIG_MAPS, hostRef(at('one')), { data: { key: 'v' } })
  await virtual.shows(CONFIG_MAPS, at('kube-root-ca.crt'), {})
  await world.caughtUp(syncer)
  expect(await host.read(CONFIG_MAPS, hostRef(at('kube-root-ca.crt')))).toBeNull()
  const foreign = await host.get(CONFIG_MAPS, {
    namespace: world.hostNamespace,
    name: 'kube-root-ca.crt',
  })
  expect(foreign.metadata.labels).toBeUndefined()
})
