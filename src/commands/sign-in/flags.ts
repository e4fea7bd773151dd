import type { LeaderElectionSettings } from '../../kube/leader-election/elector.ts'
import type { BindAddress } from '../../runtime/address.ts'
import {
  type Flag,
  type Invocation,
  type ValuesOf,
  countValue,
  fileValue,
  flagsMarkdown,
  type FlagValue,
  switchValue,
} from '../../runtime/flags.ts'
import { parseDuration } from '../../domain/time.ts'
import type { LogLevel } from '../../runtime/log.ts'
import type { CertificateFiles } from '../../serving/tls/key-pair.ts'
import {
  PUBLIC_ADDRESSES,
  type ProviderAddresses,
  enterpriseAddresses,
} from '../../signin/providers/addresses.ts'
import { allowedUrl } from '../../signin/providers/outgoing.ts'
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
} from '../shared/flags.ts'
import { SERVING_FLAGS, certificateFaults } from '../shared/serving-flags.ts'

/** The checked settings of `sign-in` (contract 25.1). */
export interface SignInProcessSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** The sign-in namespace: that of the process and of all its objects. */
  readonly namespace: string
  /** The platform namespace. */
  readonly platformNamespace: string
  /** null = from platformHost of the settings. */
  readonly publicUrl: string | null
  /** Origin of the gateway, where new keys are read back. */
  readonly gatewayUrl: string
  /** Path; null = ConfigMap platform-gateway-ca of the platform namespace. */
  readonly gatewayCaFile: string | null
  /** User name of the gateway's ServiceAccount. */
  readonly gatewayAccount: string
  /** Directory of the files that settings name; null = none may be named. */
  readonly filesDir: string | null
  readonly addresses: ProviderAddresses
  readonly maxTeams: number
  /** In milliseconds. */
  readonly refreshIntervalMs: number
  /** In milliseconds; null = sessions outlive their provider. */
  readonly removedProviderGraceMs: number | null
  readonly bindAddress: BindAddress
  /** null = this process generates a certificate. */
  readonly certificateFiles: CertificateFiles | null
  /** null = no metrics server. */
  readonly metricsAddress: BindAddress | null
  /** null = no health server. */
  readonly healthAddress: BindAddress | null
  /** null = no leader election: this process leads at once. */
  readonly leaderElection: LeaderElectionSettings | null
  readonly logLevel: LogLevel
}

const MAX_TEAMS = 100_000

/** Name of a user of the API server; an empty text means none. */
const accountValue: FlagValue<string | null> = {
  placeholder: '<user>',
  accepts: 'a user name such as system:serviceaccount:platform-system:gateway, without spaces',
  read: (text) => (text === '' ? null : /^[!-~]{1,253}$/.test(text) ? text : undefined),
}

/** Base address of a provider: a sovereign cloud's, or that of a test on this machine. */
/** How often providers are asked again, in milliseconds. Keys are refused 24 hours after the last answer. */
const refreshIntervalValue: FlagValue<number> = {
  placeholder: '<duration>',
  accepts: 'a duration from 1s to 12h, such as 30m',
  read: (text) => {
    const ms = parseDuration(text)
    return ms !== null && ms >= 1000 && ms <= 12 * 3_600_000 ? ms : undefined
  },
}

/** In milliseconds; null = for ever. */
const graceValue: FlagValue<number | null> = {
  placeholder: '<duration>',
  accepts: 'a duration such as 15m or 0s, or never',
  read: (text) => (text === 'never' ? null : (parseDuration(text) ?? undefined)),
}

const providerUrlValue: FlagValue<string> = {
  placeholder: '<url>',
  accepts: 'an https URL, or an http one of a loopback address, without a slash at its end',
  read: (text) => {
    const url = URL.parse(text)
    const isAllowed = url !== null && allowedUrl(text, url) !== null
    return isAllowed && !/\/$|[?#]/.test(text) ? text : undefined
  },
}

const addressFlag = (fallback: string, help: string) => ({
  value: providerUrlValue,
  fallback,
  help,
  isHidden: true as const,
})

/** Where the four public providers are (contract 25.6). */
const ADDRESS_FLAGS = {
  'source-host-a-url': addressFlag(PUBLIC_ADDRESSES.sourceHostA.site, 'Site of sourceHostA.'),
  'source-host-b-url': addressFlag(PUBLIC_ADDRESSES.sourceHostB, 'baseURL of sourceHostB.'),
  'idp-a-url': addressFlag(PUBLIC_ADDRESSES.idpA, 'Issuer of idpA.'),
  'idp-a-directory-url': addressFlag(PUBLIC_ADDRESSES.idpADirectory, 'Directory of idpA.'),
  'idp-b-url': addressFlag(PUBLIC_ADDRESSES.idpB, 'Address of the tenants of idpB.'),
  'idp-b-graph-url': addressFlag(PUBLIC_ADDRESSES.idpBGraph, 'Directory of idpB.'),
}

const { kubeconfig, namespace } = CLUSTER_FLAGS

const FLAGS = {
  kubeconfig,
  namespace: { ...namespace, help: 'The platform namespace.' },
  ...SIGN_IN_NAMESPACE_FLAG,
  'public-url': {
    value: originValue,
    fallback: '',
    shownDefault: 'https:// and platformHost of the Config',
    help: 'Address of the platform for browsers: the gateway, which passes requests on.',
  },
  'gateway-url': {
    value: originValue,
    fallback: '',
    shownDefault: 'Service gateway of the platform namespace',
    help: 'Address of the gateway, where a new key is read back before its holder gets it.',
  },
  'gateway-ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'ConfigMap platform-gateway-ca of the platform namespace',
    help: 'Path to the PEM file with the authority of the certificate of the gateway; reloaded when it changes.',
  },
  'gateway-account': {
    value: accountValue,
    fallback: '',
    shownDefault: 'ServiceAccount gateway of the platform namespace',
    help: 'User name of the ServiceAccount whose requests are answered; all others get 401.',
  },
  'files-dir': {
    value: fileValue,
    fallback: '',
    shownDefault: 'none: settings may name no files',
    help: 'Directory of the files that settings of providers name, such as caFile.',
  },
  'max-teams': {
    value: countValue(MAX_TEAMS),
    fallback: '2000',
    help: 'Number of Teams at which a sign-in creates no more for new groups.',
  },
  'identity-refresh-interval': {
    value: refreshIntervalValue,
    fallback: '1h',
    help: 'How often a provider is asked again about each person who has signed in there, give or take 10 %.',
  },
  'removed-provider-grace': {
    value: graceValue,
    fallback: '15m',
    help: 'How long a provider may be missing in the settings before the keys of its sign-ins end; never = they outlive it.',
  },
  'bind-address': {
    ...SERVING_FLAGS['bind-address'],
    fallback: ':8444',
    help: 'Address that serves the gateway over HTTPS.',
  },
  'tls-cert-file': SERVING_FLAGS['tls-cert-file'],
  'tls-private-key-file': SERVING_FLAGS['tls-private-key-file'],
  ...PROBE_FLAGS,
  'leader-elect': {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Look after sessions and report providers only while this process holds the Lease management-operator-sign-in; every replica signs people in.',
  },
  ...ELECTION_FLAGS,
  ...ADDRESS_FLAGS,
  ...CLOSING_FLAGS,
} satisfies Readonly<Record<string, Flag<unknown>>>

type SignInFlagValues = ValuesOf<typeof FLAGS>

/**
 * Parses a command line of `sign-in`; reports every fault (contract 8.1, 25.1). Pure: `inputs` reads the environment and
 * files.
 */
export const readSignInSettings = (
  argv: readonly string[],
  inputs: ProcessInputs,
): Invocation<SignInProcessSettings> => readCommandLine(COMMAND, argv, inputs)

/** The flags of `sign-in` as a Markdown table, for the docs. */
export const signInFlagsTable = (): string => flagsMarkdown(FLAGS)

const COMMAND = {
  name: 'sign-in',
  summary: `Sign people in, with a password or at an identity provider, and make their access keys.
The gateway passes requests on to it. All replicas are active; one of them looks after sessions.`,
  flags: FLAGS,
  failure: 'It could not start, lost the Lease, failed unexpectedly, or received a second signal.',
  faultsOf: (values: Partial<SignInFlagValues>) => [
    ...certificateFaults(values),
    ...electionFaults(values),
  ],
  settingsOf,
}

function addressesIn(values: SignInFlagValues): ProviderAddresses {
  const site = values['source-host-a-url']
  const { sourceHostA } = PUBLIC_ADDRESSES
  return {
    sourceHostA: site === sourceHostA.site ? sourceHostA : enterpriseAddresses(site),
    sourceHostB: values['source-host-b-url'],
    idpA: values['idp-a-url'],
    idpADirectory: values['idp-a-directory-url'],
    idpB: values['idp-b-url'],
    idpBGraph: values['idp-b-graph-url'],
  }
}

function settingsOf(values: SignInFlagValues, platformNamespace: string): SignInProcessSettings {
  const { 'tls-cert-file': certificateFile, 'tls-private-key-file': keyFile } = values
  return {
    kubeconfig: values.kubeconfig,
    namespace: signInNamespaceIn(values, platformNamespace),
    platformNamespace,
    publicUrl: values['public-url'],
    gatewayUrl: values['gateway-url'] ?? `https://gateway.${platformNamespace}.svc`,
    gatewayCaFile: values['gateway-ca-file'],
    gatewayAccount:
      values['gateway-account'] ?? `system:serviceaccount:${platformNamespace}:gateway`,
    filesDir: values['files-dir'],
    addresses: addressesIn(values),
    maxTeams: values['max-teams'],
    refreshIntervalMs: values['identity-refresh-interval'],
    removedProviderGraceMs: values['removed-provider-grace'],
    bindAddress: values['bind-address'],
    certificateFiles:
      certificateFile === null || keyFile === null ? null : { certificateFile, keyFile },
    metricsAddress: values['metrics-bind-address'],
    healthAddress: values['health-probe-bind-address'],
    leaderElection: values['leader-elect'] ? electionSettings(values) : null,
    logLevel: values['log-level'],
  }
}
