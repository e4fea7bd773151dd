import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../src/domain/json/json.ts'
import { TRANSLATORS } from '../../../../src/sync/kinds/translators.ts'
import type { TranslationContext } from '../../../../src/sync/kinds/translator.ts'
import { SEVERAL, cidrs, context, settings, virtual } from '../translation.ts'

const { services } = TRANSLATORS
type Fields = Readonly<Record<string, Json>>

const HOST_NAME = 'web-x-shop-x-vc.host.svc'
const REFUSAL =
  'spec.externalName must name a synced Service of this virtual cluster, or nothing within a cluster'

describe('external names (18.6)', () => {
  const checked = (externalName: Json | undefined, given?: Partial<TranslationContext>) => {
    const spec = {
      type: 'ExternalName',
      ...(externalName === undefined ? {} : { externalName }),
    }
    return services.check(virtual({ spec }), settings(), context(given))
  }

  test.each<{ name: string; host: string; given?: Partial<TranslationContext> }>([
    { name: 'web.shop.svc', host: `${HOST_NAME}.cluster.local` },
    { name: 'web.shop.svc.cluster.local', host: `${HOST_NAME}.cluster.local` },
    { name: 'web.shop.svc.example.org', host: `${HOST_NAME}.example.org` },
    { name: 'web.shop.svc.cluster.local.', host: `${HOST_NAME}.cluster.local` },
    { name: 'Web.SHOP.Svc.cluster.local', host: `${HOST_NAME}.cluster.local` },
    {
      name: 'svc.svc.svc',
      host: 'svc-x-svc-x-vc.host.svc.cluster.local',
      given: { hasService: ({ name, namespace }) => name === 'svc' && namespace === 'svc' },
    },
    {
      name: 'web.shop.svc',
      host: 'web.host-shop.svc.cluster.local',
      given: { place: SEVERAL },
    },
  ])('$name of the virtual cluster is $host', ({ name, host, given }) => {
    expect(checked(name, given)).toEqual({
      object: virtual({ spec: { type: 'ExternalName', externalName: host } }),
      refusals: [],
    })
  })

  test.each<{ name: string; given?: Partial<TranslationContext> }>([
    // As a patch makes them.
    { name: HOST_NAME },
    { name: `${HOST_NAME}.cluster.local` },
    { name: `${HOST_NAME}.example.org.` },
    // Outside of a cluster.
    { name: 'example.com' },
    { name: 'example.com.' },
    { name: 'a.b.c.example.com' },
    { name: 'svc.example.com' },
    { name: 'my.svc.example.com' },
    { name: 'a.b.svcs.example.com' },
    { name: 'a.b.my-svc' },
    { name: 'localhost.example.com' },
    { name: '10-0-0-1.example.com' },
    { name: 'db.shop.pod.example.com' },
    { name: '1.example' },
    { name: '' },
  ])('%j passes: $name', ({ name, given }) => {
    const { object, refusals } = checked(name, given)
    expect(refusals).toEqual([])
    expect(object).toEqual(virtual({ spec: { type: 'ExternalName', externalName: name } }))
  })

  test.each<{ name: Json | undefined; given?: Partial<TranslationContext> }>([
    { name: 'db.shop.svc' },
    { name: 'web.other.svc' },
    { name: 'web.other.svc.cluster.local' },
    { name: 'web.other.svc.cluster.local.' },
    { name: 'WEB.OTHER.SVC.cluster.local' },
    { name: 'kubernetes.default.svc' },
    { name: 'web-x-shop-x-vc.elsewhere.svc' },
    { name: 'web-x-shop-x-other.host.svc' },
    { name: 'vc.host.svc.cluster.local' },
    // Names of Pods and of ports of a Service, also of one that is the virtual cluster's.
    { name: 'pod-0.web.shop.svc.cluster.local' },
    { name: '_http._tcp.web.other.svc.cluster.local' },
    { name: `pod-0.${HOST_NAME}` },
    { name: 'web.shop.svc..' },
    { name: 'web.shop.svc..local' },
    { name: 'web.shop.svc._x' },
    { name: 'a_b.shop.svc' },
    { name: '.shop.svc' },
    { name: `web.shop.svc.${'a.'.repeat(130)}org` },
    { name: undefined },
    { name: null },
    { name: 5 },
    { name: HOST_NAME, given: { place: SEVERAL, ownsHostService: () => false } },
  ])('$name is refused', ({ name, given }) => {
    expect(checked(name, given)).toEqual({ object: null, refusals: [REFUSAL] })
  })

  test.each([
    '169.254.169.254',
    '169.254.169.254.',
    '2852039166',
    '0xa9fea9fe',
    '0xA9FEA9FE',
    '0x',
    '0251.0376.0251.0376',
    '169.254.43518',
    '10.1',
    '999.999',
    '::1',
    'fe80::1',
  ])('%s is an IP address', (name) => {
    const refusals = ['spec.externalName is an IP address, not a name']
    expect(checked(name)).toEqual({ object: null, refusals })
  })

  test.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'localhost.localdomain',
    'localhost6',
    'ip6-loopback',
  ])('%s is the machine itself', (name) => {
    const refusals = ['spec.externalName is the machine itself']
    expect(checked(name)).toEqual({ object: null, refusals })
  })

  test.each([
    '169-254-169-254.default.pod.cluster.local',
    '10-0-0-1.other.pod',
    'fd00-ec2--254.other.pod.cluster.local.',
  ])('%s is the address of a Pod', (name) => {
    const refusals = ['spec.externalName is the address of a Pod, written as a name']
    expect(checked(name)).toEqual({ object: null, refusals })
  })

  test.each(['ClusterIP', 'NodePort', 'LoadBalancer', undefined])(
    'type %s does not use the name, which is left out',
    (type) => {
      const spec: Fields = type === undefined ? {} : { type }
      const object = virtual({ spec: { ...spec, externalName: 'web.other.svc' } })
      expect(services.check(object, settings(), context())).toEqual({
        object: virtual({ spec }),
        refusals: [],
      })
    },
  )

  test('a patch sees the name as the virtual Service has it (19.4)', () => {
    const spec = { type: 'ExternalName', externalName: 'web.shop.svc' }
    expect(services.toHost(virtual({ spec }), context())).toEqual(virtual({ spec }))
  })
})

describe('external IPs of Services (18.6)', () => {
  const given = settings({ allowedExternal: cidrs('192.0.2.0/24') })
  const refused = (at: number, ip: string): string =>
    `spec.externalIPs[${at}] ${ip} is in no range that external IPs are allowed from`

  test.each<{ name: string; spec: Fields; host: Fields; refusals: string[] }>([
    {
      name: 'allowed ones stay',
      spec: { externalIPs: ['192.0.2.1'], externalTrafficPolicy: 'Local' },
      host: { externalIPs: ['192.0.2.1'], externalTrafficPolicy: 'Local' },
      refusals: [],
    },
    {
      name: 'others go, each with its place',
      spec: { externalIPs: ['10.0.0.1', '192.0.2.1', '10.0.0.2'], externalTrafficPolicy: 'Local' },
      host: { externalIPs: ['192.0.2.1'], externalTrafficPolicy: 'Local' },
      refusals: [refused(0, '10.0.0.1'), refused(2, '10.0.0.2')],
    },
    {
      name: 'with the last the policy of a ClusterIP Service',
      spec: { type: 'ClusterIP', externalIPs: ['10.0.0.1'], externalTrafficPolicy: 'Local' },
      host: { type: 'ClusterIP' },
      refusals: [refused(0, '10.0.0.1')],
    },
    {
      name: 'with the last the policy of a Service without a type',
      spec: { externalIPs: ['10.0.0.1'], externalTrafficPolicy: 'Cluster' },
      host: {},
      refusals: [refused(0, '10.0.0.1')],
    },
    {
      name: 'a NodePort Service keeps the policy',
      spec: { type: 'NodePort', externalIPs: ['10.0.0.1'], externalTrafficPolicy: 'Local' },
      host: { type: 'NodePort', externalTrafficPolicy: 'Local' },
      refusals: [refused(0, '10.0.0.1')],
    },
    {
      name: 'a value that is not an address goes',
      spec: { externalIPs: [5, '192.0.2.1', null] },
      host: { externalIPs: ['192.0.2.1'] },
      refusals: [0, 2].map((at) => `spec.externalIPs[${at}] must be an IP address`),
    },
    {
      name: 'a value that is not a list goes',
      spec: { externalIPs: '192.0.2.1' },
      host: {},
      refusals: ['spec.externalIPs must be a list'],
    },
    { name: 'none', spec: { externalIPs: null }, host: {}, refusals: [] },
    { name: 'an empty list', spec: { externalIPs: [] }, host: {}, refusals: [] },
    {
      name: 'sources of the load balancer pass, and its allowed address',
      spec: {
        type: 'LoadBalancer',
        loadBalancerIP: '192.0.2.7',
        loadBalancerSourceRanges: ['0.0.0.0/0'],
      },
      host: {
        type: 'LoadBalancer',
        loadBalancerIP: '192.0.2.7',
        loadBalancerSourceRanges: ['0.0.0.0/0'],
      },
      refusals: [],
    },
    ...[
      ['169.254.169.254', '169.254.169.254 is a metadata address'],
      ['10.0.0.1', '10.0.0.1 is in no range that external IPs are allowed from'],
      ['lb.example.com', 'must be an IP address'],
    ].map(([loadBalancerIP = '', because = '']) => ({
      name: `address ${loadBalancerIP} of the load balancer goes`,
      spec: { type: 'LoadBalancer', loadBalancerIP },
      host: { type: 'LoadBalancer' },
      refusals: [`spec.loadBalancerIP ${because}`],
    })),
    {
      name: 'of another type it goes without a word',
      spec: { type: 'ClusterIP', loadBalancerIP: '192.0.2.7' },
      host: { type: 'ClusterIP' },
      refusals: [],
    },
  ])('$name', ({ spec, host, refusals }) => {
    expect(services.check(virtual({ spec }), given, context())).toEqual({
      object: virtual({ spec: host }),
      refusals,
    })
  })

  test('a denied address is refused in an allowed range', () => {
    const object = virtual({ spec: { externalIPs: ['192.0.2.1'] } })
    const denied = settings({ ...given, denied: cidrs('192.0.2.1/32') })
    expect(services.check(object, denied, context()).refusals).toEqual([
      'spec.externalIPs[0] 192.0.2.1 is in the denied range 192.0.2.1/32',
    ])
  })
})

describe('a type that a patch has changed: fields that it has no use for go (18.4)', () => {
  const BALANCER = {
    clusterIP: 'None',
    clusterIPs: ['None'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 30001,
    allocateLoadBalancerNodePorts: true,
    loadBalancerClass: 'a.example/b',
    loadBalancerSourceRanges: ['10.0.0.0/8'],
    loadBalancerIP: '192.0.2.9',
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    ports: [{ port: 80, nodePort: 30080 }],
  }
  const balancerWithout = (...names: readonly string[]): Fields =>
    Object.fromEntries(Object.entries(BALANCER).filter(([name]) => !names.includes(name)))
  const OF_BALANCERS = [
    'healthCheckNodePort',
    'allocateLoadBalancerNodePorts',
    'loadBalancerClass',
    'loadBalancerIP',
    'loadBalancerSourceRanges',
  ]
  const OF_CLUSTER_IPS = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']

  test.each<{ name: string; spec: Fields; host: Fields }>([
    {
      name: 'LoadBalancer keeps all',
      spec: { ...BALANCER, type: 'LoadBalancer' },
      host: { ...BALANCER, type: 'LoadBalancer' },
    },
    {
      name: 'LoadBalancer of the whole cluster has no health check',
      spec: { ...BALANCER, type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' },
      host: {
        ...balancerWithout('healthCheckNodePort'),
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Cluster',
      },
    },
    {
      name: 'NodePort',
      spec: { ...BALANCER, type: 'NodePort' },
      host: { ...balancerWithout(...OF_BALANCERS), type: 'NodePort' },
    },
    {
      name: 'ClusterIP',
      spec: { ...BALANCER, type: 'ClusterIP' },
      host: {
        ...balancerWithout(...OF_BALANCERS, 'externalTrafficPolicy'),
        type: 'ClusterIP',
        ports: [{ port: 80 }],
      },
    },
    {
      name: 'ExternalName',
      spec: { ...BALANCER, type: 'ExternalName', externalName: 'example.com' },
      host: {
        ...balancerWithout(...OF_BALANCERS, ...OF_CLUSTER_IPS, 'externalTrafficPolicy'),
        type: 'ExternalName',
        externalName: 'example.com',
        ports: [{ port: 80 }],
      },
    },
  ])('$name', ({ spec, host }) => {
    const allowing = settings({ allowedExternal: cidrs('192.0.2.0/24') })
    expect(services.check(virtual({ spec }), allowing, context())).toEqual({
      object: virtual({ spec: host }),
      refusals: [],
    })
  })
})
