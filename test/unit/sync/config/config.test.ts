import { describe, expect, test } from 'vitest'
import { checkSyncConfig } from '../../../../src/sync/config/config.ts'

const P = 'sync.toHost.endpoints.patches'
const withPatches = (...patches: readonly unknown[]): unknown => ({
  sync: { toHost: { endpoints: { patches } } },
})
const faultsOf = (file: unknown): readonly string[] => checkSyncConfig(file).faults
const path = 'metadata.labels.x'

describe('the faults of patches, in their words (19.1)', () => {
  test.each<{ name: string; patches: readonly unknown[]; faults: readonly string[] }>([
    {
      name: 'expression and reference',
      patches: [{ path, expression: 'value', reference: { kind: 'Secret' } }],
      faults: [`${P}[0] can only use one of: expression, labels or reference`],
    },
    {
      name: 'reverseExpression and labels',
      patches: [{ path, reverseExpression: 'value', labels: {} }],
      faults: [`${P}[0] can only use one of: expression, labels or reference`],
    },
    {
      name: 'labels beside other fields of a reference',
      patches: [{ path, reference: { labels: {}, kind: 'Secret' } }],
      faults: [`${P}[0] reference labels stands alone: remove it, or kind`],
    },
    {
      name: 'nothing to do',
      patches: [{ path }],
      faults: [`${P}[0] need to use one of: expression, labels or reference`],
    },
    {
      name: 'the same path in other words',
      patches: [
        { path: 'metadata.labels.x', expression: 'value' },
        { path: 'metadata.labels.y', expression: 'value' },
        { path: 'metadata["labels"]."x"', expression: 'value' },
      ],
      faults: [`${P}[0] and ${P}[2] have the same path "metadata["labels"]."x""`],
    },
    { name: 'no path', patches: [{ expression: 'value' }], faults: [`${P}[0] path is required`] },
    {
      name: 'a path that cannot be parsed',
      patches: [{ path: 'a["b', expression: 'value' }],
      faults: [`${P}[0] path "a[\\"b": unclosed quote at 2`],
    },
    {
      name: 'the name',
      patches: [{ path: 'metadata["name"]', expression: 'value' }],
      faults: [`${P}[0] metadata.name cannot be patched`],
    },
    {
      name: 'the namespace',
      patches: [{ path: 'metadata.namespace', reference: { kind: 'Secret' } }],
      faults: [`${P}[0] metadata.namespace cannot be patched`],
    },
    {
      name: 'a reference that needs namePath',
      patches: [{ path: 'a', reference: { kind: 'Secret', namespacePath: 'ns', kindPath: 'k' } }],
      faults: [`${P}[0] reference namePath is required with namespacePath, kindPath`],
    },
    {
      name: 'a reference without a kind',
      patches: [{ path: 'a', reference: { apiVersion: 'v1' } }],
      faults: [`${P}[0] reference kind is required, or kindPath`],
    },
    {
      name: 'a kind that is not built in, without its group',
      patches: [{ path: 'a', reference: { kind: 'Deployment' } }],
      faults: [
        `${P}[0] reference kind Deployment needs its apiVersion with a group, such as apps/v1`,
      ],
    },
    {
      name: 'wildcards in a relative path',
      patches: [{ path: 'a', reference: { kind: 'Secret', namePath: 'b[*]' } }],
      faults: [`${P}[0] reference namePath "b[*]" must name one field, without wildcards`],
    },
    {
      name: 'a field that an entry does not have',
      patches: [{ path, expresion: 'value', expression: 'value' }],
      faults: [
        `${P}[0] has no field "expresion", accepted are path, expression, reverseExpression, reference, labels`,
      ],
    },
    {
      name: 'wrong types, all at once',
      patches: [
        'x',
        { path: 1, expression: 2 },
        { path, reference: 'x' },
        { path: 'b', labels: true },
      ],
      faults: [
        `${P}[0] must be an object`,
        `${P}[1] path must be a string`,
        `${P}[1] expression must be a string`,
        `${P}[2] reference must be an object`,
        `${P}[3] labels must be an object`,
      ],
    },
    {
      name: 'an expression that is a statement',
      patches: [{ path, expression: 'a = 1; a' }],
      faults: [
        `${P}[0] expression at 1:6: what ends here is a statement, one expression is needed: join the parts with commas, (a = 1, a)\n  a = 1; a\n       ^`,
      ],
    },
  ])('$name', ({ patches, faults }) => {
    expect(faultsOf(withPatches(...patches))).toEqual(faults)
  })

  test.each<{ name: string; patch: unknown }>([
    { name: 'both directions', patch: { path, expression: 'value', reverseExpression: 'value' } },
    {
      name: 'a reverse alone',
      patch: { path: 'metadata.annotations.*', reverseExpression: 'value' },
    },
    { name: 'a reference to a Secret', patch: { path: 'a', reference: { kind: 'Secret' } } },
    {
      name: 'a reference with all paths',
      patch: {
        path: 'a',
        reference: { namePath: 'n', namespacePath: 'ns', kindPath: 'k', apiVersionPath: 'v' },
      },
    },
    {
      name: 'a reference to a kind with a group',
      patch: { path: 'a', reference: { apiVersion: 'apps/v1', kind: 'Deployment' } },
    },
    { name: 'labels', patch: { path: 'spec.selector', labels: {} } },
    {
      name: 'labels inside of a reference',
      patch: { path: 'spec.selector', reference: { labels: {} } },
    },
    { name: 'absent values', patch: { path, expression: 'value', reference: null, labels: null } },
  ])('$name is accepted', ({ patch }) => {
    const { config, faults } = checkSyncConfig(withPatches(patch))
    expect(faults).toEqual([])
    expect(config?.kinds.endpoints.patches).toHaveLength(1)
  })
})

describe('the settings of a virtual cluster (16.1, 16.2, 17.5)', () => {
  test.each([null, undefined, {}, { sync: null }, { controlPlane: { distro: 'k8s' } }])(
    'an empty file has defaults: %j',
    (file) => {
      const { config, faults, warnings } = checkSyncConfig(file)
      expect({ faults, warnings }).toEqual({ faults: [], warnings: [] })
      expect(config?.kinds).toEqual({
        endpoints: { enabled: true, all: false, patches: [] },
        services: { enabled: true, all: false, patches: [] },
        secrets: { enabled: true, all: false, patches: [] },
        configMaps: { enabled: true, all: false, patches: [] },
      })
      expect(config?.namespaces).toBeNull()
    },
  )

  test('expressions see the file with the defaults of our keys, and no others', () => {
    const file = {
      experimental: { x: 1 },
      sync: { toHost: { pods: { enabled: true }, secrets: { all: true } } },
    }
    expect(checkSyncConfig(file).config?.withDefaults).toEqual({
      experimental: { x: 1 },
      sync: {
        toHost: {
          pods: { enabled: true },
          endpoints: { enabled: true },
          services: { enabled: true },
          secrets: { enabled: true, all: true },
          configMaps: { enabled: true, all: false },
          namespaces: { enabled: false },
        },
      },
    })
  })

  test.each<{ name: string; toHost: unknown; faults: readonly string[] }>([
    {
      name: 'services without endpoints',
      toHost: { endpoints: { enabled: false } },
      faults: ['sync.toHost.services requires sync.toHost.endpoints'],
    },
    {
      name: 'wrong types',
      toHost: { endpoints: { enabled: 'yes', patches: {} }, secrets: [], configMaps: { all: 1 } },
      faults: [
        'sync.toHost.endpoints.patches must be a list',
        'sync.toHost.endpoints.enabled must be true or false',
        'sync.toHost.secrets must be an object',
        'sync.toHost.configMaps.all must be true or false',
      ],
    },
    { name: 'a list', toHost: [], faults: ['sync.toHost must be an object'] },
    {
      name: 'mappings that cannot be',
      toHost: {
        namespaces: {
          enabled: true,
          mappings: { byName: { 'a*b*': 'x*', b: 'y*', c: 'Upper', d: 'same', e: 'same' } },
        },
      },
      faults: [
        'sync.toHost.namespaces.mappings.byName["a*b*"] needs one * on both sides, or none',
        'sync.toHost.namespaces.mappings.byName["b"] needs one * on both sides, or none',
        'sync.toHost.namespaces.mappings.byName["c"] must map a namespace, or a pattern with one *, to another',
        'sync.toHost.namespaces.mappings.byName leads d and e to one namespace, same',
      ],
    },
  ])('$name is a fault', ({ toHost, faults }) => {
    const checked = checkSyncConfig({ sync: { toHost } })
    expect(checked.faults).toEqual(faults)
    expect(checked.config).toBeNull()
  })

  test('both may be off', () => {
    const toHost = { endpoints: { enabled: false }, services: { enabled: false } }
    expect(faultsOf({ sync: { toHost } })).toEqual([])
  })

  test('patches of a kind that is not synced, and unknown keys, are warnings (16.2)', () => {
    const patches = [{ path: 'spec', expression: 'value' }]
    const toHost = { pods: { patches }, ingresses: { patches: [] }, endpoints: { enable: false } }
    expect(checkSyncConfig({ sync: { toHost } }).warnings.map(({ text }) => text)).toEqual([
      'sync.toHost.endpoints has no key "enable" for this syncer, it knows enabled, patches',
      'sync.toHost.pods.patches is not served: this syncer syncs endpoints, services, secrets, configMaps',
    ])
  })

  test.each([
    { kind: 'services', at: 'spec.ports[*].name', forward: '"prefix-" + value' },
    { kind: 'endpoints', at: 'subsets[*].addresses', forward: null },
    { kind: 'endpoints', at: 'spec.ports[*].nodePort', forward: null },
    { kind: 'secrets', at: 'data.url', forward: 'btoa("x" + atob(value))' },
    { kind: 'configMaps', at: 'metadata.labels2', forward: 'value' },
  ] as const)(
    'a reverseExpression of $kind at $at does nothing, which is a warning (18.5)',
    ({ kind, at, forward }) => {
      const patches = [{ path: at, expression: forward, reverseExpression: 'value.slice(7)' }]
      const { config, faults, warnings } = checkSyncConfig({
        sync: { toHost: { [kind]: { patches } } },
      })
      const text = `sync.toHost.${kind}.patches[0] reverseExpression has no effect: "${at}" does not flow back`
      expect({ faults, warnings }).toEqual({
        faults: [],
        warnings: [{ reason: 'ReverseNotServed', text }],
      })
      expect(config?.kinds[kind].patches).toMatchObject([
        { kind: 'expression', forward: forward && { source: forward }, reverse: null },
      ])
    },
  )

  test.each([
    { kind: 'services', at: 'spec.ports[0].nodePort' },
    { kind: 'services', at: 'status.loadBalancer.ingress' },
    { kind: 'endpoints', at: 'metadata.labels.app' },
    { kind: 'secrets', at: 'metadata.annotations.*' },
  ] as const)('a reverseExpression of $kind at $at is in force (18.5)', ({ kind, at }) => {
    const patches = [{ path: at, reverseExpression: 'value' }]
    const { config, warnings } = checkSyncConfig({ sync: { toHost: { [kind]: { patches } } } })
    expect(warnings).toEqual([])
    expect(config?.kinds[kind].patches).toMatchObject([{ reverse: { source: 'value' } }])
  })
})
