/** @module-tag no-retry */
// Values of Secrets and of the virtual cluster's configuration appear in no log, Event, metric or mark (contract 19.8, 20).
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ENDPOINTS, type Resource, SECRETS, SERVICES } from '../../src/api/names.ts'
import { type Canary, findCanaries, plantCanary } from '../support/canary.ts'
import { eventually } from '../support/eventually.ts'
import { metric } from '../support/metrics-page.ts'
import { type Ref, SELECTORLESS, SOON, endpointsAt } from '../support/sync-side.ts'
import { type Syncer, syncPlanes, syncWorld } from '../support/sync-world.ts'

const planes = await syncPlanes()
const CONFIGURED = plantCanary('configuration')
const LATER = plantCanary('configuration that is invalid')
const canaries: Canary[] = [CONFIGURED, LATER]

const FROM_CONFIG = 'context.virtualCluster.config.sync.toHost.custom.secret'
const endpointsPatches = [
  {
    path: 'metadata.annotations.throws',
    expression: `(() => { throw new Error(${FROM_CONFIG}) })()`,
  },
  { path: 'metadata.annotations.parses', expression: `JSON.parse(${FROM_CONFIG})` },
  { path: 'metadata.annotations.calls', expression: `virtualToHostDNS(${FROM_CONFIG})` },
  { path: 'metadata.annotations.policy', expression: FROM_CONFIG },
  { path: 'metadata.annotations.imported', reference: { kind: 'Secret' } },
  { path: 'metadata.labels.invalid', expression: `${FROM_CONFIG} + " $"` },
  {
    path: 'subsets[*].addresses[*].ip',
    expression: `context.virtualObject.metadata.name === "address" ? ${FROM_CONFIG} : value`,
  },
]
const CONFIG = {
  custom: { secret: CONFIGURED.secret },
  endpoints: { patches: endpointsPatches },
  services: {
    patches: [{ path: 'spec.externalName', expression: FROM_CONFIG + '+ ".a.svc"' }],
  },
  secrets: {
    all: true,
    patches: [
      { path: 'data.throws', expression: '(() => { throw new Error(atob(value)) })()' },
      { path: 'data.throwsItself', expression: '(() => { throw atob(value) })()' },
      { path: 'data.parses', expression: 'JSON.parse(atob(value))' },
      { path: 'data.missing', expression: 'atob(value).a.b' },
      { path: 'data.notBase64', expression: 'atob(atob(value) + "*")' },
      { path: 'data.refused', expression: 'atob(value) + "*"' },
      { path: 'data.key', expression: 'value' },
      {
        path: 'metadata.annotations.copied',
        expression: 'atob(context.virtualObject.data.labelled) + " "',
      },
      {
        // Its labels have other keys on the host: a patch of the whole map sets one.
        path: 'metadata.labels',
        expression:
          'context.virtualObject.data?.labelled === undefined ? value : ({ ...value, copied: atob(context.virtualObject.data.labelled) + " " })',
      },
    ],
  },
}
const world = await syncWorld(planes, CONFIG)
const { virtual, host, hostRef } = world
const namespace = await world.namespace()
const at = (name: string): Ref => ({ namespace, name })
let syncer: Syncer
beforeAll(async () => {
  await refuseBy('secret', planes.host.raw, world.hostNamespace, 'data', 'policy')
  await refuseBy(
    'endpoints',
    planes.host.raw,
    world.hostNamespace,
    'metadata.annotations',
    'policy',
  )
  await refuseBy('import', planes.virtual.raw, namespace, 'data', 'imported')
  syncer = await world.start({ flags: ['--log-level=debug'] })
})

const SECRET_KEYS = [
  'throws',
  'throwsItself',
  'parses',
  'missing',
  'notBase64',
  'refused',
  'key',
  'labelled',
  'policy',
]

test('none is found after each way to fail and to be refused (19.8, 20)', async () => {
  const failing: { resource: Resource; ref: Ref; reason: string }[] = []
  for (const key of SECRET_KEYS) {
    const canary = plantCanary(`Secret ${key}`)
    canaries.push(canary)
    const name = `secret-${key.toLowerCase()}`
    await virtual.create(SECRETS, at(name), {
      stringData: { [key]: canary.secret },
      metadata: key === 'labelled' ? { labels: { copied: 'x' } } : {},
    })
    if (key === 'key') await host.shows(SECRETS, hostRef(at(name)), {})
    else
      failing.push({
        resource: SECRETS,
        ref: at(name),
        reason: /labelled|policy/.test(key) ? 'NotWritten' : 'PatchFailed',
      })
  }
  const offered = plantCanary('Secret that is imported')
  canaries.push(offered)
  await host.create(
    SECRETS,
    { namespace: world.hostNamespace, name: 'offered' },
    {
      stringData: { imported: offered.secret },
      metadata: { labels: { 'vcluster.platform.sh/import': world.virtualCluster } },
    },
  )
  // biome-ignore format: a table
  const ENDPOINTS_THAT_FAIL = [
    { name: 'throws', metadata: { annotations: { throws: 'x' } }, ip: '10.9.1.1', reason: 'PatchFailed' },
    { name: 'parses', metadata: { annotations: { parses: 'x' } }, ip: '10.9.1.2', reason: 'PatchFailed' },
    { name: 'calls', metadata: { annotations: { calls: 'x' } }, ip: '10.9.1.3', reason: 'PatchFailed' },
    { name: 'invalid', metadata: { labels: { invalid: 'x' } }, ip: '10.9.1.4', reason: 'NotWritten' },
    { name: 'policy', metadata: { annotations: { policy: 'x' } }, ip: '10.9.1.6', reason: 'NotWritten' },
    { name: 'imported', metadata: { annotations: { imported: 'offered' } }, ip: '10.9.1.7', reason: 'NotWritten' },
    { name: 'address', metadata: {}, ip: '10.9.1.5', reason: 'AddressRefused' },
  ]
  for (const { name, metadata, ip, reason } of ENDPOINTS_THAT_FAIL) {
    await virtual.create(SERVICES, at(name), SELECTORLESS)
    await virtual.create(ENDPOINTS, at(name), { ...endpointsAt(ip), metadata })
    failing.push({ resource: ENDPOINTS, ref: at(name), reason })
  }
  await virtual.create(SERVICES, at('external'), {
    spec: { type: 'ExternalName', externalName: 'a.example.com' },
  })
  failing.push({ resource: SERVICES, ref: at('external'), reason: 'AddressRefused' })
  for (const { resource, ref, reason } of failing)
    await virtual.event(await virtual.get(resource, ref), reason)

  // Configurations that are invalid, with the secret where a message could quote it.
  const invalid = [
    `custom: "${LATER.secret}`,
    `custom: {secret: ${LATER.secret}}\nsync: {toHost: {endpoints: {enabled: ${LATER.secret}}}}`,
    `custom: ${LATER.secret}\n  secret: ${LATER.secret}: ${LATER.secret}`,
    `*${LATER.secret}`,
    `!!${LATER.secret} a`,
  ]
  for (const text of invalid) {
    await world.configure('{}')
    await isValid(1)
    await world.configure(text)
    await isValid(0)
  }
  const own = await host.get(SERVICES, world.ownService)
  await host.event(own, 'ConfigInvalid')

  const { stdout, stderr } = syncer.output()
  const sinks = {
    stdout,
    stderr,
    metrics: await syncer.metrics(),
    'events of the virtual cluster': await text(
      planes.virtual.raw,
      '/apis/events.k8s.io/v1/events',
    ),
    'events of the host': await text(planes.host.raw, '/apis/events.k8s.io/v1/events'),
    lease: await text(planes.host.raw, '/apis/coordination.k8s.io/v1/leases'),
    'host endpoints': await text(
      planes.host.raw,
      `/api/v1/namespaces/${world.hostNamespace}/endpoints`,
    ),
    'metadata of host secrets': JSON.stringify(
      (await items(`/api/v1/namespaces/${world.hostNamespace}/secrets`)).map(
        ({ metadata }) => metadata,
      ),
    ),
  }
  expect(stdout.split('\n').filter((line) => line.includes('"debug"')).length).toBeGreaterThan(20)
  for (const sink of Object.values(sinks)) expect(typeof sink).toBe('string')
  expect(sinks['events of the virtual cluster']).toContain('PatchFailed')
  expect(findCanaries(sinks, canaries)).toEqual([])
})

const POLICIES = '/apis/admissionregistration.k8s.io/v1'

/** Lets a cluster refuse objects with this key with 403 and its value, as a policy of an administrator may. */
async function refuseBy(
  name: string,
  raw: typeof planes.host.raw,
  inNamespace: string,
  map: string,
  key: string,
): Promise<void> {
  const metadata = { name: `${world.virtualCluster}-${name}` }
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['CREATE', 'UPDATE'],
    resources: ['secrets', 'endpoints'],
  }
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': inNamespace } }
  const validation = {
    expression: `!has(object.${map}) || !('${key}' in object.${map})`,
    messageExpression: `'value ' + string(object.${map}['${key}']) + ' is too weak'`,
    reason: 'Forbidden',
  }
  const kinds = {
    validatingadmissionpolicies: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [rule], namespaceSelector },
      validations: [validation],
    },
    validatingadmissionpolicybindings: { policyName: metadata.name, validationActions: ['Deny'] },
  }
  for (const [plural, spec] of Object.entries(kinds)) {
    expect((await raw('POST', `${POLICIES}/${plural}`, { metadata, spec })).code).toBe(201)
    afterAll(() => raw('DELETE', `${POLICIES}/${plural}/${metadata.name}`))
  }
  const plural = map === 'data' ? 'secrets' : 'endpoints'
  const path = `/api/v1/namespaces/${inNamespace}/${plural}?dryRun=All`
  const quoted = Buffer.from('quoted').toString('base64')
  const fields = map === 'data' ? { data: { [key]: quoted } } : {}
  const annotations = map === 'data' ? {} : { [key]: quoted }
  await eventually(
    'the policy refuses, and quotes the value',
    async () => {
      const draft = { ...fields, metadata: { name: 'refused', annotations } }
      const answer = await raw<{ readonly message?: string }>('POST', path, draft)
      const isQuoted = /quoted|cXVvdGVk/.test(answer.body.message ?? '')
      return (answer.code === 403 && isQuoted) || undefined
    },
    SOON,
  )
}

const text = async (raw: typeof planes.host.raw, path: string): Promise<string> =>
  JSON.stringify((await raw('GET', path)).body)

const items = async (path: string): Promise<readonly { readonly metadata: object }[]> =>
  (await planes.host.raw<{ readonly items: readonly { readonly metadata: object }[] }>('GET', path))
    .body.items

const isValid = (value: 0 | 1): Promise<true> =>
  eventually(
    `platform_sync_config_valid is ${value}`,
    async () => (await metric(syncer, 'platform_sync_config_valid')) === value || undefined,
    SOON,
  )
