import { amountOf } from '../domain/config/quantity.ts'
import type { BindAddress } from './address.ts'
import type { CertificateFiles } from './certificate-files.ts'
import {
  type Flag,
  flagsMarkdown,
  type Invocation,
  type ValueKind,
  type ValuesOf,
} from './flags.ts'
import type { LogLevel } from './log.ts'
import {
  CLOSING_FLAGS,
  CLUSTER_FLAGS,
  fileKind,
  ISSUER_FLAG,
  on,
  PROBE_FLAGS,
  readSettings,
  servingAddressKind,
  type Surroundings,
} from './shared-flags.ts'

/** What `gateway` runs with, checked once (contract 9.7). */
export interface GatewaySettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** The platform namespace. */
  readonly namespace: string
  /** Name of the Config object that is in force. */
  readonly configName: string
  /** null = from the settings in force. */
  readonly issuerUrl: string | null
  readonly bindAddress: BindAddress
  /** null = a certificate of our own. */
  readonly certificateFiles: CertificateFiles | null
  /** How often the use of keys whose end does not hang on it is recorded. */
  readonly activityWritesPerSecond: number
  /** The most access keys of a user that have not ended, by self-service. */
  readonly maxKeysPerUser: number
  /** The most tokens of a user, team or subject that have not ended, by self-service. */
  readonly maxTokensPerUser: number
  /** What answers and events about our own kinds may hold in all. */
  readonly ownKindsBufferBytes: number
  /** null = no metrics server. */
  readonly metricsAddress: BindAddress | null
  /** null = no health server in plain HTTP. */
  readonly healthAddress: BindAddress | null
  readonly logLevel: LogLevel
}

const MOST_ACTIVITY_WRITES = 100

/** Never none: the last use of a key is what people look at before they delete it. */
const activityWritesKind: ValueKind<number> = {
  placeholder: '<number>',
  accepts: `a whole number from 1 to ${MOST_ACTIVITY_WRITES}`,
  read: (text) =>
    /^[1-9]\d{0,2}$/.test(text) && Number(text) <= MOST_ACTIVITY_WRITES ? Number(text) : undefined,
}

const MOST_OWN = 1_000_000

const countKind: ValueKind<number> = {
  placeholder: '<number>',
  accepts: `a whole number from 1 to ${MOST_OWN}`,
  read: (text) =>
    /^[1-9]\d{0,6}$/.test(text) && Number(text) <= MOST_OWN ? Number(text) : undefined,
}

const LEAST_BUFFER_BYTES = 32 * 1024 ** 2

/** One caller may hold an eighth, and the largest object of our kinds is to pass. */
const bufferKind: ValueKind<number> = {
  placeholder: '<quantity>',
  accepts: 'a Kubernetes quantity of at least 32Mi, such as 64Mi or 1Gi',
  read: (text) => {
    const bytes = amountOf(text)
    const isSound = Number.isSafeInteger(bytes) && Number(bytes) >= LEAST_BUFFER_BYTES
    return bytes !== null && isSound ? bytes : undefined
  },
}

const FLAGS = {
  ...CLUSTER_FLAGS,
  ...ISSUER_FLAG,
  'bind-address': {
    kind: servingAddressKind,
    fallback: ':8443',
    help: 'Where the gateway is served, in HTTPS.',
  },
  'tls-cert-file': {
    kind: fileKind,
    fallback: '',
    shownDefault: 'one of its own, in Secret platform-gateway-tls',
    help: 'Certificate of the gateway with its chain, PEM; read again when it changes.',
  },
  'tls-private-key-file': {
    kind: fileKind,
    fallback: '',
    shownDefault: 'with the certificate',
    help: 'Private key of that certificate, PEM; read again when it changes.',
  },
  'activity-writes-per-second': {
    kind: activityWritesKind,
    fallback: '10',
    help: 'Most last uses recorded in a second, of keys whose end does not follow from their use.',
  },
  'max-keys-per-user': {
    kind: countKind,
    fallback: '100',
    help: 'Most access keys of a user that have not ended, by self-service; of ended ones as many again are kept.',
  },
  'max-tokens-per-user': {
    kind: countKind,
    fallback: '1000',
    help: 'The same of tokens under the keys of a user, team or subject; a deleted one counts until it would have ended.',
  },
  'own-kinds-buffer': {
    kind: bufferKind,
    fallback: '64Mi',
    help: 'Most that answers and events about access keys, tokens and Configs hold in memory, an eighth of it for one caller.',
  },
  ...PROBE_FLAGS,
  ...CLOSING_FLAGS,
} satisfies Readonly<Record<string, Flag<unknown>>>

type Values = ValuesOf<typeof FLAGS>

/**
 * What a command line of `gateway` comes to; every fault is reported (contract 8.1, 9.7). Pure: the
 * environment and files are asked through `around`.
 */
export const readGatewaySettings = (
  argv: readonly string[],
  around: Surroundings,
): Invocation<GatewaySettings> => readSettings(COMMAND, argv, around)

/** The flags of `gateway` as a Markdown table, for the docs. */
export const gatewayFlagsTable = (): string => flagsMarkdown(FLAGS)

const COMMAND = {
  name: 'gateway',
  summary:
    'Lets access keys into the API server, each within its scope, and serves what verifiers of tokens need. Any number of replicas work at the same time.',
  flags: FLAGS,
  faultsOf: pairFaults,
  settingsOf,
}

function settingsOf(values: Values, namespace: string): GatewaySettings {
  const certificateFile = values['tls-cert-file']
  const keyFile = values['tls-private-key-file']
  return {
    kubeconfig: values.kubeconfig,
    namespace,
    configName: values['config-name'],
    issuerUrl: values['issuer-url'],
    bindAddress: values['bind-address'],
    certificateFiles:
      certificateFile === null || keyFile === null ? null : { certificateFile, keyFile },
    activityWritesPerSecond: values['activity-writes-per-second'],
    maxKeysPerUser: values['max-keys-per-user'],
    maxTokensPerUser: values['max-tokens-per-user'],
    ownKindsBufferBytes: values['own-kinds-buffer'],
    metricsAddress: on(values['metrics-bind-address']),
    healthAddress: on(values['health-probe-bind-address']),
    logLevel: values['log-level'],
  }
}

function pairFaults(values: Partial<Values>): readonly string[] {
  return Boolean(values['tls-cert-file']) === Boolean(values['tls-private-key-file'])
    ? []
    : ['--tls-cert-file and --tls-private-key-file go together: give both or neither']
}
