import type { BindAddress } from '../../runtime/address.ts'
import { AUDIT_FLAGS, type AuditFlagSettings, auditFlagSettings } from '../shared/audit-flags.ts'
import {
  type Flag,
  type Invocation,
  type ValuesOf,
  countValue,
  flagsMarkdown,
} from '../../runtime/flags.ts'
import type { LogLevel } from '../../runtime/log.ts'
import {
  SIGN_IN_FLAGS,
  type SignInFlagSettings,
  signInFaults,
  signInSettings,
} from './sign-in-flags.ts'
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
  bufferValue,
  certificateFaults,
  servingSettings,
  targetSettings,
} from '../shared/serving-flags.ts'

/** The checked settings of `gateway` (contract 9.7). */
export interface GatewaySettings extends ServingSettings, TargetSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** The platform namespace. */
  readonly namespace: string
  /** Name of the Config object that is in force. */
  readonly configName: string
  /** `--issuer-url`; null = from the settings in force (contract 7.2). */
  readonly issuerUrl: string | null
  /** Writes of status.lastActivity per second, for keys without ttlAfterLastActivity. */
  readonly activityWritesPerSecond: number
  /** Unexpired keys of a user at which self-service refuses to create another. */
  readonly maxKeysPerUser: number
  /** Unexpired tokens of a user, team or subject at which self-service refuses to create another. */
  readonly maxTokensPerUser: number
  /** Limit on the memory for all responses and watch events with objects of our kinds. */
  readonly ownKindsBufferBytes: number
  readonly audit: AuditFlagSettings
  /** null = there is no sign-in process, and its paths are unknown ones. */
  readonly signIn: SignInFlagSettings | null
  /** null = no metrics server. */
  readonly metricsAddress: BindAddress | null
  /** null = no health server; the gateway's main address serves the probes too. */
  readonly healthAddress: BindAddress | null
  readonly logLevel: LogLevel
}

/** Maximum of the flag; its minimum is 1, because administrators check the last use of a key before they delete it. */
const MAX_ACTIVITY_WRITES = 100

const MAX_QUOTA = 1_000_000

const FLAGS = {
  ...CLUSTER_FLAGS,
  ...ISSUER_FLAG,
  ...SERVING_FLAGS,
  ...TARGET_FLAGS,
  'activity-writes-per-second': {
    value: countValue(MAX_ACTIVITY_WRITES),
    fallback: '10',
    help: `Maximum number of writes of status.lastActivity per second and replica, from 1 to ${MAX_ACTIVITY_WRITES}; writes for keys with ttlAfterLastActivity are not counted.`,
  },
  'max-keys-per-user': {
    value: countValue(MAX_QUOTA),
    fallback: '100',
    help: 'Unexpired access keys of one user at which self-service refuses to create another; the same number of expired keys is kept.',
  },
  'max-tokens-per-user': {
    value: countValue(MAX_QUOTA),
    fallback: '1000',
    help: 'Unexpired tokens under the keys of one user, team or subject at which self-service refuses to create another; a deleted token counts until its expiry.',
  },
  'own-kinds-buffer': {
    value: bufferValue,
    fallback: '64Mi',
    help: 'Memory for responses and watch events with objects of management.platform.sh; at least 32Mi. One caller uses at most an eighth.',
  },
  ...SIGN_IN_FLAGS,
  ...AUDIT_FLAGS,
  ...PROBE_FLAGS,
  ...CLOSING_FLAGS,
} satisfies Readonly<Record<string, Flag<unknown>>>

type GatewayFlagValues = ValuesOf<typeof FLAGS>

/**
 * Parses a command line of `gateway`; reports every fault (contract 8.1, 9.7). Pure: `inputs` reads the
 * environment and files.
 */
export const readGatewaySettings = (
  argv: readonly string[],
  inputs: ProcessInputs,
): Invocation<GatewaySettings> => readCommandLine(COMMAND, argv, inputs)

/** The flags of `gateway` as a Markdown table, for the docs. */
export const gatewayFlagsTable = (): string => flagsMarkdown(FLAGS)

const COMMAND = {
  name: 'gateway',
  summary: `Proxy requests with access keys to API servers, and publish signing keys and revoked tokens.
Each request runs as the user of its key, within the scope of the key. All replicas are active.`,
  flags: FLAGS,
  failure: 'It could not start, failed unexpectedly, or received a second signal.',
  faultsOf: (values: Partial<GatewayFlagValues>) => [
    ...certificateFaults(values),
    ...signInFaults(values),
  ],
  settingsOf,
}

function settingsOf(values: GatewayFlagValues, namespace: string): GatewaySettings {
  return {
    ...servingSettings(values),
    ...targetSettings(values, namespace),
    kubeconfig: values.kubeconfig,
    namespace,
    configName: values['config-name'],
    issuerUrl: values['issuer-url'],
    activityWritesPerSecond: values['activity-writes-per-second'],
    maxKeysPerUser: values['max-keys-per-user'],
    maxTokensPerUser: values['max-tokens-per-user'],
    ownKindsBufferBytes: values['own-kinds-buffer'],
    audit: auditFlagSettings(values),
    signIn: signInSettings(values, namespace),
    metricsAddress: values['metrics-bind-address'],
    healthAddress: values['health-probe-bind-address'],
    logLevel: values['log-level'],
  }
}
