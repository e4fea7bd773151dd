// Labels and annotations that decide something on a host, as one table: none of them crosses as a tenant wrote it
// (contract 17.3).
import { MARK_KEYS, MARK_LABELS, MARK_PREFIX, type MetadataField, SKIP_SYNC } from './mark-keys.ts'

/** Keys that decide something on a host, and what becomes of a virtual object's own. */
export interface HostMeaning {
  /** Whole keys, compared without regard to case. */
  readonly keys: readonly string[]
  /** Domains: every key whose prefix is one of them, or is below one. */
  readonly domains: readonly string[]
  readonly fields: readonly MetadataField[]
  /** `anotherKey`: it keeps its value under a key of its own, in single-namespace mode. `nothing`: it does not cross. */
  readonly becomes: 'anotherKey' | 'nothing'
  /** What would follow if it crossed. */
  readonly because: string
}

const LABELS: readonly MetadataField[] = ['labels']
const ANNOTATIONS: readonly MetadataField[] = ['annotations']
const BOTH: readonly MetadataField[] = ['labels', 'annotations']

/** Ours, which decide in both directions. */
const OWN: readonly HostMeaning[] = [
  {
    keys: [MARK_LABELS.managedBy, MARK_LABELS.namespace, `${MARK_PREFIX}controlled-by`],
    domains: [],
    fields: LABELS,
    becomes: 'anotherKey',
    because: 'selectors of the host find the objects of a virtual cluster by it',
  },
  {
    keys: [
      ...MARK_KEYS.labels,
      ...MARK_KEYS.annotations,
      SKIP_SYNC,
      ...['controlled-by', 'import', 'imported-from', 'patches-not-stable'].map(
        (name) => `${MARK_PREFIX}${name}`,
      ),
    ],
    domains: [],
    fields: BOTH,
    becomes: 'nothing',
    because: 'the syncer itself knows its objects, imports and verdicts by it',
  },
]

const TOOLS: readonly HostMeaning[] = [
  {
    keys: ['release'],
    domains: [],
    fields: LABELS,
    becomes: 'anotherKey',
    because: 'charts of the host select their own Pods and Services by it',
  },
  {
    keys: [],
    domains: ['loft.sh'],
    fields: BOTH,
    becomes: 'nothing',
    because: "the virtual cluster's own syncer knows its objects by it",
  },
  {
    keys: ['app.kubernetes.io/instance', 'app.kubernetes.io/managed-by'],
    domains: [],
    fields: LABELS,
    becomes: 'nothing',
    because: 'Argo CD takes the object for one of its application, and prunes it; Helm adopts it',
  },
  {
    keys: [],
    domains: ['argoproj.io'],
    fields: BOTH,
    becomes: 'nothing',
    because: 'Argo CD and Argo Rollouts take the object for their own, and change or delete it',
  },
  {
    keys: [],
    domains: ['fluxcd.io'],
    fields: BOTH,
    becomes: 'nothing',
    because: 'Flux takes the object for its own, and deletes it when its source lacks it',
  },
  {
    keys: [],
    domains: ['helm.sh'],
    fields: BOTH,
    becomes: 'nothing',
    because: 'Helm takes the object into a release, keeps or runs it as a hook',
  },
  {
    keys: ['kubectl.kubernetes.io/last-applied-configuration'],
    domains: ['applyset.kubernetes.io', 'addonmanager.kubernetes.io'],
    fields: BOTH,
    becomes: 'nothing',
    because: 'kubectl apply of the host removes fields by it, or prunes the object',
  },
  {
    keys: ['kubernetes.io/cluster-service'],
    domains: [],
    fields: LABELS,
    becomes: 'nothing',
    because:
      'the add-on manager prunes the object, and kubectl cluster-info shows it as a part of the host',
  },
  {
    keys: [],
    domains: [
      'cattle.io',
      'cli-utils.sigs.k8s.io',
      'config.k8s.io',
      'configmanagement.gke.io',
      'configsync.gke.io',
      'kapp.k14s.io',
      'operators.coreos.com',
    ],
    fields: BOTH,
    becomes: 'nothing',
    because:
      'Rancher Fleet, kpt, Config Sync, kapp or the Operator Lifecycle Manager takes the object for its own',
  },
]

const PUBLISHING: readonly HostMeaning[] = [
  {
    keys: [],
    domains: [
      'appscode.com',
      'clustersecret.io',
      'k8s-replicator',
      'k8s.emberstack.com',
      'mittwald.de',
      'reflector.havulv.io',
    ],
    fields: BOTH,
    becomes: 'nothing',
    because: 'a replicator copies the object into other namespaces, or another one over it',
  },
  {
    keys: ['coredns.io/hostname', 'domainName', 'zalando.org/dnsname'],
    domains: [
      'dns.alpha.kubernetes.io',
      'dns.gardener.cloud',
      'external-dns.alpha.kubernetes.io',
      'external-dns.kubernetes.io',
      'tailscale.com',
    ],
    fields: BOTH,
    becomes: 'nothing',
    because:
      "a DNS controller gives the tenant a name in the host's zones, or a network of the host",
  },
  {
    keys: ['getambassador.io/config'],
    domains: [],
    fields: ANNOTATIONS,
    becomes: 'nothing',
    because: "it is a route of the host's own gateway",
  },
  {
    keys: [
      'io.cilium/lb-ipam-ips',
      'kube-vip.io/loadbalancerHostname',
      'kube-vip.io/loadbalancerIPs',
      'lbipam.cilium.io/ips',
      'loadbalancer.openstack.org/load-balancer-address',
      'metallb.io/allow-shared-ip',
      'metallb.io/loadBalancerIPs',
      'metallb.universe.tf/allow-shared-ip',
      'metallb.universe.tf/loadBalancerIPs',
      'networking.gke.io/load-balancer-ip-addresses',
      'purelb.io/addresses',
      'service.beta.kubernetes.io/aws-load-balancer-eip-allocations',
      'service.beta.kubernetes.io/aws-load-balancer-private-ipv4-addresses',
      'service.beta.kubernetes.io/azure-dns-label-name',
      'service.beta.kubernetes.io/azure-load-balancer-ipv4',
      'service.beta.kubernetes.io/azure-load-balancer-ipv6',
      'service.beta.kubernetes.io/azure-pip-name',
    ],
    domains: [],
    fields: ANNOTATIONS,
    becomes: 'nothing',
    because: 'it chooses an address or a name of a load balancer, as spec.loadBalancerIP does',
  },
]

const CONTROLLERS: readonly HostMeaning[] = [
  {
    keys: ['control-plane.alpha.kubernetes.io/leader'],
    domains: ['endpointslice.kubernetes.io'],
    fields: BOTH,
    becomes: 'nothing',
    because: 'the host makes no slices of the Endpoints, so that their Service has no endpoints',
  },
  {
    keys: [],
    domains: ['endpoints.kubernetes.io'],
    fields: BOTH,
    becomes: 'nothing',
    because:
      "the Endpoints look like the Endpoints of the host's own controller, which make room for ours",
  },
  {
    keys: ['service.kubernetes.io/headless', 'service.kubernetes.io/service-proxy-name'],
    domains: [],
    fields: LABELS,
    becomes: 'nothing',
    because:
      'the proxies of the host pass over the Service or its slices, so that it has no endpoints',
  },
]

/** The table, in the order in which rows win. */
export const HOST_MEANINGS: readonly HostMeaning[] = [
  ...OWN,
  ...CONTROLLERS,
  ...TOOLS,
  ...PUBLISHING,
]

/** The rows by their keys or domains, in lower case; the first row that has one wins. A tenant decides how many are asked for. */
const indexOf = (
  field: MetadataField,
  name: 'keys' | 'domains',
): ReadonlyMap<string, HostMeaning> =>
  new Map(
    HOST_MEANINGS.filter(({ fields }) => fields.includes(field))
      .toReversed()
      .flatMap((row) => row[name].map((one) => [one.toLowerCase(), row] as const)),
  )

const BY_KEY = { labels: indexOf('labels', 'keys'), annotations: indexOf('annotations', 'keys') }
const BY_DOMAIN = {
  labels: indexOf('labels', 'domains'),
  annotations: indexOf('annotations', 'domains'),
}

/** The most labels that a domain of the table has: a longer end of a prefix need not be looked up. */
const MOST_LABELS = Math.max(
  ...HOST_MEANINGS.flatMap(({ domains }) => domains.map((one) => one.split('.').length)),
)

/** What a label or annotation decides on a host; null = nothing. */
export function hostMeaningOf(field: MetadataField, key: string): HostMeaning | null {
  const lower = key.toLowerCase()
  const found = BY_KEY[field].get(lower)
  if (found !== undefined) return found
  const prefix = lower.slice(0, Math.max(lower.indexOf('/'), 0))
  let start = prefix.length
  for (let labels = 0; labels < MOST_LABELS && start > 0; labels += 1) {
    // Without another dot the whole prefix is left.
    start = start === 1 ? 0 : prefix.lastIndexOf('.', start - 2) + 1
    const row = BY_DOMAIN[field].get(prefix.slice(start))
    if (row !== undefined) return row
  }
  return null
}

/** The keys of labels that get another one on the host, whatever their kind. */
export const TAKEN_KEYS: readonly string[] = HOST_MEANINGS.flatMap(({ becomes, keys }) =>
  becomes === 'anotherKey' ? keys : [],
)

/**
 * The kinds whose labels all get another key on the host, in both modes: tools find releases, credentials and
 * dashboards of the host by any label, and nothing there selects by one of a tenant's.
 */
const WITHOUT_OWN_LABELS: ReadonlySet<string> = new Set(['Secret', 'ConfigMap'])

/** Whether all labels of the kind get another key on the host. @param kind as in manifests */
export const hasTranslatedLabels = (kind: string): boolean => WITHOUT_OWN_LABELS.has(kind)
