// The flags of `syncer`, and the flags that it shares with `syncer validate` and `syncer try` (contract 16.1).
import { isDnsLabel } from '../../domain/dns-name.ts'
import type { LeaderElectionSettings } from '../../kube/leader-election/elector.ts'
import type { BindAddress } from '../../runtime/address.ts'
import {
  type Flag,
  type Invocation,
  PROGRAM_VERSION,
  type FlagValue,
  type ValuesOf,
  fileValue,
  flagsMarkdown,
  helpText,
  readFlags,
  usageError,
} from '../../runtime/flags.ts'
import type { LogLevel } from '../../runtime/log.ts'
import type { AddressSettings } from '../../sync/kinds/addresses.ts'
import {
  CLOSING_FLAGS,
  ELECTION_FLAGS,
  PROBE_FLAGS,
  cidrsValue,
  electionFaults,
  electionSettings,
  workersFlag,
} from '../shared/flags.ts'

/** The checked settings of `syncer`. */
export interface SyncerSettings {
  /** Path. */
  readonly virtualKubeconfig: string
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly hostKubeconfig: string | null
  readonly virtualCluster: string
  readonly hostNamespace: string
  /** Name of the virtual cluster's own Service; null = host objects have no owner. */
  readonly serviceName: string | null
  /** Path of the virtual cluster's configuration file. */
  readonly config: string
  readonly addresses: AddressSettings
  /** null = no metrics server. */
  readonly metricsAddress: BindAddress | null
  /** null = no health server. */
  readonly healthAddress: BindAddress | null
  readonly leaderElection: LeaderElectionSettings
  readonly workers: number
  readonly logLevel: LogLevel
}

/** A DNS label of at most `longest` characters. */
export const dnsLabelValue = (longest: number): FlagValue<string> => ({
  placeholder: '<name>',
  accepts: `a DNS label of at most ${longest} characters`,
  read: (text) => (text.length <= longest && isDnsLabel(text) ? text : undefined),
})

/** The longest name of a virtual cluster: names of host objects end in it. */
export const LONGEST_VIRTUAL_CLUSTER = 40
/** The longest name of a namespace. */
export const LONGEST_NAMESPACE = 63

/** A flag value that is null for an empty text. */
const optional = <T>(value: FlagValue<T>): FlagValue<T | null> => ({
  ...value,
  read: (text) => (text === '' ? null : value.read(text)),
})

/** The flag with the virtual cluster's configuration file. */
export const CONFIG_FLAG = {
  config: {
    value: fileValue,
    fallback: '',
    shownDefault: 'none, required',
    help: "Path to the virtual cluster's configuration file, vcluster.yaml.",
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

const FLAGS = {
  'virtual-kubeconfig': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none, required',
    help: 'Path to the kubeconfig of the virtual cluster.',
  },
  'host-kubeconfig': {
    value: fileValue,
    fallback: '',
    shownDefault: 'KUBECONFIG, else in-cluster',
    help: 'Path to the kubeconfig of the host cluster.',
  },
  'virtual-cluster': {
    value: optional(dnsLabelValue(LONGEST_VIRTUAL_CLUSTER)),
    fallback: '',
    shownDefault: 'none, required',
    help: `Name of the virtual cluster, at most ${LONGEST_VIRTUAL_CLUSTER} characters; it is part of the names and ownership marks of host objects.`,
  },
  'host-namespace': {
    value: optional(dnsLabelValue(LONGEST_NAMESPACE)),
    fallback: '',
    shownDefault: 'none, required',
    help: 'Namespace on the host for the objects of the virtual cluster, and for the Lease.',
  },
  'service-name': {
    value: optional(dnsLabelValue(LONGEST_NAMESPACE)),
    fallback: '',
    shownDefault: 'none',
    help: "Name of the virtual cluster's own Service in the host namespace; it owns the host objects, so they are deleted with it.",
  },
  ...CONFIG_FLAG,
  'deny-cidr': {
    value: cidrsValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Range of addresses to deny in Endpoints, besides loopback, link-local, metadata and multicast addresses; repeatable.',
  },
  'allow-external-ip-cidr': {
    value: cidrsValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Range of external IPs that Services keep on the host, others are removed; repeatable.',
  },
  ...PROBE_FLAGS,
  ...ELECTION_FLAGS,
  workers: workersFlag('Maximum number of objects of each kind that are synced concurrently'),
  ...CLOSING_FLAGS,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'syncer',
  summary: `Copy Endpoints, Services, Secrets and ConfigMaps of a virtual cluster to its host, with patches.
Of the replicas for a virtual cluster, the holder of the Lease syncer-<virtual cluster> leads; the others stand
by. To check patches without a cluster, see syncer validate --help.`,
  flags: FLAGS,
  exitCodes: {
    0: 'It was stopped by SIGTERM or SIGINT.',
    1: 'The configuration has faults at start, it lost the Lease, failed unexpectedly, or received a second signal.',
  },
})

/** The flags of `syncer` as a Markdown table, for the docs. */
export const syncerFlagsTable = (): string => flagsMarkdown(FLAGS)

/** Parses a command line of `syncer`; reports every fault. */
export function readSyncerSettings(argv: readonly string[]): Invocation<SyncerSettings> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return { kind: 'print', text: HELP }
  if (values.version) return { kind: 'print', text: `${PROGRAM_VERSION}\n` }
  const required = ['virtual-kubeconfig', 'virtual-cluster', 'host-namespace', 'config'] as const
  const missing = required
    .filter((name) => values[name] === null)
    .map((name) => `--${name} is required`)
  const all = [...faults, ...missing, ...electionFaults(values)]
  if (all.length > 0) return usageError('syncer', all)
  return { kind: 'run', settings: settingsOf(values as ValuesOf<typeof FLAGS>) }
}

const settingsOf = (values: ValuesOf<typeof FLAGS>): SyncerSettings => ({
  virtualKubeconfig: values['virtual-kubeconfig'] ?? '',
  hostKubeconfig: values['host-kubeconfig'],
  virtualCluster: values['virtual-cluster'] ?? '',
  hostNamespace: values['host-namespace'] ?? '',
  serviceName: values['service-name'],
  config: values.config ?? '',
  addresses: { denied: values['deny-cidr'], allowedExternal: values['allow-external-ip-cidr'] },
  metricsAddress: values['metrics-bind-address'],
  healthAddress: values['health-probe-bind-address'],
  leaderElection: electionSettings(values),
  workers: values.workers,
  logLevel: values['log-level'],
})
