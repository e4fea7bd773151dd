import { LONGEST_TOKEN_TTL_MS } from '../../domain/signingkey/signing-key.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../../domain/token/token-claims.ts'
import type { LeaderElectionSettings } from '../../kube/leader-election/elector.ts'
import type { BindAddress } from '../../runtime/address.ts'
import {
  type Flag,
  type Invocation,
  type FlagValue,
  type ValuesOf,
  choiceValue,
  durationValue,
  flagsMarkdown,
  switchValue,
} from '../../runtime/flags.ts'
import type { LogLevel } from '../../runtime/log.ts'
import {
  CLOSING_FLAGS,
  CLUSTER_FLAGS,
  ELECTION_FLAGS,
  ISSUER_FLAG,
  PROBE_FLAGS,
  SIGN_IN_NAMESPACE_FLAG,
  type ProcessInputs,
  electionFaults,
  electionSettings,
  readCommandLine,
  signInNamespaceIn,
  workersFlag,
} from '../shared/flags.ts'

/** The checked settings of `manager` (contract 8.1). */
export interface ManagerSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** The platform namespace. */
  readonly namespace: string
  /** The namespace of the sign-in process, which may not exist (contract 6.8). */
  readonly signInNamespace: string
  /** Name of the Config object that is in force. */
  readonly configName: string
  /** How long an expired object is kept. */
  readonly expiredRetentionMs: number
  /** `--issuer-url`; null = from the settings in force (contract 7.2). */
  readonly issuerUrl: string | null
  readonly signingAlgorithm: SigningAlgorithm
  /** `--token-max-ttl`: longest lifetime of a token (contract 2.4). */
  readonly tokenMaxTtlMs: number
  /** null = no metrics server. */
  readonly metricsAddress: BindAddress | null
  /** null = no health server. */
  readonly healthAddress: BindAddress | null
  /** null = no leader election: this process leads at once. */
  readonly leaderElection: LeaderElectionSettings | null
  /** How many keys are reconciled at a time, and how many tokens. */
  readonly workers: number
  /** Whether /metrics has a series for each key (contract 8.4). */
  readonly perObjectMetrics: boolean
  readonly logLevel: LogLevel
}

const tokenTtlValue: FlagValue<number> = {
  placeholder: '<duration>',
  accepts: 'a duration from 1s to 120h',
  read: (text) => {
    const ms = durationValue(1000, '1s').read(text)
    return ms !== undefined && ms <= LONGEST_TOKEN_TTL_MS ? ms : undefined
  },
}

const FLAGS = {
  ...CLUSTER_FLAGS,
  'expired-retention': {
    value: durationValue(0, '0'),
    fallback: '24h',
    help: 'How long expired keys, and expired or revoked tokens, are kept before they are deleted, unless an annotation, type Login or a GitOps tool decides otherwise.',
  },
  ...ISSUER_FLAG,
  ...SIGN_IN_NAMESPACE_FLAG,
  'token-signing-algorithm': {
    value: choiceValue(SIGNING_ALGORITHMS),
    fallback: 'ES256',
    help: `Algorithm of new signing keys: ${SIGNING_ALGORITHMS.join(' or ')} (3072 bits).`,
  },
  'token-max-ttl': {
    value: tokenTtlValue,
    fallback: '24h',
    help: 'Maximum lifetime of a token; from 1s to 120h, which is a sixth of the lifetime of a signing key.',
  },
  ...PROBE_FLAGS,
  'leader-elect': {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Reconcile only while this process holds the Lease management-operator; the other replicas stand by.',
  },
  ...ELECTION_FLAGS,
  workers: workersFlag(
    'Maximum number of concurrent reconciles of access keys, and the same number of tokens',
  ),
  'per-object-metrics': {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Export the expiry of each access key, as one time series per key.',
  },
  ...CLOSING_FLAGS,
} satisfies Readonly<Record<string, Flag<unknown>>>

type ManagerFlagValues = ValuesOf<typeof FLAGS>

/**
 * Parses a command line of `manager`; reports every fault (contract 8.1). Pure: `inputs` reads the
 * environment and files.
 */
export const readManagerSettings = (
  argv: readonly string[],
  inputs: ProcessInputs,
): Invocation<ManagerSettings> => readCommandLine(COMMAND, argv, inputs)

/** The flags of `manager` as a Markdown table, for the docs. */
export const managerFlagsTable = (): string => flagsMarkdown(FLAGS)

const COMMAND = {
  name: 'manager',
  summary: `Reconcile access keys, tokens and settings: issue tokens and rotate signing keys.
Run several replicas only with --leader-elect: one leads, the others stand by.`,
  flags: FLAGS,
  failure: 'It could not start, lost the Lease, failed unexpectedly, or received a second signal.',
  faultsOf: electionFaults,
  settingsOf,
}

function settingsOf(values: ManagerFlagValues, namespace: string): ManagerSettings {
  return {
    kubeconfig: values.kubeconfig,
    namespace,
    signInNamespace: signInNamespaceIn(values, namespace),
    configName: values['config-name'],
    expiredRetentionMs: values['expired-retention'],
    issuerUrl: values['issuer-url'],
    signingAlgorithm: values['token-signing-algorithm'],
    tokenMaxTtlMs: values['token-max-ttl'],
    metricsAddress: values['metrics-bind-address'],
    healthAddress: values['health-probe-bind-address'],
    leaderElection: values['leader-elect'] ? electionSettings(values) : null,
    workers: values.workers,
    perObjectMetrics: values['per-object-metrics'],
    logLevel: values['log-level'],
  }
}
