import { describe, expect, test } from 'vitest'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import { TRANSLATORS } from '../../../../src/sync/kinds/translators.ts'
import type { TranslationContext } from '../../../../src/sync/kinds/translator.ts'
import {
  type Fields,
  SEVERAL,
  context,
  patchedAt,
  updatedSpec,
  virtual,
  writtenService,
} from '../translation.ts'

const { services } = TRANSLATORS

const MARKS = {
  'vcluster.platform.sh/managed-by': 'vc',
  'vcluster.platform.sh/namespace': 'shop',
}

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
      given: { patchKindAt: patchedAt(['spec', 'selector'], 'labels') },
    },
    {
      name: 'a selector that an expression changes is translated before',
      spec: { selector: { app: 'web' } },
      host: { selector: { app: 'web', ...MARKS } },
      given: { patchKindAt: patchedAt(['spec', 'selector'], 'expression') },
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
      given: { patchKindAt: patchedAt(['spec', 'clusterIP'], 'expression') },
    },
    {
      name: 'cluster IPs that an expression changes stay for it',
      spec: { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'] },
      host: { clusterIPs: ['10.96.0.7'] },
      given: { patchKindAt: patchedAt(['spec', 'clusterIPs'], 'expression') },
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
      given: { patchKindAt: patchedAt(['spec', 'ports', 1, 'nodePort'], 'expression') },
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
        loadBalancerSourceRanges: ['10.0.0.0/8'],
        loadBalancerClass: 'a.example/b',
        allocateLoadBalancerNodePorts: false,
        publishNotReadyAddresses: true,
      },
      host: {
        type: 'LoadBalancer',
        sessionAffinity: 'ClientIP',
        loadBalancerSourceRanges: ['10.0.0.0/8'],
        loadBalancerClass: 'a.example/b',
        allocateLoadBalancerNodePorts: false,
        publishNotReadyAddresses: true,
      },
    },
    ...[
      { policy: 'SingleStack', chooses: true, isSent: true },
      { policy: 'RequireDualStack', chooses: true, isSent: true },
      { policy: 'PreferDualStack', chooses: true, isSent: false },
      { policy: 'SingleStack', chooses: false, isSent: false },
      { policy: 'RequireDualStack', chooses: false, isSent: false },
    ].map(({ policy, chooses, isSent }) => ({
      name: `IP families with ${policy}, ${chooses ? 'chosen' : 'filled in'}: ${isSent}`,
      spec: { ipFamilyPolicy: policy, ipFamilies: ['IPv6'] },
      host: { ipFamilyPolicy: policy, ...(isSent ? { ipFamilies: ['IPv6'] } : {}) },
      given: { choosesIpFamilies: chooses },
    })),
    {
      name: 'IP families that a patch asks for',
      spec: { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'] },
      host: { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'] },
      given: { patchKindAt: patchedAt(['spec', 'ipFamilies'], 'expression') },
    },
  ])('$name', ({ spec, host, given }) => {
    const object = virtual({ spec, status: { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } } })
    expect(services.toHost(object, context(given))).toEqual(virtual({ spec: host }))
    // Nothing that the check drops without external IPs and patches.
    expect(writtenService(object, null, given)['spec']).toEqual(host)
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
      name: 'a port without a name that got another number',
      ports: [port(null, 8080)],
      host: [port(null, 80, { nodePort: 1 })],
      numbers: [1],
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
      expect(updatedSpec(spec, others)).toMatchObject({ ports: expected })
      expect(services.toVirtual(virtual({ spec }), virtual({ spec: others }))).toEqual(
        virtual({ spec: { type, ports: expected } }),
      )
    }
    // Other types have none.
    const plain = virtual({ spec: { ports } })
    expect(services.toVirtual(plain, virtual({ spec: others }))).toBe(plain)
    expect(updatedSpec({ ports }, others)).toMatchObject({ ports })
  })
})

describe('what flows back from Services (18.5)', () => {
  const INGRESS = { ingress: [{ ip: '192.0.2.1' }] }
  const back = (mine: JsonMap, host: JsonMap) => services.toVirtual(mine, host)

  test('the host’s node ports and load balancer, and nothing else', () => {
    const mine = virtual({
      spec: {
        clusterIP: '10.96.0.9',
        type: 'LoadBalancer',
        ports: [{ port: 80, nodePort: 30080 }],
      },
      status: { conditions: [], loadBalancer: {} },
    })
    const host = virtual({
      spec: {
        clusterIP: '10.0.0.7',
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 31001,
        ports: [{ port: 80, nodePort: 31000, appProtocol: 'x' }],
      },
      status: { conditions: [{ type: 'x' }], loadBalancer: INGRESS },
    })
    const result = virtual({
      spec: {
        clusterIP: '10.96.0.9',
        type: 'LoadBalancer',
        ports: [{ port: 80, nodePort: 31000 }],
      },
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
    expect(flown).toEqual(virtual({ spec: { type }, status: result ?? mine }))
    // The same object where nothing flows back.
    expect(flown === object).toBe(result === undefined)
  })
})
