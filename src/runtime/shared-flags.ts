// Flags and kinds of values that several commands have, and what a process finds around it.
import { parseDuration } from '../domain/duration.ts'
import { isIssuerUrl } from '../domain/issuer.ts'
import { type BindAddress, parseBindAddress } from './address.ts'
import {
  type Flag,
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
import { LOG_LEVELS } from './log.ts'
import { PROGRAM_VERSION } from './version.ts'

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

/** A path; empty is none. */
export const fileKind: ValueKind<string | null> = {
  placeholder: '<file>',
  accepts: 'a path',
  read: (text) => text || null,
}

/** Name of a namespace; empty is none. */
export const namespaceKind: ValueKind<string | null> = {
  placeholder: '<name>',
  accepts: 'a DNS label: at most 63 of a-z, 0-9 and -, not at an end',
  read: (text) => (text === '' ? null : LABEL.test(text) ? text : undefined),
}

/** Name of an object. */
export const nameKind: ValueKind<string> = {
  placeholder: '<name>',
  accepts: 'an object name: DNS labels of a-z, 0-9 and -, joined by dots',
  read: (text) => (isSubdomain(text) ? text : undefined),
}

/** A time span of at least so many milliseconds, in Go's syntax. */
export const durationKind = (leastMs: number, least: string): ValueKind<number> => ({
  placeholder: '<duration>',
  accepts: `a duration of at least ${least}, such as 15s, 1h30m or 24h`,
  read: (text) => {
    const ms = parseDuration(text)
    return ms !== null && ms >= leastMs ? ms : undefined
  },
})

/** Where a server listens that may be left out. */
export const addressKind: ValueKind<BindAddress | 'off'> = {
  placeholder: '<address>',
  accepts: 'an address such as :8080 or 127.0.0.1:8080, or 0 for none',
  read: (text) => parseBindAddress(text) ?? undefined,
}

/** Where a server listens without which the command is nothing. */
export const servingAddressKind: ValueKind<BindAddress> = {
  placeholder: '<address>',
  accepts: 'an address such as :8443 or 127.0.0.1:8443',
  read: (text) => {
    const address = parseBindAddress(text)
    return address === 'off' || address === null ? undefined : address
  },
}

/** The issuer of tokens (contract 7.2); empty is none. */
export const issuerUrlKind: ValueKind<string | null> = {
  placeholder: '<url>',
  accepts:
    'a URL such as https://platform.example.com/oidc, with https, a lower-case host and no userinfo, query, fragment, default port or trailing slash',
  read: (text) => (text === '' ? null : isIssuerUrl(text) ? text : undefined),
}

/** Flags that a process has which watches the API server. */
export const CLUSTER_FLAGS = {
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
} satisfies Readonly<Record<string, Flag<unknown>>>

/** The flag of every command that signs or publishes tokens. */
export const ISSUER_FLAG = {
  'issuer-url': {
    kind: issuerUrlKind,
    fallback: '',
    shownDefault: '/oidc at the platformHost of Config',
    help: 'Issuer of tokens, as verifiers are told.',
  },
} satisfies Readonly<Record<string, Flag<unknown>>>

/** Flags of the servers that look into a process. */
export const PROBE_FLAGS = {
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
} satisfies Readonly<Record<string, Flag<unknown>>>

/** The last flags of every command that runs on. */
export const CLOSING_FLAGS = {
  'log-level': {
    kind: wordKind(LOG_LEVELS),
    fallback: 'info',
    help: `Least important lines that are logged: ${LOG_LEVELS.join(', ')}.`,
  },
  version: { kind: switchKind, fallback: 'false', help: 'Print the version and exit.' },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

/** null where no server is wanted. */
export const on = (address: BindAddress | 'off'): BindAddress | null =>
  address === 'off' ? null : address

type ClusterFlags = typeof CLUSTER_FLAGS & typeof CLOSING_FLAGS

/** What a command that watches the API server is, as far as its command line goes. */
export interface ClusterCommand<Flags extends ClusterFlags, Settings> {
  readonly name: string
  /** What it does, for whoever asks for help. */
  readonly summary: string
  readonly flags: Flags
  /** What is wrong with values beside each other; one that could not be read is absent. */
  readonly faultsOf: (values: Partial<ValuesOf<Flags>>) => readonly string[]
  readonly settingsOf: (values: ValuesOf<Flags>, namespace: string) => Settings
}

/** What a command line of such a command comes to; every fault is reported (contract 8.1). */
export function readSettings<Flags extends ClusterFlags, Settings>(
  { name, summary, flags, faultsOf, settingsOf }: ClusterCommand<Flags, Settings>,
  argv: readonly string[],
  around: Surroundings,
): Invocation<Settings> {
  const { values, faults } = readFlags(flags, argv)
  if (values.help) return { kind: 'print', text: helpText(name, summary, flags) }
  if (values.version) return { kind: 'print', text: `${PROGRAM_VERSION}\n` }
  const common: Partial<ValuesOf<ClusterFlags>> = values
  const namespace = common.namespace ?? foundNamespace(around)
  const all = [...faults, ...faultsOf(values), ...namespaceFaults(namespace)]
  return all.length === 0
    ? { kind: 'run', settings: settingsOf(values as ValuesOf<Flags>, namespace) }
    : refusal(name, all)
}

/**
 * The platform's namespace where no flag names it: POD_NAMESPACE, else the service account's, else
 * platform-system (contract 8.1). It may be malformed: see namespaceFaults.
 */
const foundNamespace = ({ env, file }: Surroundings): string =>
  env('POD_NAMESPACE') || file(NAMESPACE_FILE)?.trim() || DEFAULT_NAMESPACE

/** What is wrong with a namespace that was found. */
const namespaceFaults = (namespace: string): readonly string[] =>
  LABEL.test(namespace)
    ? []
    : [`POD_NAMESPACE or ${NAMESPACE_FILE} is wrong, accepted is ${namespaceKind.accepts}`]
