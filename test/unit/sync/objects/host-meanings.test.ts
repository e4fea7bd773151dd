// Labels and annotations by which something on a host decides: what becomes of a tenant's.
import { describe, expect, test } from 'vitest'
import { nestedMap } from '../../../../src/domain/json/field-path.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { HOST_MEANINGS, hostMeaningOf } from '../../../../src/sync/objects/host-meanings.ts'
import type { HostPlace } from '../../../../src/sync/objects/host-name.ts'
import { marksOf, hostMetadata } from '../../../../src/sync/objects/host-metadata.ts'
import { withHostMetadata } from '../../../../src/sync/pair/metadata-flows.ts'
import { endpoints, inStep, syncedPair } from '../synced-pair.ts'
import {
  PREFIX,
  exchangeOf,
  metadataOf,
  several,
  single,
  virtualWith,
} from '../metadata-objects.ts'

const PLACES: readonly (readonly [string, HostPlace])[] = [
  ['single', single],
  ['several', several],
]

/** The metadata on the host without marks, as the syncer makes it. */
function crossed(kind: string, metadata: JsonMap, place: HostPlace, host: JsonMap | null = null) {
  const virtual = virtualWith(metadata)
  const made = hostMetadata({ ...exchangeOf({ virtual, place, host }), kind })
  const marks = marksOf(virtual, kind, place)
  const without = (field: 'labels' | 'annotations') =>
    Object.fromEntries(
      Object.entries(nestedMap(made, [field])).filter(([key]) => !Object.hasOwn(marks[field], key)),
    )
  return { labels: without('labels'), annotations: without('annotations'), made }
}

const DECIDING = [
  'endpointslice.kubernetes.io/skip-mirror',
  'endpointslice.kubernetes.io/managed-by',
  'endpoints.kubernetes.io/managed-by',
  'argocd.argoproj.io/tracking-id',
  'argocd.argoproj.io/instance',
  'kustomize.toolkit.fluxcd.io/name',
  'helm.toolkit.fluxcd.io/name',
  'meta.helm.sh/release-name',
  'helm.sh/resource-policy',
  'applyset.kubernetes.io/part-of',
  'objectset.rio.cattle.io/hash',
  'external-dns.alpha.kubernetes.io/hostname',
  'replicator.v1.mittwald.de/replicate-to',
  'reflector.v1.k8s.emberstack.com/reflection-allowed',
  'vcluster.loft.sh/managed-by',
]

describe('what decides something on the host', () => {
  test.each(DECIDING)('%s does not cross, and stays where the host has it (17.3)', (key) => {
    for (const [, place] of PLACES)
      for (const kind of ['Service', 'Endpoints']) {
        const forged = { [key]: 'forged', other: 'x' }
        const { labels, annotations, made } = crossed(
          kind,
          { labels: forged, annotations: forged },
          place,
        )
        expect({ labels, annotations }).toEqual({
          labels: { other: 'x' },
          annotations: { other: 'x' },
        })
        const host: JsonMap = {
          metadata: { ...made, annotations: { ...nestedMap(made, ['annotations']), [key]: 'own' } },
        }
        const again = crossed(kind, { labels: forged, annotations: forged }, place, host)
        expect(again.annotations).toEqual({ [key]: 'own', other: 'x' })
        const virtual = virtualWith({ labels: forged, annotations: forged })
        const written = { virtual: metadataOf(virtual), host: made }
        const back = withHostMetadata({ ...exchangeOf({ virtual, host, written, place }), kind })
        expect(back).toBe(virtual)
      }
  })

  test.each([
    ['labels', 'app.kubernetes.io/instance'],
    ['labels', 'app.kubernetes.io/managed-by'],
    ['labels', 'service.kubernetes.io/service-proxy-name'],
    ['labels', 'service.kubernetes.io/headless'],
    ['annotations', 'metallb.io/loadBalancerIPs'],
    ['annotations', 'Metallb.io/loadbalancerips'],
    ['annotations', 'ARGOCD.argoproj.io/tracking-id'],
  ] as const)('%s: %s does not cross (17.3)', (field, key) => {
    const { [field]: made } = crossed('Service', { [field]: { [key]: 'x', app: 'a' } }, single)
    expect(made).toEqual({ app: 'a' })
  })

  test.each([
    'app.kubernetes.io/name',
    'notargoproj.io/x',
    'argoproj.io.example.com/x',
    'argoproj.io',
    'service.kubernetes.io/topology-mode',
    'service.beta.kubernetes.io/aws-load-balancer-type',
  ])('%s crosses (17.3)', (key) => {
    const { labels, annotations } = crossed(
      'Service',
      { labels: { [key]: 'x' }, annotations: { [key]: 'x' } },
      single,
    )
    expect({ labels, annotations }).toEqual({ labels: { [key]: 'x' }, annotations: { [key]: 'x' } })
  })

  test('each row has a reason, and no key or domain stands in two rows of a field (17.3)', () => {
    const seen = HOST_MEANINGS.flatMap(({ keys, domains, fields, because }) => {
      expect(because).not.toBe('')
      return [...keys, ...domains].flatMap((one) => fields.map((field) => `${field} ${one}`))
    })
    const twice = seen.filter((one, at) => seen.indexOf(one) !== at)
    // Labels that mark a virtual cluster get another key; annotations of that name do not cross.
    expect(twice.map((one) => one.replace(PREFIX, ''))).toEqual([
      'labels managed-by',
      'labels namespace',
      'labels controlled-by',
    ])
  })
})

test('a patch of all annotations or labels may set any of them, and they go with it (17.3)', async () => {
  const KEY = 'external-dns.alpha.kubernetes.io/hostname'
  const annotated = { annotations: { [KEY]: 'web.tenant.example.com', other: 'x' } }
  const patches = [
    {
      path: 'metadata.annotations',
      expression: `({ ...value, "${KEY}": context.virtualObject.metadata.annotations["${KEY}"] })`,
    },
    { path: 'metadata.labels', expression: '({ ...value, "app.kubernetes.io/instance": "ours" })' },
  ]
  const pair = await inStep('endpoints', endpoints({}, annotated), { patches })
  expect(pair.atHost()).toMatchObject({
    metadata: {
      annotations: { [KEY]: 'web.tenant.example.com' },
      labels: { 'app.kubernetes.io/instance': 'ours' },
    },
  })
  const later = syncedPair('endpoints', {})
  later.virtual.put(pair.atVirtual() ?? {})
  later.host.put(pair.atHost() ?? {})
  await later.settle()
  const metadata = metadataOf(later.atHost())
  expect(nestedMap(metadata, ['annotations'])).toMatchObject({ other: 'x' })
  expect(Object.hasOwn(nestedMap(metadata, ['annotations']), KEY)).toBe(false)
  expect(nestedMap(metadata, ['labels'])).toEqual(
    marksOf(pair.atVirtual() ?? {}, 'Endpoints', single).labels,
  )
})

test('every key and domain of the table is found, also below it and in upper case (17.3)', () => {
  for (const row of HOST_MEANINGS)
    for (const field of row.fields) {
      for (const key of row.keys) expect(hostMeaningOf(field, key.toUpperCase())).not.toBeNull()
      for (const domain of row.domains) {
        const below = `${'a.'.repeat(60)}${domain}/x`
        expect([`${domain}/x`, below].map((key) => hostMeaningOf(field, key))).toEqual([row, row])
      }
    }
  for (const key of ['', '/', 'a', 'a/', './x', '..io/x', '.argoproj/x', 'io/x'])
    expect(hostMeaningOf('labels', key)).toBeNull()
})

describe('labels of Secrets and ConfigMaps', () => {
  const RELEASE = { owner: 'helm', name: 'web', status: 'deployed', version: '999' }
  const KEY = new RegExp(`^${PREFIX}label-vc-x-[0-9a-f]{10}$`)

  test.each(['Secret', 'ConfigMap'])('of a %s: every key is another one there (17.3)', (kind) => {
    for (const [, place] of PLACES) {
      const given = { ...RELEASE, release: 'r', 'app.kubernetes.io/instance': 'i' }
      const { labels } = crossed(kind, { labels: given }, place)
      expect(Object.keys(labels).every((key) => KEY.test(key))).toBe(true)
      expect(new Set(Object.values(labels))).toEqual(new Set(Object.values(given)))
    }
  })

  test('flow back under their own keys (17.3)', () => {
    const virtual = virtualWith({ labels: RELEASE })
    const { made } = crossed('Secret', { labels: RELEASE }, single)
    const changed = Object.fromEntries(
      Object.entries(nestedMap(made, ['labels'])).map(([key, value]) => [
        key,
        value === '999' ? '1' : value,
      ]),
    )
    const host: JsonMap = { metadata: { ...made, labels: changed } }
    const written = { virtual: metadataOf(virtual), host: made }
    const back = withHostMetadata({ ...exchangeOf({ virtual, host, written }), kind: 'Secret' })
    expect(nestedMap(back, ['metadata', 'labels'])).toEqual({ ...RELEASE, version: '1' })
  })

  test('that an older syncer let cross go, and keys of the host stay (17.3)', () => {
    const { made } = crossed('Secret', { labels: RELEASE }, single)
    const rules = `${PREFIX}crossing-rules`
    const { [rules]: _, ...older } = nestedMap(made, ['annotations'])
    const hostWith = (annotations: JsonMap): JsonMap => ({
      metadata: {
        ...made,
        labels: { ...marksOf(virtualWith({}), 'Secret', single).labels, ...RELEASE, own: 'h' },
        annotations: { ...annotations, 'argocd.argoproj.io/tracking-id': 'h' },
      },
    })
    const given = { labels: RELEASE }
    const after = crossed('Secret', given, single, hostWith(older))
    expect(Object.keys(after.labels).filter((key) => !KEY.test(key))).toEqual(['own'])
    expect(after.annotations).toEqual({ 'argocd.argoproj.io/tracking-id': 'h' })
    // By the rules of now such a label is the host's own.
    const own = crossed('Secret', given, single, hostWith(nestedMap(made, ['annotations'])))
    expect(own.labels).toMatchObject({ ...RELEASE, own: 'h' })
  })
})
