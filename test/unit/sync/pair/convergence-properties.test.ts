// Random objects, patches and changes by others: what must hold whatever they are.
import { describe, expect, test } from 'vitest'
import { nestedField, nestedMap, setNestedField } from '../../../../src/domain/json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isList,
  isMap,
  mapFromEntries,
  sameJson,
} from '../../../../src/domain/json/json.ts'
import type { SyncedKind } from '../../../../src/sync/objects/synced-kinds.ts'
import { ownerOf } from '../../../../src/sync/objects/host-metadata.ts'
import { MARK_KEYS, MARK_PREFIX } from '../../../../src/sync/objects/mark-keys.ts'
import { type Random, randomFrom } from '../../../support/random.ts'
import { repeated } from '../../../support/tier.ts'
import { OWNER, syncedPair, webOf } from '../synced-pair.ts'
import { SINGLE } from '../translation.ts'

const KEYS = [
  'app',
  'release',
  'x.y/z',
  `${MARK_PREFIX}managed-by`,
  `${MARK_PREFIX}object-uid`,
  'constructor',
]
/** Without marks: who changes those on the host makes the object foreign. */
const OTHER_KEYS = KEYS.filter((key) => !key.startsWith(MARK_PREFIX))
const VALUES = ['', 'a', 'b', 'web', 'creds', 'creds-x-shop-x-vc', 'web-x-shop-x-vc']
const KINDS: readonly SyncedKind[] = ['endpoints', 'services', 'secrets', 'configMaps']

/** Paths of fields that patches are tried on, some of them hostile. */
const PATHS: Readonly<Record<SyncedKind, readonly string[]>> = {
  endpoints: [
    'subsets',
    'subsets[*].ports[*].port',
    'subsets[*].addresses[*].targetRef.name',
    'subsets[0]',
    'subsets[*].*',
  ],
  services: [
    'spec',
    'spec.ports[*].nodePort',
    'spec.ports[*].*',
    'spec.selector',
    'spec.type',
    'spec.clusterIP',
    'status',
    'status.loadBalancer',
    'status.*',
    'spec.ports',
  ],
  secrets: ['data', 'data.*', 'type', 'data.app', 'immutable'],
  configMaps: ['data', 'data.*', 'data.app', 'immutable'],
}
const COMMON = [
  'metadata',
  'metadata.*',
  'metadata.labels',
  'metadata.annotations',
  'metadata.labels.app',
  'metadata.annotations["x.y/z"]',
  'metadata.labels.*',
  'metadata.annotations.*',
  'kind',
]
const EXPRESSIONS = [
  'value',
  'undefined',
  '"x"',
  '8',
  'typeof value === "string" ? value + "-h" : value',
  'typeof value === "string" ? value.replace("-h", "") : value',
  'typeof value === "number" ? value + 1 : value',
  'Array.isArray(value) ? [...value, ...value] : value',
  'context.hostObject?.metadata?.uid ?? "none"',
  '(context.hostObject?.metadata?.labels?.app ?? "") + "x"',
  'context.virtualObject?.metadata?.labels ?? {}',
  'typeof value === "object" ? ({ ...value, name: "moved", uid: "moved", namespace: "kube-system" }) : value',
]

function stringsOf(random: Random): JsonMap {
  const count = random.pick([0, 1, 2, 3])
  return mapFromEntries(
    Array.from({ length: count }, () => [random.pick(KEYS), random.pick(VALUES)] as const),
  )
}

function fieldsOf(kind: SyncedKind, random: Random): JsonMap {
  switch (kind) {
    case 'endpoints': {
      const targetRef = { kind: random.pick(['Pod', 'Node']), name: random.pick(VALUES), uid: 'p1' }
      const addresses = [
        {
          ip: random.pick(['10.1.2.3', '10.1.2.4', '10.66.0.1']),
          ...random.pick([{}, { targetRef }]),
        },
      ]
      return { subsets: random.pick<Json>([[], [{ addresses, ports: [{ port: 80 }] }]]) }
    }
    case 'services': {
      const type = random.pick(['ClusterIP', 'NodePort', 'LoadBalancer'])
      const ports = random.pick<Json>([
        [{ name: 'a', port: 80 }],
        [
          { name: 'a', port: 80 },
          { name: 'b', port: 81 },
        ],
      ])
      return { spec: { type, ports, selector: stringsOf(random) } }
    }
    case 'secrets':
    case 'configMaps':
      return { data: stringsOf(random), ...random.pick<JsonMap>([{}, { immutable: true }]) }
    default:
      return kind satisfies never
  }
}

/** Patches that never settle. */
const RESTLESS: readonly object[] = [
  {
    path: 'metadata.annotations.app',
    expression: '(context.hostObject?.metadata?.annotations?.app ?? "") + "x"',
  },
  { path: 'spec.ports[*].nodePort', expression: 'value + 1', reverseExpression: 'value + 1' },
]

function patchesOf(kind: SyncedKind, random: Random): readonly object[] {
  if (random.pick([0, 1, 2, 3, 4, 5, 6, 7]) === 0)
    return [RESTLESS[kind === 'services' ? 1 : 0] ?? {}]
  const paths = [...PATHS[kind], ...COMMON]
  const flows = [
    'metadata.labels',
    'metadata.annotations',
    'metadata.*',
    'spec.ports[*].nodePort',
    'spec.ports[*].*',
    'status.loadBalancer',
    'status.*',
  ]
  const chosen = new Set(
    Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, () => random.pick(paths)),
  )
  return [...chosen].map((path) => {
    const canReverse = flows.some(
      (flow) => path === flow || path.startsWith(`${flow}.`) || path.startsWith(`${flow}[`),
    )
    const isOfService = kind === 'services' || path.startsWith('metadata')
    return {
      path,
      ...random.pick<object>([
        { expression: random.pick(EXPRESSIONS) },
        { reference: { kind: 'Secret' } },
        { labels: {} },
        canReverse && isOfService
          ? { expression: random.pick(EXPRESSIONS), reverseExpression: random.pick(EXPRESSIONS) }
          : { expression: random.pick(EXPRESSIONS) },
        canReverse && isOfService
          ? { reverseExpression: random.pick(EXPRESSIONS) }
          : { labels: {} },
      ]),
    }
  })
}

/** The virtual object without what flows back into it, and without its version. */
function fixed(object: JsonMap | null): Json {
  const {
    labels: _,
    annotations: __,
    resourceVersion: ___,
    ...metadata
  } = nestedMap(object ?? {}, ['metadata'])
  const spec = nestedMap(object ?? {}, ['spec'])
  const { ports: given } = spec
  const ports = isList(given)
    ? given.map((port) => (isMap(port) ? { ...port, nodePort: null } : port))
    : null
  const { loadBalancer: ____, ...status } = nestedMap(object ?? {}, ['status'])
  return { ...object, metadata, spec: { ...spec, ports }, status }
}

/** What must hold of the host object, whatever patches do. */
function faultsOf(host: JsonMap | null, virtual: JsonMap | null, kind: string): readonly string[] {
  if (host === null) return []
  const owner = ownerOf(host, kind, SINGLE)
  const metadata = nestedMap(host, ['metadata'])
  const faults = [
    owner?.name === 'web' && owner.namespace === 'shop' ? [] : ['the marks have moved'],
    owner?.uid === nestedField(virtual ?? {}, ['metadata', 'uid']) ? [] : ['the uid is another'],
    JSON.stringify(metadata['ownerReferences']) ===
    JSON.stringify([{ ...OWNER, controller: false }])
      ? []
      : ['the owner has moved'],
    metadata['name'] === 'web-x-shop-x-vc' && metadata['namespace'] === 'host'
      ? []
      : ['the name has moved'],
    metadata['finalizers'] === undefined ? [] : ['there are finalizers'],
    host['kind'] === kind ? [] : ['the kind has changed'],
  ]
  return faults.flat()
}

/** What a user does on the host. */
function drift(host: JsonMap, kind: SyncedKind, random: Random): JsonMap {
  const paths: Readonly<Record<SyncedKind, string>> = {
    endpoints: 'subsets',
    services: 'spec',
    secrets: 'data',
    configMaps: 'data',
  }
  return random.pick<() => JsonMap>([
    () => setNestedField(host, ['metadata', 'labels', 'app'], random.pick(VALUES)),
    () =>
      setNestedField(host, ['metadata', 'labels', random.pick(OTHER_KEYS)], random.pick(VALUES)),
    () => setNestedField(host, ['metadata', 'annotations', 'x.y/z'], random.pick(VALUES)),
    () => setNestedField(host, ['metadata', 'ownerReferences'], undefined),
    () =>
      setNestedField(
        host,
        [paths[kind]],
        kind === 'endpoints' ? [] : nestedMap(host, [paths[kind]]),
      ),
    () =>
      kind === 'services'
        ? setNestedField(host, ['status', 'loadBalancer'], {
            ingress: [{ ip: random.pick(['1.1.1.1', '2.2.2.2']) }],
          })
        : host,
  ])()
}

/** Marks that the virtual object has now and did not have, or the other way round. */
const crossedMarks = (now: JsonMap | null, manifest: JsonMap): readonly string[] =>
  (['labels', 'annotations'] as const).flatMap((field) =>
    [...MARK_KEYS[field]].filter((key) => {
      const path = ['metadata', field, key]
      return nestedField(now ?? {}, path) !== nestedField(manifest, path)
    }),
  )

type Rest = 'at rest' | 'unstable' | 'failed'

/** Reconciles until nothing is written; throws when that never ends. */
async function rest(pair: ReturnType<typeof syncedPair>): Promise<Rest> {
  await pair.settle()
  const states = pair.report.countByState()
  if (states['failed'] === 1) return 'failed'
  return states['unstable'] === 1 ? 'unstable' : 'at rest'
}

const SEEDS = Array.from({ length: repeated(60, 300) }, (_, seed) => seed)

/** What happened to one pair that others change three times. */
async function outcomesOf(kind: SyncedKind, seed: number) {
  const random = randomFrom(seed * 7919 + KINDS.indexOf(kind))
  const patches = patchesOf(kind, random)
  const pair = syncedPair(kind, { patches })
  const manifest = webOf(kind, fieldsOf(kind, random), {
    labels: stringsOf(random),
    annotations: stringsOf(random),
  })
  const stored = pair.virtual.put(manifest)
  const rests: Rest[] = []
  const faults: string[] = []
  for (let change = 0; change < 4; change += 1) {
    const now = await rest(pair).catch((error: unknown) => {
      faults.push(String(error))
      return 'failed' as const
    })
    rests.push(now)
    const [virtual, host] = [pair.atVirtual(), pair.atHost()]
    if (!sameJson(fixed(virtual), fixed(stored))) faults.push('the virtual object has changed')
    faults.push(...crossedMarks(virtual, manifest))
    if (now === 'at rest') faults.push(...faultsOf(host, virtual, pair.world.settings.kind))
    pair.writes()
    await pair.clock.advance(61_000)
    if (host !== null) pair.host.put(drift(host, kind, random))
  }
  return { rests, faults, about: JSON.stringify({ seed, patches, manifest }) }
}

describe.each(KINDS)('%s, whatever the patches', (kind) => {
  test('come to rest; nothing else of the virtual object changes, and no mark moves (18.5, 19.6, 19.7)', async () => {
    const rests: Rest[] = []
    for (const seed of SEEDS) {
      const { faults, about, ...outcome } = await outcomesOf(kind, seed)
      expect({ about, faults }).toEqual({ about, faults: [] })
      rests.push(...outcome.rests)
    }
    // Both happen, else the test has tried nothing.
    expect(rests.filter((one) => one === 'at rest').length).toBeGreaterThan(rests.length / 2)
    expect(rests).toContain('unstable')
  })
})
