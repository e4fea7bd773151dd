import { describe, expect, test } from 'vitest'
import type { Json, JsonMap } from '../../../src/domain/json/json.ts'
import { TRANSLATORS } from '../../../src/sync/rules/kinds.ts'
import type { TranslationContext } from '../../../src/sync/rules/translator.ts'
import { SEVERAL, context, virtual, written } from './translation.ts'

const { services } = TRANSLATORS
type Fields = Readonly<Record<string, Json>>

const MARKS = {
  'vcluster.platform.sh/managed-by': 'vc',
  'vcluster.platform.sh/namespace': 'shop',
}

/** A patch of this kind acts on the field. */
const patched =
  (field: readonly (string | number)[], kind: 'expression' | 'labels' | 'reference') =>
  (path: readonly (string | number)[]) =>
    JSON.stringify(path) === JSON.stringify(field) ? kind : null

describe('Services on the way to the host (18.4)', () => {
  test.each<{ name: string; spec: Fields; host: Fields; given?: Partial<TranslationContext> }>([
    {
      name: 'a selector gets our labels',
      spec: { selector: { app: 'web', release: 'one' } },
      host: {
        selector: { app: 'web', 'vcluster.platform.sh/label-vc-x-a4d451ec23': 'one', ...MARKS },
      },
    },
    {
      name: 'a label with the name of a field of LabelSelectors',
      spec: { selector: { matchLabels: 'a', matchExpressions: 'b' } },
      host: { selector: { matchLabels: 'a', matchExpressions: 'b', ...MARKS } },
    },
    { name: 'an empty selector stays empty', spec: { selector: {} }, host: { selector: {} } },
    { name: 'no selector', spec: { type: 'ClusterIP' }, host: { type: 'ClusterIP' } },
    { name: 'a selector of null', spec: { selector: null }, host: { selector: null } },
    {
      name: 'a selector in multi-namespace mode stays',
      spec: { selector: { release: 'one' } },
      host: { selector: { release: 'one' } },
      given: { place: SEVERAL },
    },
    {
      name: 'a selector that a labels patch translates stays for it',
      spec: { selector: { release: 'one' } },
      host: { selector: { release: 'one' } },
      given: { patchKindAt: patched(['spec', 'selector'], 'labels') },
    },
    {
      name: 'a selector that an expression changes is translated before',
      spec: { selector: { app: 'web' } },
      host: { selector: { app: 'web', ...MARKS } },
      given: { patchKindAt: patched(['spec', 'selector'], 'expression') },
    },
    {
      name: 'cluster IPs are cleared, families stay',
      spec: {
        clusterIP: '10.96.0.7',
        clusterIPs: ['10.96.0.7'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      },
      host: { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    },
    {
      name: 'a headless Service stays headless',
      spec: { clusterIP: 'None', clusterIPs: ['None'] },
      host: { clusterIP: 'None' },
    },
    {
      name: 'a cluster IP that an expression changes stays for it',
      spec: { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'] },
      host: { clusterIP: '10.96.0.7' },
      given: { patchKindAt: patched(['spec', 'clusterIP'], 'expression') },
    },
    {
      name: 'cluster IPs that an expression changes stay for it',
      spec: { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'] },
      host: { clusterIPs: ['10.96.0.7'] },
      given: { patchKindAt: patched(['spec', 'clusterIPs'], 'expression') },
    },
    {
      name: 'node ports are cleared, but the one that an expression changes',
      spec: {
        type: 'NodePort',
        ports: [{ port: 80, nodePort: 30080 }, { port: 81, nodePort: 30081 }, { port: 82 }, 'x'],
      },
      host: {
        type: 'NodePort',
        ports: [{ port: 80 }, { port: 81, nodePort: 30081 }, { port: 82 }, 'x'],
      },
      given: { patchKindAt: patched(['spec', 'ports', 1, 'nodePort'], 'expression') },
    },
    { name: 'malformed ports stay', spec: { ports: 'x' }, host: { ports: 'x' } },
    {
      name: 'the port of the health check is asked for',
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30001 },
      host: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30001 },
    },
    {
      name: 'all else crosses as it is',
      spec: {
        type: 'LoadBalancer',
        sessionAffinity: 'ClientIP',
        loadBalancerIP: '192.0.2.1',
        loadBalancerSourceRanges: ['10.0.0.0/8'],
        loadBalancerClass: 'a.example/b',
        allocateLoadBalancerNodePorts: false,
        publishNotReadyAddresses: true,
      },
      host: {
        type: 'LoadBalancer',
        sessionAffinity: 'ClientIP',
        loadBalancerIP: '192.0.2.1',
        loadBalancerSourceRanges: ['10.0.0.0/8'],
        loadBalancerClass: 'a.example/b',
        allocateLoadBalancerNodePorts: false,
        publishNotReadyAddresses: true,
      },
    },
  ])('$name', ({ spec, host, given }) => {
    const object = virtual({ spec, status: { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } } })
    expect(services.toHost(object, context(given))).toEqual(virtual({ spec: host }))
    // Nothing that the check drops without external IPs and patches.
    expect(written(services, object, null, given)['spec']).toEqual(host)
  })
})

/** The spec of the host Service after an update; both are of type ClusterIP unless they say otherwise. */
const updated = (spec: Fields, host: Fields, given?: Partial<TranslationContext>): Json =>
  written(services, virtual({ spec }), virtual({ spec: host }), given)['spec'] ?? null

const IP = { clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'] }
const SINGLE_STACK = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }
const VIRTUAL_IP = { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'], ...SINGLE_STACK }
const NONE = { clusterIP: 'None', clusterIPs: ['None'] }

describe('Services that exist on the host (18.4)', () => {
  test.each<{ name: string; spec: Fields; host: Fields; result: Fields }>([
    {
      name: 'the cluster IP is the host’s',
      spec: VIRTUAL_IP,
      host: { ...IP, ...SINGLE_STACK },
      result: { ...IP, ...SINGLE_STACK },
    },
    {
      name: 'families are the host’s, the policy is the virtual Service’s: a second family goes',
      spec: VIRTUAL_IP,
      host: {
        clusterIP: '10.0.0.7',
        clusterIPs: ['10.0.0.7', 'fd00::7'],
        ipFamilies: ['IPv4', 'IPv6'],
        ipFamilyPolicy: 'PreferDualStack',
      },
      result: {
        clusterIP: '10.0.0.7',
        clusterIPs: ['10.0.0.7', 'fd00::7'],
        ipFamilies: ['IPv4', 'IPv6'],
        ipFamilyPolicy: 'SingleStack',
      },
    },
    {
      name: 'a second family comes',
      spec: { ...VIRTUAL_IP, ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' },
      host: { ...IP, ...SINGLE_STACK },
      result: { ...IP, ipFamilies: ['IPv4'], ipFamilyPolicy: 'PreferDualStack' },
    },
    {
      name: 'without a policy the host’s stays',
      spec: {},
      host: { ...IP, ...SINGLE_STACK },
      result: { ...IP, ...SINGLE_STACK },
    },
    {
      name: 'a headless Service',
      spec: { ...NONE, ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
      host: { ...NONE, ...SINGLE_STACK },
      result: { ...NONE, ...SINGLE_STACK },
    },
    {
      name: 'ClusterIP becomes ExternalName',
      spec: { type: 'ExternalName', externalName: 'example.com' },
      host: { ...IP, ...SINGLE_STACK, type: 'ClusterIP', ports: [{ port: 80 }] },
      result: { type: 'ExternalName', externalName: 'example.com' },
    },
    {
      name: 'ExternalName becomes ClusterIP',
      spec: { ...VIRTUAL_IP, type: 'ClusterIP' },
      host: { type: 'ExternalName', externalName: 'example.com' },
      result: { ...SINGLE_STACK, type: 'ClusterIP' },
    },
    {
      name: 'ExternalName becomes headless',
      spec: { ...NONE, ...SINGLE_STACK },
      host: { type: 'ExternalName', externalName: 'example.com' },
      result: { clusterIP: 'None', ...SINGLE_STACK },
    },
    {
      name: 'ClusterIP becomes NodePort: the host chooses',
      spec: { ...VIRTUAL_IP, type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] },
      host: { ...IP, ...SINGLE_STACK, type: 'ClusterIP', ports: [{ port: 80 }] },
      result: { ...IP, ...SINGLE_STACK, type: 'NodePort', ports: [{ port: 80 }] },
    },
    {
      name: 'NodePort becomes LoadBalancer: node ports stay, the health check gets its own',
      spec: {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 30001,
        ports: [{ port: 80, nodePort: 30080 }],
      },
      host: { ...IP, type: 'NodePort', ports: [{ port: 80, nodePort: 31000 }] },
      result: {
        ...IP,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        ports: [{ port: 80, nodePort: 31000 }],
      },
    },
    {
      name: 'LoadBalancer becomes ClusterIP: node ports, class and health check go',
      spec: { type: 'ClusterIP', ports: [{ port: 80 }] },
      host: {
        ...IP,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31001,
        loadBalancerClass: 'a.example/b',
        ports: [{ port: 80, nodePort: 31000 }],
      },
      result: { ...IP, type: 'ClusterIP', ports: [{ port: 80 }] },
    },
    {
      name: 'the port of the health check is the host’s',
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30001 },
      host: {
        ...IP,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31001,
      },
      result: {
        ...IP,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31001,
      },
    },
    {
      name: 'a load balancer without a health check on the host gets one there',
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30001 },
      host: { ...IP, type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' },
      result: { ...IP, type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
    },
    {
      name: 'a health check ends',
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' },
      host: {
        ...IP,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31001,
      },
      result: { ...IP, type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' },
    },
    {
      name: 'a class that the host has set stays',
      spec: { type: 'LoadBalancer' },
      host: { ...IP, type: 'LoadBalancer', loadBalancerClass: 'a.example/b' },
      result: { ...IP, type: 'LoadBalancer', loadBalancerClass: 'a.example/b' },
    },
    {
      name: 'other fields of the host go',
      spec: { sessionAffinity: 'None' },
      host: { ...IP, sessionAffinity: 'ClientIP', externalIPs: ['192.0.2.1'] },
      result: { ...IP, sessionAffinity: 'None' },
    },
  ])('$name', ({ spec, host, result }) => {
    expect(updated(spec, host)).toEqual(result)
    expect(
      services.needsRecreation(
        written(services, virtual({ spec }), virtual({ spec: host })),
        virtual({ spec: host }),
      ),
    ).toBe(false)
    // The host Service takes what it was given: the next look finds nothing to do.
    expect(updated(spec, result)).toEqual(result)
  })

  test('the status is the host’s', () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }
    const host = virtual({ spec: IP, status })
    expect(written(services, virtual({ spec: {}, status: {} }), host)).toEqual(
      virtual({ spec: IP, status }),
    )
    expect(written(services, virtual({ spec: {} }), virtual({ spec: IP }))).toEqual(
      virtual({ spec: IP }),
    )
  })

  test('what a patch asks for goes before what the host has', () => {
    const spec = { ...VIRTUAL_IP, type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] }
    const host = { ...IP, type: 'NodePort', ports: [{ port: 80, nodePort: 31000 }] }
    expect(
      updated(spec, host, {
        patchKindAt: patched(['spec', 'ports', 0, 'nodePort'], 'expression'),
      }),
    ).toMatchObject({ ports: [{ port: 80, nodePort: 30080 }] })
  })
})

describe('changes that the API server refuses: deleted and created anew (18.4)', () => {
  const EXTERNAL = { type: 'ExternalName', externalName: 'example.com' }
  const balancer = (loadBalancerClass?: string): Fields => ({
    ...IP,
    type: 'LoadBalancer',
    ...(loadBalancerClass === undefined ? {} : { loadBalancerClass }),
  })
  test.each<{ name: string; desired: Fields; host: Fields; needed: boolean }>([
    { name: 'headless, not before', desired: { clusterIP: 'None' }, host: IP, needed: true },
    { name: 'headless no more', desired: {}, host: NONE, needed: true },
    { name: 'headless still', desired: { clusterIP: 'None' }, host: NONE, needed: false },
    { name: 'the host’s cluster IP', desired: {}, host: IP, needed: false },
    {
      name: 'another cluster IP that a patch asks for',
      desired: { clusterIP: '10.0.0.8' },
      host: IP,
      needed: true,
    },
    {
      name: 'a cluster IP, headless before',
      desired: { clusterIP: '10.0.0.8' },
      host: NONE,
      needed: true,
    },
    { name: 'ExternalName, headless before', desired: EXTERNAL, host: NONE, needed: false },
    {
      name: 'headless, ExternalName before',
      desired: { clusterIP: 'None' },
      host: EXTERNAL,
      needed: false,
    },
    {
      name: 'another class',
      desired: balancer('a.example/b'),
      host: balancer('a.example/c'),
      needed: true,
    },
    {
      name: 'a class, none before',
      desired: balancer('a.example/b'),
      host: balancer(),
      needed: true,
    },
    {
      name: 'the same class',
      desired: balancer('a.example/b'),
      host: balancer('a.example/b'),
      needed: false,
    },
    {
      name: 'no class of its own',
      desired: balancer(),
      host: balancer('a.example/c'),
      needed: false,
    },
    {
      name: 'a class, another type before',
      desired: balancer('a.example/b'),
      host: { ...IP, type: 'NodePort' },
      needed: false,
    },
  ])('$name: $needed', ({ desired, host, needed }) => {
    const [mine, theirs] = [virtual({ spec: desired }), virtual({ spec: host })]
    expect(services.needsRecreation(mine, theirs)).toBe(needed)
    const kept = services.withHostValues(mine, theirs)
    expect(services.needsRecreation(kept, theirs)).toBe(needed)
    // Nothing of the old Service is asked for again.
    if (needed && desired['type'] === undefined) expect(kept['spec']).toEqual(desired)
  })
})

describe('node ports (18.4, 18.5)', () => {
  const port = (name: string | null, number: number, more: Fields = {}): JsonMap => ({
    ...(name === null ? {} : { name }),
    port: number,
    ...more,
  })
  test.each<{ name: string; ports: Json; host: Json; numbers: (number | undefined)[] }>([
    {
      name: 'by name, though numbers changed',
      ports: [port('b', 90), port('a', 80)],
      host: [port('a', 90, { nodePort: 1 }), port('b', 80, { nodePort: 2 })],
      numbers: [2, 1],
    },
    {
      name: 'a port that got another name',
      ports: [port('web', 80), port('tls', 443)],
      host: [port(null, 80, { nodePort: 1 })],
      numbers: [1, undefined],
    },
    {
      name: 'each counts once',
      ports: [port('b', 80), port('c', 90)],
      host: [port('a', 80, { nodePort: 1 }), port('b', 90, { nodePort: 2 })],
      numbers: [2, undefined],
    },
    {
      name: 'one number for two protocols',
      ports: [port('t', 53, { protocol: 'TCP' }), port('u', 53, { protocol: 'UDP' })],
      host: [port('x', 53, { protocol: 'UDP', nodePort: 5 }), port('y', 53, { nodePort: 4 })],
      numbers: [4, 5],
    },
    {
      name: 'the same name with another protocol is another port',
      ports: [port('a', 53, { protocol: 'UDP' })],
      host: [port('a', 53, { protocol: 'TCP', nodePort: 5 })],
      numbers: [undefined],
    },
    {
      name: 'no number yet',
      ports: [port('a', 80), port('b', 81)],
      host: [port('a', 80), port('b', 81, { nodePort: 0 })],
      numbers: [undefined, undefined],
    },
    {
      name: 'malformed ports',
      ports: ['x', port('a', 80)],
      host: ['x', port('a', 80, { nodePort: 1 })],
      numbers: [undefined, 1],
    },
    { name: 'none', ports: [port('a', 80)], host: null, numbers: [undefined] },
  ])('$name', ({ ports, host, numbers }) => {
    const others = { type: 'NodePort', ports: host }
    for (const type of ['NodePort', 'LoadBalancer']) {
      const spec = { type, ports }
      const expected = (ports as readonly Json[]).map((one, at) =>
        numbers[at] === undefined ? one : { ...(one as JsonMap), nodePort: numbers[at] },
      )
      expect(updated(spec, others)).toMatchObject({ ports: expected })
      expect(services.toVirtual(virtual({ spec }), virtual({ spec: others }))).toEqual(
        virtual({ spec: { type, ports: expected } }),
      )
    }
    // Other types have none.
    const plain = virtual({ spec: { ports } })
    expect(services.toVirtual(plain, virtual({ spec: others }))).toBe(plain)
    expect(updated({ ports }, others)).toMatchObject({ ports })
  })
})

describe('what flows back from Services (18.5)', () => {
  const INGRESS = { ingress: [{ ip: '192.0.2.1' }] }
  const back = (mine: JsonMap, host: JsonMap) => services.toVirtual(mine, host)

  test('the host’s node ports and load balancer, and nothing else', () => {
    const mine = virtual({
      spec: { ...VIRTUAL_IP, type: 'LoadBalancer', ports: [{ port: 80, nodePort: 30080 }] },
      status: { conditions: [], loadBalancer: {} },
    })
    const host = virtual({
      spec: {
        ...IP,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31001,
        ports: [{ port: 80, nodePort: 31000, appProtocol: 'x' }],
      },
      status: { conditions: [{ type: 'x' }], loadBalancer: INGRESS },
    })
    const result = virtual({
      spec: { ...VIRTUAL_IP, type: 'LoadBalancer', ports: [{ port: 80, nodePort: 31000 }] },
      status: { conditions: [], loadBalancer: INGRESS },
    })
    expect(back(mine, host)).toEqual(result)
    expect(back(result, host)).toBe(result)
  })

  test.each<{ name: string; type: string; mine: Json; host: Json; result: Json | undefined }>([
    {
      name: 'addresses that the host has taken back',
      type: 'LoadBalancer',
      mine: { loadBalancer: INGRESS },
      host: { loadBalancer: {} },
      result: { loadBalancer: {} },
    },
    {
      name: 'a host Service without a status',
      type: 'LoadBalancer',
      mine: { loadBalancer: INGRESS },
      host: null,
      result: { loadBalancer: {} },
    },
    {
      name: 'no status on either side',
      type: 'LoadBalancer',
      mine: null,
      host: { loadBalancer: {} },
      result: undefined,
    },
    {
      name: 'another type than the host’s',
      type: 'ClusterIP',
      mine: { loadBalancer: {} },
      host: { loadBalancer: INGRESS },
      result: undefined,
    },
  ])('$name', ({ type, mine, host, result }) => {
    const object = virtual({ spec: { type }, status: mine })
    const flown = back(object, virtual({ spec: { type: 'LoadBalancer' }, status: host }))
    if (result === undefined) expect(flown).toBe(object)
    else expect(flown).toEqual(virtual({ spec: { type }, status: result }))
  })
})
