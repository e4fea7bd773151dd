import { parseDuration } from '../domain/duration.ts'
import { type BindAddress, parseBindAddress } from './address.ts'
import {
  type Flag,
  flagsMarkdown,
  helpFlag,
  helpText,
  type Invocation,
  readFlags,
  refusal,
  switchKind,
  type ValueKind,
  type ValuesOf,
  wordKind,
} from './flags.ts'
import { LOG_LEVELS, type LogLevel } from './log.ts'
import { PROGRAM_VERSION } from './version.ts'

/** Timing of leader election, in milliseconds (contract 8.1). */
export interface LeaderElectionSettings {
  /** How long others wait before they take a lease that is not renewed. At least a second. */
  readonly leaseDurationMs: number
  /** How long the leader tries to renew before it gives up. Below the lease duration. */
  readonly renewDeadlineMs: number
  /** Pause between tries. */
  readonly retryPeriodMs: number
}

/** What `manager` runs with, checked once (contract 8.1). */
export interface ManagerSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** The platform namespace. */
  readonly namespace: string
  /** Name of the Config object that is in force. */
  readonly configName: string
  /** How long an expired object stays. */
  readonly expiredRetentionMs: number
  /** null = no metrics server. */
  readonly metricsAddress: BindAddress | null
  /** null = no health server. */
  readonly healthAddress: BindAddress | null
  /** null = no leader election: this process works at once. */
  readonly leaderElection: LeaderElectionSettings | null
  /** Reconciles at a time, per controller. */
  readonly workers: number
  /** Whether each key has a series of its own at /metrics (contract 8.4). */
  readonly perObjectMetrics: boolean
  readonly logLevel: LogLevel
}

/** What a process finds around it. Both answer null for what is not there. */
export interface Surroundings {
  readonly env: (name: string) => string | null
  readonly file: (path: string) => string | null
}

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'
const DEFAULT_NAMESPACE = 'platform-system'
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const isSubdomain = (text: string): boolean =>
  text.length <= 253 && text.split('.').every((part) => LABEL.test(part))

/** client-go spreads retries by up to this much and refuses a deadline that is within the spread. */
const JITTER_FACTOR = 1.2
const MOST_WORKERS = 256

const fileKind: ValueKind<string | null> = {
  placeholder: '<file>',
  accepts: 'a path',
  read: (text) => text || null,
}
const namespaceKind: ValueKind<string | null> = {
  placeholder: '<name>',
  accepts: 'a DNS label: at most 63 of a-z, 0-9 and -, not at an end',
  read: (text) => (text === '' ? null : LABEL.test(text) ? text : undefined),
}
const nameKind: ValueKind<string> = {
  placeholder: '<name>',
  accepts: 'an object name: DNS labels of a-z, 0-9 and -, joined by dots',
  read: (text) => (isSubdomain(text) ? text : undefined),
}
const durationKind = (leastMs: number, least: string): ValueKind<number> => ({
  placeholder: '<duration>',
  accepts: `a duration of at least ${least}, such as 15s, 1h30m or 24h`,
  read: (text) => {
    const ms = parseDuration(text)
    return ms !== null && ms >= leastMs ? ms : undefined
  },
})
const addressKind: ValueKind<BindAddress | 'off'> = {
  placeholder: '<address>',
  accepts: 'an address such as :8080 or 127.0.0.1:8080, or 0 for none',
  read: (text) => parseBindAddress(text) ?? undefined,
}
const workersKind: ValueKind<number> = {
  placeholder: '<number>',
  accepts: `a whole number from 1 to ${MOST_WORKERS}`,
  read: (text) =>
    /^[1-9]\d{0,2}$/.test(text) && Number(text) <= MOST_WORKERS ? Number(text) : undefined,
}

const FLAGS = {
  kubeconfig: {
    kind: fileKind,
    fallback: '',
    shownDefault: 'KUBECONFIG, else in-cluster',
    help: 'Kubeconfig of the API server.',
  },
  namespace: {
    kind: namespaceKind,
    fallback: '',
    shownDefault: `POD_NAMESPACE, else the service account's, else ${DEFAULT_NAMESPACE}`,
    help: 'Namespace of the platform: its Secrets, ConfigMaps and Lease.',
  },
  'config-name': {
    kind: nameKind,
    fallback: 'platform-manager-config',
    help: 'Name of the Config object that is in force.',
  },
  'expired-retention': {
    kind: durationKind(0, '0'),
    fallback: '24h',
    help: 'How long an expired object stays before it is deleted.',
  },
  'metrics-bind-address': {
    kind: addressKind,
    fallback: ':8080',
    help: 'Where /metrics is served; 0 = nowhere.',
  },
  'health-probe-bind-address': {
    kind: addressKind,
    fallback: ':8081',
    help: 'Where /healthz and /readyz are served; 0 = nowhere.',
  },
  'leader-elect': {
    kind: switchKind,
    fallback: 'false',
    help: 'Work only while holding the Lease management-operator, so that replicas stand by.',
  },
  'leader-elect-lease-duration': {
    kind: durationKind(1000, '1s'),
    fallback: '15s',
    help: 'How long others wait before they take a Lease that is not renewed.',
  },
  'leader-elect-renew-deadline': {
    kind: durationKind(1, '1ms'),
    fallback: '10s',
    help: 'How long the leader tries to renew the Lease before it exits.',
  },
  'leader-elect-retry-period': {
    kind: durationKind(1, '1ms'),
    fallback: '2s',
    help: 'Pause between tries to take or renew the Lease.',
  },
  workers: {
    kind: workersKind,
    fallback: '16',
    help: 'Objects reconciled at a time, per controller.',
  },
  'per-object-metrics': {
    kind: switchKind,
    fallback: 'false',
    help: 'Serve the end of each key as a metric of its own: one series for each key.',
  },
  'log-level': {
    kind: wordKind(LOG_LEVELS),
    fallback: 'info',
    help: `Least important lines that are logged: ${LOG_LEVELS.join(', ')}.`,
  },
  version: { kind: switchKind, fallback: 'false', help: 'Print the version and exit.' },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

type Values = ValuesOf<typeof FLAGS>

/**
 * What a command line of `manager` comes to; every fault is reported (contract 8.1). Pure: the
 * environment and files are asked through `around`.
 */
export function readManagerSettings(
  argv: readonly string[],
  around: Surroundings,
): Invocation<ManagerSettings> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return { kind: 'print', text: helpText('manager', SUMMARY, FLAGS) }
  if (values.version) return { kind: 'print', text: `${PROGRAM_VERSION}\n` }
  const namespace = values.namespace ?? foundNamespace(around)
  const all = [...faults, ...electionFaults(values), ...namespaceFaults(namespace)]
  return all.length === 0
    ? { kind: 'run', settings: settingsOf(values as Values, namespace) }
    : refusal('manager', all)
}

const SUMMARY =
  'Reconciles access keys and the platform settings. Replicas stand by with --leader-elect.'

/** The flags of `manager` as a Markdown table, for the docs. */
export const managerFlagsTable = (): string => flagsMarkdown(FLAGS)

function settingsOf(values: Values, namespace: string): ManagerSettings {
  return {
    kubeconfig: values.kubeconfig,
    namespace,
    configName: values['config-name'],
    expiredRetentionMs: values['expired-retention'],
    metricsAddress: on(values['metrics-bind-address']),
    healthAddress: on(values['health-probe-bind-address']),
    leaderElection: values['leader-elect']
      ? {
          leaseDurationMs: values['leader-elect-lease-duration'],
          renewDeadlineMs: values['leader-elect-renew-deadline'],
          retryPeriodMs: values['leader-elect-retry-period'],
        }
      : null,
    workers: values.workers,
    perObjectMetrics: values['per-object-metrics'],
    logLevel: values['log-level'],
  }
}

const on = (address: BindAddress | 'off'): BindAddress | null =>
  address === 'off' ? null : address

const foundNamespace = ({ env, file }: Surroundings): string =>
  env('POD_NAMESPACE') || file(NAMESPACE_FILE)?.trim() || DEFAULT_NAMESPACE

const namespaceFaults = (namespace: string): readonly string[] =>
  LABEL.test(namespace)
    ? []
    : [`POD_NAMESPACE or ${NAMESPACE_FILE} is wrong, accepted is ${namespaceKind.accepts}`]

/** A value that could not be read is reported already: here it is in nobody's way. */
function electionFaults(values: Partial<Values>): readonly string[] {
  const leaseMs = values['leader-elect-lease-duration'] ?? Number.POSITIVE_INFINITY
  const renewMs = values['leader-elect-renew-deadline'] ?? Number.NaN
  const retryMs = values['leader-elect-retry-period'] ?? 0
  return [
    ...(renewMs >= leaseMs
      ? ['--leader-elect-renew-deadline must be below --leader-elect-lease-duration']
      : []),
    ...(renewMs <= retryMs * JITTER_FACTOR
      ? [
          `--leader-elect-renew-deadline must exceed ${JITTER_FACTOR} times --leader-elect-retry-period`,
        ]
      : []),
  ]
}
