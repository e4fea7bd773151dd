// The flags that several commands share, and the parser of command lines with them.
import { isDnsLabel, isDnsSubdomain } from '../../domain/dns-name.ts'
import { type Cidr, parseCidr } from '../../domain/ip-address.ts'
import { isIssuerUrl } from '../../domain/token/token-claims.ts'
import type { LeaderElectionSettings } from '../../kube/leader-election/elector.ts'
import {
  type Flag,
  type Invocation,
  PROGRAM_VERSION,
  type FlagValue,
  type ValuesOf,
  choiceValue,
  countValue,
  durationValue,
  fileValue,
  helpFlag,
  helpText,
  optionalAddressValue,
  readFlags,
  usageError,
  switchValue,
} from '../../runtime/flags.ts'
import { LOG_LEVELS } from '../../runtime/log.ts'

/** Reads environment variables and files; null = does not exist. */
export interface ProcessInputs {
  readonly env: (name: string) => string | null
  readonly file: (path: string) => string | null
}

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'
const DEFAULT_NAMESPACE = 'platform-system'

/** Name of a namespace; an empty text means none. */
export const namespaceValue: FlagValue<string | null> = {
  placeholder: '<name>',
  accepts: 'a DNS label: at most 63 of a-z, 0-9 and -, with a letter or digit at both ends',
  read: (text) => (text === '' ? null : isDnsLabel(text) ? text : undefined),
}

/** Name of an object. */
const objectNameValue: FlagValue<string> = {
  placeholder: '<name>',
  accepts: 'an object name: DNS labels of a-z, 0-9 and -, joined by dots',
  read: (text) => (isDnsSubdomain(text) && text.split('.').every(isDnsLabel) ? text : undefined),
}

/** The issuer of tokens (contract 7.2); an empty text means none. */
const issuerUrlValue: FlagValue<string | null> = {
  placeholder: '<url>',
  accepts:
    'a URL such as https://platform.example.com/oidc, with https, a lower-case host and no userinfo, query, fragment, default port or trailing slash',
  read: (text) => (text === '' ? null : isIssuerUrl(text) ? text : undefined),
}

/** The address of a server, as its origin; an empty text means none. */
export const originValue: FlagValue<string | null> = {
  placeholder: '<url>',
  accepts: 'a URL such as https://platform.example.com, with https, a lower-case host and no path',
  read: (text) => {
    if (text === '') return null
    return isIssuerUrl(text) && new URL(text).origin === text ? text : undefined
  },
}

/** Ranges of IP addresses; the flag is repeatable. */
export const cidrsValue: FlagValue<readonly Cidr[]> = {
  placeholder: '<cidr>',
  accepts: 'a range such as 10.0.0.0/8 or fd00::/8 without bits after its prefix',
  isList: true,
  read: (text) => {
    const cidrs = text === '' ? [] : text.split(',').map(parseCidr)
    return cidrs.every((cidr) => cidr !== null) ? cidrs : undefined
  },
}

/** Flags of every command that watches the API server. */
export const CLUSTER_FLAGS = {
  kubeconfig: {
    value: fileValue,
    fallback: '',
    shownDefault: 'KUBECONFIG, else in-cluster',
    help: 'Path to the kubeconfig of the API server.',
  },
  namespace: {
    value: namespaceValue,
    fallback: '',
    shownDefault: `POD_NAMESPACE, else the service account's, else ${DEFAULT_NAMESPACE}`,
    help: "Namespace of the platform's Secrets, ConfigMaps and Lease.",
  },
  'config-name': {
    value: objectNameValue,
    fallback: 'platform-manager-config',
    help: 'Name of the Config object with the settings of the platform; a Secret with the same name can hold more of them.',
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

/** The flag of every command that signs or publishes tokens. */
export const ISSUER_FLAG = {
  'issuer-url': {
    value: issuerUrlValue,
    fallback: '',
    shownDefault: 'platformHost of the Config, with path /oidc',
    help: 'Issuer URL of tokens: the value of their iss claim, and the base URL of the public signing keys.',
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

/** The flag of every command that takes part in signing in. */
export const SIGN_IN_NAMESPACE_FLAG = {
  'sign-in-namespace': {
    value: namespaceValue,
    fallback: '',
    shownDefault: 'the platform namespace with suffix -sign-in',
    help: 'Namespace of the sign-in process, and of its Secrets and ConfigMaps.',
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

/** The setting of this flag. @param namespace the platform namespace */
export const signInNamespaceIn = (
  values: ValuesOf<typeof SIGN_IN_NAMESPACE_FLAG>,
  namespace: string,
): string => values['sign-in-namespace'] ?? `${namespace}-sign-in`

/** Flags of the servers for metrics and probes. */
export const PROBE_FLAGS = {
  'metrics-bind-address': {
    value: optionalAddressValue,
    fallback: ':8080',
    help: 'Address that serves /metrics over plain HTTP; 0 disables it.',
  },
  'health-probe-bind-address': {
    value: optionalAddressValue,
    fallback: ':8081',
    help: 'Address that serves /healthz and /readyz over plain HTTP; 0 disables it.',
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

/** As in client-go: retries are delayed by up to this factor, and the renew deadline must be longer than that. */
const JITTER_FACTOR = 1.2

/** The timing of leader election. */
export const ELECTION_FLAGS = {
  'leader-elect-lease-duration': {
    value: durationValue(1000, '1s'),
    fallback: '15s',
    help: 'How long standby replicas wait after the last renewal of the Lease before one acquires it; at least 1s.',
  },
  'leader-elect-renew-deadline': {
    value: durationValue(1, '1ms'),
    fallback: '10s',
    help: 'How long the leader tries to renew the Lease before it exits; shorter than the lease duration.',
  },
  'leader-elect-retry-period': {
    value: durationValue(1, '1ms'),
    fallback: '2s',
    help: `Wait between attempts to acquire or renew the Lease; shorter than the renew deadline divided by ${JITTER_FACTOR}.`,
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

/** The settings of these flags. */
export const electionSettings = (
  values: ValuesOf<typeof ELECTION_FLAGS>,
): LeaderElectionSettings => ({
  leaseDurationMs: values['leader-elect-lease-duration'],
  renewDeadlineMs: values['leader-elect-renew-deadline'],
  retryPeriodMs: values['leader-elect-retry-period'],
})

/**
 * Faults between the flags of leader election; a malformed value, which is reported elsewhere, counts as valid here.
 */
export function electionFaults(
  values: Partial<ValuesOf<typeof ELECTION_FLAGS>>,
): readonly string[] {
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

const MAX_WORKERS = 256

/** The flag with the number of workers of a controller. @param help a sentence without its range */
export const workersFlag = (help: string): Flag<number> => ({
  value: countValue(MAX_WORKERS),
  fallback: '16',
  help: `${help}; from 1 to ${MAX_WORKERS}.`,
})

/** The last flags of every command that runs until it is stopped. */
export const CLOSING_FLAGS = {
  'log-level': {
    value: choiceValue(LOG_LEVELS),
    fallback: 'info',
    help: `Minimum level of log messages: ${LOG_LEVELS.join(', ')}.`,
  },
  version: { value: switchValue, fallback: 'false', help: 'Print the version and exit.' },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

type ClusterFlags = Pick<typeof CLUSTER_FLAGS, 'kubeconfig' | 'namespace'> & typeof CLOSING_FLAGS

/** The command line of a command that works for one API server. */
interface ClusterCommand<Flags extends ClusterFlags, Settings> {
  readonly name: string
  /** Text of the help, as in CommandHelp. */
  readonly summary: string
  readonly flags: Flags
  /** When the command exits with 1, for its help. */
  readonly failure: string
  /** Faults of values that don't fit together; malformed values are left out. */
  readonly faultsOf: (values: Partial<ValuesOf<Flags>>) => readonly string[]
  readonly settingsOf: (values: ValuesOf<Flags>, namespace: string) => Settings
}

/** Parses the command line; reports every fault (contract 8.1). */
export function readCommandLine<Flags extends ClusterFlags, Settings>(
  { name, summary, flags, failure, faultsOf, settingsOf }: ClusterCommand<Flags, Settings>,
  argv: readonly string[],
  inputs: ProcessInputs,
): Invocation<Settings> {
  const { values, faults } = readFlags(flags, argv)
  const exitCodes = { 0: 'It was stopped by SIGTERM or SIGINT.', 1: failure }
  if (values.help)
    return { kind: 'print', text: helpText({ usage: name, summary, flags, exitCodes }) }
  if (values.version) return { kind: 'print', text: `${PROGRAM_VERSION}\n` }
  const clusterValues: Partial<ValuesOf<ClusterFlags>> = values
  const namespace = clusterValues.namespace ?? defaultNamespace(inputs)
  const all = [...faults, ...faultsOf(values), ...namespaceFaults(namespace)]
  return all.length === 0
    ? { kind: 'run', settings: settingsOf(values as ValuesOf<Flags>, namespace) }
    : usageError(name, all)
}

/**
 * The platform's namespace when no flag names it: POD_NAMESPACE, else the service account's, else platform-system
 * (contract 8.1). It may be malformed; namespaceFaults checks it.
 */
export const defaultNamespace = ({ env, file }: ProcessInputs): string =>
  env('POD_NAMESPACE') || file(NAMESPACE_FILE)?.trim() || DEFAULT_NAMESPACE

/** Faults of a namespace from the environment. */
const namespaceFaults = (namespace: string): readonly string[] =>
  isDnsLabel(namespace)
    ? []
    : [`POD_NAMESPACE or ${NAMESPACE_FILE} is wrong, accepted is ${namespaceValue.accepts}`]

/** Address of the platform, as clients reach it: an origin; null = an empty text, not given. */
export const platformUrlValue: FlagValue<string | null> = {
  placeholder: '<url>',
  accepts: 'an https URL without a path, such as https://platform.example.com',
  read: (text) => (text === '' ? null : originOf(text)),
}

function originOf(text: string): string | undefined {
  const url = URL.parse(text)
  const isOrigin = url?.protocol === 'https:' && [url.origin, `${url.origin}/`].includes(text)
  return isOrigin ? url.origin : undefined
}
