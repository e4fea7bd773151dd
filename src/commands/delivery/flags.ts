import type { PlaceSettings } from '../../delivery/claims/deps.ts'
import { pathFault } from '../../domain/store/stored-secret.ts'
import type { LeaderElectionSettings } from '../../kube/leader-election/elector.ts'
import type { BindAddress } from '../../runtime/address.ts'
import {
  type Flag,
  type FlagValue,
  type Invocation,
  type ValuesOf,
  countValue,
  fileValue,
  flagsMarkdown,
  switchValue,
} from '../../runtime/flags.ts'
import type { LogLevel } from '../../runtime/log.ts'
import {
  CLOSING_FLAGS,
  CLUSTER_FLAGS,
  ELECTION_FLAGS,
  PROBE_FLAGS,
  type ProcessInputs,
  SIGN_IN_NAMESPACE_FLAG,
  electionFaults,
  electionSettings,
  originValue,
  readCommandLine,
  signInNamespaceIn,
  workersFlag,
} from '../shared/flags.ts'

/** The checked settings of `delivery` (contract 28.3). */
export interface DeliverySettings extends PlaceSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** Name of the Config object that is in force. */
  readonly configName: string
  /** Origin; null = https://<platformHost>. */
  readonly gatewayUrl: string | null
  /** Path; null = ConfigMap platform-gateway-ca of the platform namespace. */
  readonly gatewayCaFile: string | null
  readonly claimKeysPerSecond: number
  /** Mount of the store's key-value engine. */
  readonly secretStoreMount: string
  /** Path; null = the roots of the system. */
  readonly secretStoreCaFile: string | null
  /** null = no metrics server. */
  readonly metricsAddress: BindAddress | null
  /** null = no health server. */
  readonly healthAddress: BindAddress | null
  /** null = no leader election: this process leads at once. */
  readonly leaderElection: LeaderElectionSettings | null
  /** How many claims are reconciled at a time. */
  readonly workers: number
  readonly logLevel: LogLevel
}

const MOST_CLAIMS = 10_000
const MOST_KEYS_PER_SECOND = 1000

/** Path of a mount: as a path below a project. */
const mountValue: FlagValue<string> = {
  placeholder: '<path>',
  accepts: 'names of letters, digits, ".", "_" and "-" with "/" between them',
  read: (text) => (pathFault(text) === null ? text : undefined),
}

const FLAGS = {
  ...CLUSTER_FLAGS,
  ...SIGN_IN_NAMESPACE_FLAG,
  'gateway-url': {
    value: originValue,
    fallback: '',
    shownDefault: 'https:// and platformHost of the Config',
    help: 'Address of the gateway for $(SERVER) and $(KUBECONFIG) in Secrets.',
  },
  'gateway-ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'ConfigMap platform-gateway-ca of the platform namespace',
    help: 'Path to the PEM file for $(CA_DATA) and $(KUBECONFIG), with the authority of the certificate of the gateway; reloaded when it changes.',
  },
  'max-claims-per-namespace': {
    value: countValue(MOST_CLAIMS),
    fallback: '100',
    help: 'Maximum number of claims in a namespace that count: the oldest.',
  },
  'claim-keys-per-second': {
    value: countValue(MOST_KEYS_PER_SECOND),
    fallback: '10',
    help: 'Maximum number of access keys that are made in a second.',
  },
  'secret-store-mount': {
    value: mountValue,
    fallback: 'secret',
    help: "Path of the key-value engine in the secret store; a project's entries are below it and its name.",
  },
  'secret-store-ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'the roots of the system',
    help: 'Path to the PEM file with the authority of the certificate of the secret store; reloaded when it changes.',
  },
  ...PROBE_FLAGS,
  'leader-elect': {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Deliver only while this process holds the Lease management-operator-delivery; the other replicas stand by.',
  },
  ...ELECTION_FLAGS,
  workers: workersFlag('Maximum number of concurrent reconciles of claims'),
  ...CLOSING_FLAGS,
} satisfies Readonly<Record<string, Flag<unknown>>>

type DeliveryFlagValues = ValuesOf<typeof FLAGS>

/**
 * Parses a command line of `delivery`; reports every fault (contract 8.1). Pure: `inputs` reads the environment and
 * files.
 */
export const readDeliverySettings = (
  argv: readonly string[],
  inputs: ProcessInputs,
): Invocation<DeliverySettings> => readCommandLine(COMMAND, argv, inputs)

/** The flags of `delivery` as a Markdown table, for the docs. */
export const deliveryFlagsTable = (): string => flagsMarkdown(FLAGS)

const COMMAND = {
  name: 'delivery',
  summary: `Make access keys and tokens for claims, write them into Secrets, and replace them in time.
Run several replicas only with --leader-elect: one leads, the others stand by.`,
  flags: FLAGS,
  failure: 'It could not start, lost the Lease, failed unexpectedly, or received a second signal.',
  faultsOf: electionFaults,
  settingsOf,
}

function settingsOf(values: DeliveryFlagValues, namespace: string): DeliverySettings {
  return {
    kubeconfig: values.kubeconfig,
    namespace,
    signInNamespace: signInNamespaceIn(values, namespace),
    configName: values['config-name'],
    gatewayUrl: values['gateway-url'],
    gatewayCaFile: values['gateway-ca-file'],
    maxClaimsPerNamespace: values['max-claims-per-namespace'],
    claimKeysPerSecond: values['claim-keys-per-second'],
    secretStoreMount: values['secret-store-mount'],
    secretStoreCaFile: values['secret-store-ca-file'],
    metricsAddress: values['metrics-bind-address'],
    healthAddress: values['health-probe-bind-address'],
    leaderElection: values['leader-elect'] ? electionSettings(values) : null,
    workers: values.workers,
    logLevel: values['log-level'],
  }
}
