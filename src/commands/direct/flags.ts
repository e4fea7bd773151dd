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
  DIRECT_AUDIT_FLAGS,
  type DirectAuditSettings,
  directAuditFaults,
  directAuditSettings,
} from './audit-flags.ts'
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
  /** Path of a PEM file with the CA of the issuer's certificate; null = the CAs of the system. */
  readonly issuerCaFile: string | null
  /** Path of the folder for what must outlive a restart; null = nothing does. */
  readonly stateDir: string | null
  /** Maximum age of the list of revoked tokens, in milliseconds since its `asOf`. */
  readonly maxStalenessMs: number
  readonly revocationPollIntervalMs: number
  /** Path of the file with the bearer token of the webhook's callers; null = none is accepted. */
  readonly webhookTokenFile: string | null
  /** Path of a PEM file with the CA of their certificates; null = none is accepted. */
  readonly webhookClientCaFile: string | null
  readonly audit: DirectAuditSettings
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
  namespace: {
    ...CLUSTER_FLAGS.namespace,
    help: "Namespace of the Secrets with this server's certificate and its CA.",
  },
  cluster: {
    value: clusterValue,
    fallback: '',
    shownDefault: 'none, required',
    help: 'Name of this cluster in scopes and among the targets of the gateway.',
  },
  'issuer-url': {
    ...ISSUER_FLAG['issuer-url'],
    shownDefault: 'none, required',
    help: 'Issuer URL of the accepted tokens, and base URL of the signing keys and the list of revoked tokens.',
  },
  'issuer-ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'the CAs of the system',
    help: "Path to the PEM file with the CA of the issuer's certificate; read once, at start.",
  },
  'state-dir': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none, nothing is kept',
    help: 'Directory that keeps signing keys and revoked tokens across restarts; replicas can share it.',
  },
  'max-staleness': {
    value: durationValue(1000, '1s'),
    fallback: '1h',
    help: 'Maximum age of the list of revoked tokens and of the signing keys; when one is older, all tokens are refused. At least 1s; below 15s, normal delays of the platform cause refusals too.',
  },
  'revocation-poll-interval': {
    value: durationValue(1000, '1s'),
    fallback: '5s',
    help: 'Wait between two polls of signing keys and revoked tokens; at least 1s.',
  },
  'webhook-token-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Path to the file with the bearer token of API servers that may call the webhook /authorize; reloaded when it changes. An empty file allows no API server.',
  },
  'webhook-client-ca': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none',
    help: 'Path to the PEM file with the CA of the client certificates of API servers that may call the webhook /authorize; reloaded when it changes.',
  },
  ...SERVING_FLAGS,
  ...TARGET_FLAGS,
  ...DIRECT_AUDIT_FLAGS,
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
  summary: `Proxy requests with direct cluster endpoint tokens to the API server of a connected cluster.
It verifies tokens offline, and answers the authorization webhook of that API server. All replicas are active.`,
  flags: FLAGS,
  failure: 'It could not start, failed unexpectedly, or received a second signal.',
  faultsOf,
  settingsOf,
}

function faultsOf(values: Partial<DirectFlagValues>): readonly string[] {
  const { cluster, 'issuer-url': issuer } = values
  return [
    ...(cluster === null ? ['--cluster is missing, the name of this cluster'] : []),
    ...(issuer === null ? ['--issuer-url is missing, the issuer of tokens'] : []),
    ...certificateFaults(values),
    ...directAuditFaults(values),
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
    audit: directAuditSettings(values),
    metricsAddress: values['metrics-bind-address'],
    healthAddress: values['health-probe-bind-address'],
    logLevel: values['log-level'],
  }
}
