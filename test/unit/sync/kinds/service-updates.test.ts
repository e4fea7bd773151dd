import { describe, expect, test } from 'vitest'
import { TRANSLATORS } from '../../../../src/sync/kinds/translators.ts'
import { type Fields, patchedAt, updatedSpec, virtual, writtenService } from '../translation.ts'

const { services } = TRANSLATORS

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
    expect(updatedSpec(spec, host)).toEqual(result)
    expect(
      services.needsRecreation(
        writtenService(virtual({ spec }), virtual({ spec: host })),
        virtual({ spec: host }),
      ),
    ).toBe(false)
    // The host Service takes what it was given: the next look finds nothing to do.
    expect(updatedSpec(spec, result)).toEqual(result)
  })

  test('the status is the host’s', () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }
    const host = virtual({ spec: IP, status })
    expect(writtenService(virtual({ spec: {}, status: {} }), host)).toEqual(
      virtual({ spec: IP, status }),
    )
    expect(writtenService(virtual({ spec: {} }), virtual({ spec: IP }))).toEqual(
      virtual({ spec: IP }),
    )
  })

  test('yield to what a patch asks for', () => {
    const spec = { ...VIRTUAL_IP, type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] }
    const host = { ...IP, type: 'NodePort', ports: [{ port: 80, nodePort: 31000 }] }
    expect(
      updatedSpec(spec, host, {
        patchKindAt: patchedAt(['spec', 'ports', 0, 'nodePort'], 'expression'),
      }),
    ).toMatchObject({ ports: [{ port: 80, nodePort: 30080 }] })
  })
})

describe('changes that the API server refuses: deleted and created again (18.4)', () => {
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
  })

  test.each<{ desired: Fields; host: Fields }>([
    { desired: { clusterIP: 'None' }, host: { ...IP, ...SINGLE_STACK } },
    { desired: {}, host: { ...NONE, ...SINGLE_STACK } },
  ])('$desired: nothing of $host is asked for again', ({ desired, host }) => {
    expect(services.withHostValues(virtual({ spec: desired }), virtual({ spec: host }))).toEqual(
      virtual({ spec: desired }),
    )
  })
})
