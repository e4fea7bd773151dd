import { describe, expect, test } from 'vitest'
import { nestedField, nestedMap, setNestedField } from '../../../../src/domain/json/field-path.ts'
import type { Json } from '../../../../src/domain/json/json.ts'
import { hostLabelKey } from '../../../../src/sync/objects/selectors.ts'
import { NOT_STABLE } from '../../../../src/sync/objects/server-fields.ts'
import { translate } from '../../../../src/sync/pair/translation.ts'
import { countingSandbox } from '../counting-sandbox.ts'
import { syncedPair, webOf } from '../synced-pair.ts'
import { type Change, type Given, LABEL, at, labelled, twice } from '../translated-twice.ts'

const NOTE = ['metadata', 'annotations', 'note']

describe('labels and annotations', () => {
  const forth = { path: 'metadata.labels.app', expression: 'value + "-host"' }
  const both = { ...forth, reverseExpression: 'value.replace("-host", "")' }
  const back = { path: 'metadata.labels.app', reverseExpression: '"from " + value' }
  test.each<
    { name: string; virtual: Json; host: Json } & Omit<Given, 'virtual' | 'host'> & {
        changes?: readonly Change[]
      }
  >([
    { name: 'nothing has changed', virtual: 'a', host: 'a' },
    { name: 'the host has changed', changes: [[LABEL, 'h']], virtual: 'h', host: 'h' },
    { name: 'the virtual side has changed', meanwhile: [[LABEL, 'v']], virtual: 'v', host: 'v' },
    {
      name: 'both have changed',
      changes: [[LABEL, 'h']],
      meanwhile: [[LABEL, 'v']],
      virtual: 'v',
      host: 'v',
    },
    { name: 'the host has lost it', changes: [[LABEL, undefined]], virtual: 'a', host: 'a' },
    {
      name: 'after a restart',
      changes: [[LABEL, 'h']],
      isRestarted: true,
      virtual: 'a',
      host: 'a',
    },
    { name: 'patched one way', patches: [forth], virtual: 'a', host: 'a-host' },
    {
      name: 'patched one way, and the host has changed',
      patches: [forth],
      changes: [[LABEL, 'h']],
      virtual: 'a',
      host: 'a-host',
    },
    {
      name: 'patched one way, and both have changed',
      patches: [forth],
      changes: [[LABEL, 'h']],
      meanwhile: [[LABEL, 'v']],
      virtual: 'v',
      host: 'v-host',
    },
    { name: 'patched both ways', patches: [both], virtual: 'a', host: 'a-host' },
    {
      name: 'patched both ways, and the host has changed',
      patches: [both],
      changes: [[LABEL, 'h-host']],
      virtual: 'h',
      host: 'h-host',
    },
    { name: 'patched back only', patches: [back], virtual: 'a', host: 'a' },
    {
      name: 'patched back only, and the host has changed',
      patches: [back],
      changes: [[LABEL, 'h']],
      virtual: 'from h',
      host: 'from h',
    },
    {
      name: 'patched in the map that holds it',
      patches: [{ path: 'metadata.labels', expression: '({ ...value, app: "x" })' }],
      changes: [[LABEL, 'h']],
      virtual: 'a',
      host: 'x',
    },
    {
      name: 'patched by a wildcard',
      patches: [{ path: 'metadata.labels.*', expression: '"x"' }],
      changes: [[LABEL, 'h']],
      virtual: 'a',
      host: 'x',
    },
  ])('$name (17.3, 18.5)', async ({ virtual, host, changes = [], ...given }) => {
    const { after } = await twice({ ...given, virtual: labelled, host: changes })
    expect([at(after.virtual, LABEL), at(after.host, LABEL)]).toEqual([virtual, host])
  })

  test('of the virtual object stay one value where nothing flows (17.3)', async () => {
    const { pair, after } = await twice({
      virtual: labelled,
      host: [[['metadata', 'labels', 'x'], 'y']],
    })
    expect(after.virtual).toBe(pair.virtual)
    expect(at(after.host, ['metadata', 'labels', 'x'])).toBe('y')
  })

  test('an annotation flows as a label does (17.3)', async () => {
    const { after } = await twice({ virtual: labelled, host: [[NOTE, 'h']] })
    expect(at(after.virtual, NOTE)).toBe('h')
  })

  test('with another key on the host, patched there one way, neither flow nor change (17.3, 18.5)', async () => {
    const path = ['metadata', 'labels', hostLabelKey('release', 'vc')]
    const { after } = await twice({
      virtual: webOf('endpoints', {}, { labels: { release: 'r' } }),
      patches: [{ path: `metadata.labels["${path[2]}"]`, expression: '"x"' }],
      host: [[path, 'h']],
    })
    expect(nestedMap(after.virtual, ['metadata', 'labels'])).toEqual({ release: 'r' })
    expect(at(after.host, path)).toBe('r')
  })

  test('a removal by a patch removes it on the host, and what only the host has stays (19.3)', async () => {
    const { after } = await twice({
      patches: [{ path: 'metadata.labels.app', expression: 'undefined' }],
      virtual: labelled,
      host: [
        [LABEL, 'h'],
        [['metadata', 'labels', 'x'], 'y'],
      ],
    })
    expect(at(after.virtual, LABEL)).toBe('a')
    expect(at(after.host, LABEL)).toBeUndefined()
    expect(at(after.host, ['metadata', 'labels', 'x'])).toBe('y')
  })

  test('an old verdict goes (19.7)', async () => {
    const path = ['metadata', 'annotations', NOT_STABLE]
    const { after } = await twice({ virtual: labelled, host: [[path, 'x']] })
    expect(at(after.host, path)).toBeUndefined()
    expect(at(after.virtual, path)).toBeUndefined()
  })
})

describe('node ports and the status of a load balancer', () => {
  const service = webOf('services', {
    spec: { type: 'LoadBalancer', ports: [{ name: 'a', port: 80, protocol: 'TCP' }] },
    status: { loadBalancer: {} },
  })
  const ports = [{ name: 'a', port: 80, protocol: 'TCP', nodePort: 30_080 }]
  const ingress = [{ ip: '1.2.3.4' }]
  const host: readonly Change[] = [
    [['spec', 'ports'], ports],
    [['status', 'loadBalancer'], { ingress }],
  ]

  test('flow back (18.5)', async () => {
    const { after } = await twice({ kind: 'services', virtual: service, host })
    expect(at(after.virtual, ['spec', 'ports'])).toEqual(ports)
    expect(at(after.virtual, ['status'])).toEqual({ loadBalancer: { ingress } })
  })

  test.each([
    { name: 'with a reverse expression', patch: { reverseExpression: '"9.9.9.9"' }, ip: '9.9.9.9' },
    {
      name: 'and not where they are patched one way',
      patch: { expression: 'value' },
      ip: '1.1.1.1',
    },
  ])('flow $name (18.5)', async ({ patch, ip }) => {
    const virtual = setNestedField(service, ['status', 'loadBalancer'], {
      ingress: [{ ip: '1.1.1.1' }],
    })
    const patches = [{ path: 'status.loadBalancer.ingress[*].ip', ...patch }]
    const { after } = await twice({ kind: 'services', virtual, patches, host })
    expect(at(after.virtual, ['status', 'loadBalancer'])).toEqual({ ingress: [{ ip }] })
  })

  test('a node port that is none of the host is not patched back (18.5)', async () => {
    const own = { name: 'b', port: 81, protocol: 'TCP', nodePort: 31_081 }
    const virtual = setNestedField(service, ['spec', 'ports'], [own, ...ports])
    const patches = [{ path: 'spec.ports[*].nodePort', reverseExpression: 'value + 1' }]
    const { after } = await twice({ kind: 'services', virtual, patches, host })
    expect(at(after.virtual, ['spec', 'ports'])).toEqual([own, { ...ports[0], nodePort: 30_081 }])
  })

  test('stay on the host, as its cluster IP does (18.4)', async () => {
    const own: Change = [['spec', 'clusterIP'], '10.0.0.9']
    const { after } = await twice({ kind: 'services', virtual: service, host: [...host, own] })
    expect(after.host).toMatchObject({
      spec: { clusterIP: '10.0.0.9', ports },
      status: { loadBalancer: { ingress } },
    })
  })

  test('a node port that a patch sets is asked for, and does not flow back (18.4, 18.5)', async () => {
    const virtual = setNestedField(service, ['spec', 'ports'], [{ ...ports[0], nodePort: 31_000 }])
    const patches = [{ path: 'spec.ports[*].nodePort', expression: '32000' }]
    const { after } = await twice({ kind: 'services', virtual, patches, host })
    expect(nestedField(after.host ?? {}, ['spec', 'ports', 0, 'nodePort'])).toBe(32_000)
    expect(nestedField(after.virtual, ['spec', 'ports', 0, 'nodePort'])).toBe(31_000)
  })
})

describe('a refused object', () => {
  const refused: Change = [['subsets'], [{ addresses: [{ ip: '127.0.0.1' }] }]]

  test('has no host object to write, and its labels flow back (18.2)', async () => {
    const { after, refusals } = await twice({
      virtual: labelled,
      meanwhile: [refused],
      host: [[LABEL, 'h']],
    })
    expect(after.host).toBeNull()
    expect(at(after.virtual, LABEL)).toBe('h')
    expect(refusals).toHaveLength(1)
    expect(refusals[0]).toContain('subsets[0].addresses[0].ip')
  })

  test('is one that a patch has made so (18.2)', async () => {
    const patches = [{ path: 'subsets[*].addresses[*].ip', expression: '"169.254.169.254"' }]
    const virtual = webOf('endpoints', { subsets: [{ addresses: [{ ip: '10.1.2.3' }] }] })
    await expect(twice({ virtual, patches })).rejects.toThrow('it is refused')
  })
})

test('an expression that fails names its patch, and the direction matters not (19.8)', async () => {
  const { translation: settings } = syncedPair('endpoints', {
    patches: [{ path: 'metadata.labels.app', expression: '(() => { throw 1 })()' }],
  }).world
  const { evaluate } = countingSandbox()
  const failed = await translate({ virtual: labelled, host: null }, null, settings, evaluate)
  expect(failed).toMatchObject({ ok: false, path: 'metadata.labels.app' })
})
