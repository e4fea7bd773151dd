// The flags of `direct` (contract 9.7).
import { TARGET_NAME_FORM, isTargetName } from '../../domain/dns-name.ts'
import type { BindAddress } from '../../runtime/address.ts'
import {
  type Flag,
  type Invocation,
  type FlagValue,
  type ValuesOf,
  durationValue,
  fileValue,
  flagsMarkdown,
} from '../../runtime/flags.ts'
import type { LogLevel } from '../../runtime/log.ts'
import {
  CLOSING_FLAGS,
  CLUSTER_FLAGS,
  ISSUER_FLAG,
  PROBE_FLAGS,
  type ProcessInputs,
  readCommandLine,
} from '../shared/flags.ts'
import {
  SERVING_FLAGS,
  type ServingSettings,
  TARGET_FLAGS,
  type TargetSettings,
  certificateFaults,
  servingSettings,
  targetSettings,
} from '../shared/serving-flags.ts'

/** The checked settings of `direct`. */
export interface DirectSettings extends ServingSettings, TargetSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** The namespace of this process. */
  readonly namespace: string
  /** The name of this cluster, as the platform's targets and scopes have it. */
  readonly cluster: string
  readonly issuerUrl: string
  /** Path of a PEM file with the authority of the issuer's certificate; null = those that the system trusts. */
  readonly issuerCaFile: string | null
  /** Path of the folder for what must outlive a restart; null = nothing does. */
  readonly stateDir: string | null
  /** How long the list of revoked tokens is believed, in milliseconds from its `asOf`. */
  readonly maxStalenessMs: number
  readonly revocationPollIntervalMs: number
  /** Path of the file with the bearer token of the webhook's callers; null = none comes with one. */
  readonly webhookTokenFile: string | null
  /** Path of a PEM file with the authority of their certificates; null = none comes with one. */
  readonly webhookClientCaFile: string | null
  /** null = no metrics server. */
  readonly metricsAddress: BindAddress | null
  /** null = no health server; the main address serves the probes too. */
  readonly healthAddress: BindAddress | null
  readonly logLevel: LogLevel
}

const clusterValue: FlagValue<string | null> = {
  placeholder: '<name>',
  accepts: TARGET_NAME_FORM,
  read: (text) => (text === '' ? null : isTargetName(text) ? text : undefined),
}

const FLAGS = {
  kubeconfig: CLUSTER_FLAGS.kubeconfig,
  namespace: { ...CLUSTER_FLAGS.namespace, help: "Namespace of this process's certificate." },
  cluster: {
    value: clusterValue,
    fallback: '',
    shownDefault: 'none, it must be given',
    help: 'Name of this cluster, as scopes and the targets of the gateway name it.',
  },
  'issuer-url': {
    ...ISSUER_FLAG['issuer-url'],
    shownDefault: 'none, it must be given',
    help: 'Issuer of the tokens that are accepted: signing keys and revoked tokens are read below this URL.',
  },
  'issuer-ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'the authorities that the system trusts',
    help: "PEM file with the authority of the issuer's certificate; read at start.",
  },
  'state-dir': {
    value: fileValue,
    fallback: '',
    shownDefault: 'nothing is kept',
    help: 'Folder that keeps signing keys and revoked tokens over restarts; replicas may share it.',
  },
  'max-staleness': {
    value: durationValue(1000, '1s'),
    fallback: '1h',
    help: 'Longest age of the list of revoked tokens and of the signing keys; beyond it no token is accepted. At least 1s; below 15s the platform seems away now and then.',
  },
  'revocation-poll-interval': {
    value: durationValue(1000, '1s'),
    fallback: '5s',
    help: 'Pause between two readings of signing keys and revoked tokens; at least 1s.',
  },
  'webhook-token-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none',
    help: 'File with the bearer token of API servers that ask /authorize; reloaded when it changes, empty means nobody.',
  },
  'webhook-client-ca': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none',
    help: 'PEM file with the authority of the certificates of API servers that ask /authorize; reloaded when it changes.',
  },
  ...SERVING_FLAGS,
  ...TARGET_FLAGS,
  ...PROBE_FLAGS,
  ...CLOSING_FLAGS,
} satisfies Readonly<Record<string, Flag<unknown>>>

type DirectFlagValues = ValuesOf<typeof FLAGS>

/**
 * Parses a command line of `direct`; reports every fault (contract 8.1, 9.7). Pure: `inputs` reads the environment and
 * files.
 */
export const readDirectSettings = (
  argv: readonly string[],
  inputs: ProcessInputs,
): Invocation<DirectSettings> => readCommandLine(COMMAND, argv, inputs)

/** The flags of `direct` as a Markdown table, for the docs. */
export const directFlagsTable = (): string => flagsMarkdown(FLAGS)

const COMMAND = {
  name: 'direct',
  summary: `Proxy the API server of a connected cluster for direct cluster endpoint tokens, without the platform.
It verifies tokens offline, and answers the authorization webhook of that API server. Replicas work side by side.`,
  flags: FLAGS,
  failure: 'It could not start, failed unexpectedly, or got a second signal.',
  faultsOf,
  settingsOf,
}

function faultsOf(values: Partial<DirectFlagValues>): readonly string[] {
  const { cluster, 'issuer-url': issuer } = values
  return [
    ...(cluster === null ? ['--cluster is missing, the name of this cluster'] : []),
    ...(issuer === null ? ['--issuer-url is missing, the issuer of tokens'] : []),
    ...certificateFaults(values),
  ]
}

function settingsOf(values: DirectFlagValues, namespace: string): DirectSettings {
  return {
    ...servingSettings(values),
    ...targetSettings(values, namespace),
    kubeconfig: values.kubeconfig,
    namespace,
    cluster: values.cluster ?? '',
    issuerUrl: values['issuer-url'] ?? '',
    issuerCaFile: values['issuer-ca-file'],
    stateDir: values['state-dir'],
    maxStalenessMs: values['max-staleness'],
    revocationPollIntervalMs: values['revocation-poll-interval'],
    webhookTokenFile: values['webhook-token-file'],
    webhookClientCaFile: values['webhook-client-ca'],
    metricsAddress: values['metrics-bind-address'],
    healthAddress: values['health-probe-bind-address'],
    logLevel: values['log-level'],
  }
}
