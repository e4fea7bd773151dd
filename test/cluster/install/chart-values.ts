// Values of the charts, each with the overlay of config/ that does the same.
import { stringify } from 'yaml'
import { AGENT, PLATFORM } from '../../../tools/charts/files.ts'

const argument = (value: string, component?: string): object => ({
  target: { kind: 'Deployment', ...(component && { name: component }) },
  patch: stringify([{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value }]),
})

const podField = (component: string, name: string, value: unknown): object => ({
  target: { kind: 'Deployment', name: component },
  patch: stringify([{ op: 'add', path: `/spec/template/spec/${name}`, value }]),
})

/** The class and the size of the volumes of a StatefulSet. */
const claim = (component: string, storageClassName: string, storage: string): object => ({
  target: { kind: 'StatefulSet', name: component },
  patch: stringify([
    { op: 'add', path: `${CLAIM}/storageClassName`, value: storageClassName },
    { op: 'replace', path: `${CLAIM}/resources/requests/storage`, value: storage },
  ]),
})

const CLAIM = '/spec/volumeClaimTemplates/0/spec'

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`
const IMAGE = { name: 'management-operator', newName: 'registry.example.com/p/mo' }
const TOLERATIONS = [{ key: 'platform', operator: 'Exists' }]

/** Values of a chart, and the overlay that does the same. */
interface Row {
  readonly name: string
  readonly values: object
  /** The same as an overlay. */
  readonly overlay: object
}

/** For the chart of the platform: overlays of config/default. */
export const PLATFORM_ROWS: readonly Row[] = [
  { name: 'defaults', values: {}, overlay: {} },
  {
    name: 'another registry and version',
    values: { image: { repository: IMAGE.newName, tag: '1.2.3' } },
    overlay: { images: [{ ...IMAGE, newTag: '1.2.3' }] },
  },
  {
    name: 'an image by digest, whatever its tag',
    values: { image: { repository: IMAGE.newName, tag: '1.2.3', digest: DIGEST } },
    overlay: { images: [{ ...IMAGE, digest: DIGEST }] },
  },
  {
    name: 'secrets of a registry',
    values: { imagePullSecrets: [{ name: 'registry' }] },
    overlay: {
      patches: ['manager', 'gateway', 'delivery'].map((one) =>
        podField(one, 'imagePullSecrets', [{ name: 'registry' }]),
      ),
    },
  },
  {
    name: 'an issuer',
    values: { issuerURL: 'https://platform.example.com/oidc' },
    overlay: {
      patches: [argument('--issuer-url=https://platform.example.com/oidc', 'manager|gateway')],
    },
  },
  {
    name: 'flags of manager, gateway and delivery process',
    values: {
      manager: { extraArgs: ['--token-max-ttl=12h'] },
      gateway: { extraArgs: ['--max-keys-per-user=20'] },
      delivery: { extraArgs: ['--gateway-url=https://platform.example.com'] },
    },
    overlay: {
      patches: [
        argument('--token-max-ttl=12h', 'manager'),
        argument('--max-keys-per-user=20', 'gateway'),
        argument('--gateway-url=https://platform.example.com', 'delivery'),
      ],
    },
  },
  {
    name: 'more gateways, on nodes of their own',
    values: {
      gateway: { replicas: 3, tolerations: TOLERATIONS, nodeSelector: { platform: 'only' } },
      manager: { priorityClassName: 'system-cluster-critical' },
    },
    overlay: {
      replicas: [{ name: 'gateway', count: 3 }],
      patches: [
        podField('gateway', 'tolerations', TOLERATIONS),
        podField('gateway', 'nodeSelector', { platform: 'only' }),
        podField('manager', 'priorityClassName', 'system-cluster-critical'),
      ],
    },
  },
  {
    name: 'a volume for the audit log',
    values: { gateway: { audit: { enabled: true } } },
    overlay: { components: ['../../components/audit'] },
  },
  {
    name: 'a larger volume for the audit log, of a class',
    values: { gateway: { audit: { enabled: true, storageClassName: 'fast', size: '100Gi' } } },
    overlay: {
      components: ['../../components/audit'],
      patches: [claim('gateway', 'fast', '100Gi')],
    },
  },
  {
    name: 'signing in',
    values: { signIn: { enabled: true } },
    overlay: {
      resources: ['../../default', '../../sign-in'],
      components: ['../../components/sign-in'],
    },
  },
  {
    name: 'signing in, beside a volume for the audit log',
    values: { signIn: { enabled: true }, gateway: { audit: { enabled: true } } },
    overlay: {
      resources: ['../../default', '../../sign-in'],
      components: ['../../components/audit', '../../components/sign-in'],
    },
  },
  {
    name: 'signing in, with scraping',
    values: {
      signIn: { enabled: true },
      monitoring: {
        serviceMonitor: { enabled: true },
        rules: { enabled: true },
        dashboard: { enabled: true },
      },
    },
    overlay: {
      resources: ['../../default', '../../sign-in'],
      components: [
        '../../components/sign-in',
        '../../components/prometheus',
        '../../components/prometheus-sign-in',
      ],
    },
  },
  {
    name: 'Secrets of claims in every namespace',
    values: { delivery: { everywhere: true } },
    overlay: { components: ['../../components/delivery-everywhere'] },
  },
  {
    name: 'Secrets of claims in every namespace, from another namespace',
    values: { namespace: 'my-platform', delivery: { everywhere: true } },
    overlay: {
      namespace: 'my-platform',
      components: ['../../components/delivery-everywhere'],
    },
  },
  {
    name: 'claims for those only that are named',
    values: { claims: { aggregateToEdit: false } },
    overlay: {
      patches: [
        {
          target: { kind: 'ClusterRole', name: 'platform-claim-editor' },
          patch: stringify([
            {
              op: 'remove',
              path: '/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit',
            },
          ]),
        },
      ],
    },
  },
  {
    name: 'a delivery process on nodes of its own',
    values: { delivery: { replicas: 3, nodeSelector: { platform: 'only' } } },
    overlay: {
      replicas: [{ name: 'delivery', count: 3 }],
      patches: [podField('delivery', 'nodeSelector', { platform: 'only' })],
    },
  },
  {
    name: 'another namespace',
    values: { namespace: 'my-platform' },
    overlay: { namespace: 'my-platform' },
  },
  {
    name: 'the older right to impersonate',
    values: { legacyImpersonation: 'always' },
    overlay: { components: ['../../components/legacy-impersonation'] },
  },
  {
    name: 'scraping, alerts and dashboard',
    values: {
      monitoring: {
        serviceMonitor: { enabled: true },
        rules: { enabled: true },
        dashboard: { enabled: true },
      },
    },
    overlay: { components: ['../../components/prometheus'] },
  },
]

/** For the chart of a connected cluster: overlays of config/direct. */
export const AGENT_ROWS: readonly Row[] = [
  { name: 'defaults', values: {}, overlay: {} },
  {
    name: 'a claim',
    values: { direct: { persistence: { enabled: true } } },
    overlay: { components: ['../../direct/claim'] },
  },
  {
    name: 'the webhook',
    values: { webhook: { enabled: true } },
    overlay: { components: ['../../direct/webhook'] },
  },
  {
    name: 'an audit log',
    values: { direct: { audit: { enabled: true } } },
    overlay: { components: ['../../components/audit-direct'] },
  },
  {
    name: 'an audit log of another platform, beside claim and webhook',
    values: {
      direct: {
        persistence: { enabled: true },
        audit: {
          enabled: true,
          storageClassName: 'fast',
          size: '500Mi',
          centralURL: 'https://k.example.com',
          secretName: 'mine',
        },
      },
      webhook: { enabled: true },
    },
    overlay: {
      components: ['../../direct/claim', '../../direct/webhook', '../../components/audit-direct'],
      patches: [
        claim('direct', 'fast', '500Mi'),
        {
          target: { kind: 'StatefulSet', name: 'direct' },
          patch: stringify([
            {
              op: 'replace',
              path: '/spec/template/spec/containers/0/args/9',
              value: '--central-url=https://k.example.com',
            },
            {
              op: 'replace',
              path: '/spec/template/spec/volumes/2/secret/secretName',
              value: 'mine',
            },
          ]),
        },
      ],
    },
  },
  {
    name: 'the older right to impersonate',
    values: { legacyImpersonation: 'always' },
    overlay: { components: ['../../direct/legacy-impersonation'] },
  },
  {
    name: 'scraping and alerts',
    values: { monitoring: { serviceMonitor: { enabled: true }, rules: { enabled: true } } },
    overlay: { components: ['../../components/prometheus-direct'] },
  },
]

const ON = { enabled: true }

/** Values by which a chart renders every object that it has, by the name of the chart. */
export const EVERYTHING = {
  [PLATFORM]: {
    legacyImpersonation: 'always',
    gateway: {
      tls: { mode: 'certManager', issuerRef: { name: 'internal' } },
      audit: ON,
      service: { type: 'LoadBalancer' },
      ingress: { ...ON, hosts: ['platform.example.com'] },
      httpRoute: { ...ON, parentRefs: [{ name: 'public' }] },
      autoscaling: ON,
    },
    delivery: { everywhere: true },
    signIn: ON,
    monitoring: { serviceMonitor: ON, podMonitor: ON, rules: ON, dashboard: ON },
    config: { platformHost: 'https://platform.example.com' },
  },
  [AGENT]: {
    legacyImpersonation: 'always',
    direct: { service: { type: 'LoadBalancer' }, persistence: ON, audit: ON },
    webhook: ON,
    target: ON,
    monitoring: { serviceMonitor: ON, rules: ON },
  },
}
