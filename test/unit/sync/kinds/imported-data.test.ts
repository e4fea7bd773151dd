import { describe, expect, test } from 'vitest'
import type { Json, JsonMap } from '../../../../src/domain/json/json.ts'
import type { SyncedKind } from '../../../../src/sync/objects/synced-kinds.ts'
import { importedData, withImportedData } from '../../../../src/sync/kinds/imported-data.ts'
import type { Fields } from '../translation.ts'

interface DataRow {
  readonly name: string
  readonly kind: SyncedKind
  readonly host: Fields
  readonly data: Fields
}

const service = (name: string, spec: Fields, imported: Fields): DataRow => ({
  name,
  kind: 'services',
  host: { spec, status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } } },
  data: { spec: imported },
})

/** What the API server gives to a Service. */
const GIVEN: Fields = {
  clusterIP: '10.0.0.9',
  clusterIPs: ['10.0.0.9'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
}

const ROWS: readonly DataRow[] = [
  {
    name: 'a Secret',
    kind: 'secrets',
    host: { type: 'example.com/x', data: { a: 'eA==' }, immutable: true },
    data: { type: 'example.com/x', data: { a: 'eA==' }, immutable: true },
  },
  {
    name: 'a Secret with the token of a ServiceAccount, which no other cluster keeps',
    kind: 'secrets',
    host: { type: 'kubernetes.io/service-account-token', data: { token: 'eA==' } },
    data: { type: 'Opaque', data: { token: 'eA==' } },
  },
  {
    name: 'a ConfigMap',
    kind: 'configMaps',
    host: { data: { a: 'x' }, binaryData: { b: 'eA==' }, immutable: true },
    data: { data: { a: 'x' }, binaryData: { b: 'eA==' }, immutable: true },
  },
  {
    name: 'Endpoints without Pods and nodes of the host',
    kind: 'endpoints',
    host: {
      subsets: [
        {
          addresses: [
            { ip: '10.1.0.1', hostname: 'a', nodeName: 'n', targetRef: { kind: 'Pod', name: 'p' } },
          ],
          notReadyAddresses: [{ ip: '10.1.0.2', nodeName: 'n' }],
          ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }],
        },
        { addresses: [{ ip: '10.1.0.3' }] },
      ],
    },
    data: {
      subsets: [
        {
          addresses: [{ ip: '10.1.0.1', hostname: 'a' }],
          notReadyAddresses: [{ ip: '10.1.0.2' }],
          ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }],
        },
        { addresses: [{ ip: '10.1.0.3' }] },
      ],
    },
  },
  { name: 'Endpoints without addresses', kind: 'endpoints', host: { subsets: [] }, data: {} },
  service(
    'a Service without what the host has given it, and without its Pods',
    {
      ...GIVEN,
      type: 'LoadBalancer',
      selector: { app: 'x' },
      ports: [{ name: 'web', port: 80, targetPort: 8080, protocol: 'TCP', nodePort: 30080 }],
      externalIPs: ['203.0.113.2'],
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 30081,
      loadBalancerClass: 'example.com/x',
      loadBalancerSourceRanges: ['10.0.0.0/8'],
      allocateLoadBalancerNodePorts: true,
      internalTrafficPolicy: 'Cluster',
      sessionAffinity: 'None',
    },
    {
      type: 'ClusterIP',
      ports: [{ name: 'web', port: 80, targetPort: 8080, protocol: 'TCP' }],
      internalTrafficPolicy: 'Cluster',
      sessionAffinity: 'None',
    },
  ),
  service(
    'a headless Service',
    { ...GIVEN, clusterIP: 'None', clusterIPs: ['None'], type: 'ClusterIP' },
    { type: 'ClusterIP', clusterIP: 'None' },
  ),
  service(
    'an external name',
    { type: 'ExternalName', externalName: 'db.example.com' },
    { type: 'ExternalName', externalName: 'db.example.com' },
  ),
]

describe('what is imported', () => {
  test.each(ROWS)('of $name (19.5)', ({ kind, host, data }) => {
    const object: JsonMap = { metadata: { name: 'db', namespace: 'host' }, ...host }
    expect(importedData(kind, object)).toEqual(data)
  })
})

interface UpdateRow {
  readonly name: string
  readonly copy: Fields
  readonly host: Fields
  readonly spec: Json
}

const UPDATES: readonly UpdateRow[] = [
  {
    name: 'the same data change nothing',
    copy: { ...GIVEN, type: 'ClusterIP', ports: [{ port: 80 }], sessionAffinity: 'None' },
    host: { ...GIVEN, clusterIP: '10.9.0.1', ports: [{ port: 80 }], sessionAffinity: 'None' },
    spec: { ...GIVEN, type: 'ClusterIP', ports: [{ port: 80 }], sessionAffinity: 'None' },
  },
  {
    name: 'the same data of a headless Service change nothing',
    copy: { ...GIVEN, clusterIP: 'None', clusterIPs: ['None'], type: 'ClusterIP' },
    host: { ...GIVEN, clusterIP: 'None', clusterIPs: ['None'], type: 'ClusterIP' },
    spec: { ...GIVEN, clusterIP: 'None', clusterIPs: ['None'], type: 'ClusterIP' },
  },
  {
    name: 'a field that the host object has no more goes',
    copy: { ...GIVEN, type: 'ClusterIP', publishNotReadyAddresses: true },
    host: { ...GIVEN, type: 'ClusterIP' },
    spec: { ...GIVEN, type: 'ClusterIP' },
  },
  {
    name: 'an external name has no IP',
    copy: { ...GIVEN, type: 'ClusterIP', ports: [{ port: 80 }] },
    host: { type: 'ExternalName', externalName: 'db.example.com' },
    spec: { type: 'ExternalName', externalName: 'db.example.com' },
  },
  {
    name: 'what was headless gets an IP',
    copy: { ...GIVEN, clusterIP: 'None', clusterIPs: ['None'], type: 'ClusterIP' },
    host: { ...GIVEN, type: 'ClusterIP' },
    spec: { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', type: 'ClusterIP' },
  },
]

describe('a Service that is imported already', () => {
  test.each(UPDATES)('$name (19.5)', ({ copy, host, spec }) => {
    const data = importedData('services', { spec: host })
    expect(withImportedData('services', { spec: copy }, data)['spec']).toEqual(spec)
  })
})
