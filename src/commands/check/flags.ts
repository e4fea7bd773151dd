// The command line of `management-operator check`.
import { parseDuration } from '../../domain/time.ts'
import {
  type Flag,
  type Invocation,
  type FlagValue,
  fileValue,
  flagsMarkdown,
  helpFlag,
  helpText,
  readFlags,
  usageError,
} from '../../runtime/flags.ts'
import { GATEWAY_TLS_SECRET } from '../../api/names.ts'
import {
  CLUSTER_FLAGS,
  type ProcessInputs,
  defaultNamespace,
  platformUrlValue,
} from '../shared/flags.ts'

/** The settings of `check`. */
export interface CheckSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  readonly namespace: string
  readonly configName: string
  /** URL without a path; null = https://<platformHost of the Config>. */
  readonly gateway: string | null
  /** PEM; null = the authority in tlsSecret, where there is one. */
  readonly ca: string | null
  /** Name of the Secret with the gateway's certificate. */
  readonly tlsSecret: string
  /** How long parts may be missing; 0 = one attempt. */
  readonly waitMs: number
}

const waitValue: FlagValue<number> = {
  placeholder: '<duration>',
  accepts: 'a duration such as 30s or 2m, or 0',
  read: (text) => (text === '0' ? 0 : (parseDuration(text) ?? undefined)),
}

const FLAGS = {
  kubeconfig: CLUSTER_FLAGS.kubeconfig,
  namespace: CLUSTER_FLAGS.namespace,
  'config-name': CLUSTER_FLAGS['config-name'],
  gateway: {
    value: platformUrlValue,
    fallback: '',
    shownDefault: 'platformHost of the Config',
    help: 'URL of the gateway, as clients reach it.',
  },
  'ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'the CA in the Secret of --tls-secret, and the CAs of the system',
    help: "Path to the PEM file with the CA of the gateway's certificate.",
  },
  'tls-secret': {
    value: CLUSTER_FLAGS['config-name'].value,
    fallback: GATEWAY_TLS_SECRET,
    help: "Name of the Secret with the gateway's certificate; the CA in its ca.crt is trusted, if it has one and --ca-file is not set.",
  },
  wait: {
    value: waitValue,
    fallback: '0',
    help: 'How long to retry while a part is missing, such as 2m after an installation; 0 checks once.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'check',
  summary: `Check an installation: say what is missing, and how to get it.
It checks the CRDs, the policies, the rights of manager, gateway and delivery process, the settings in force, the
leaders, the gateway's certificate and the token issuer. Then it creates an access key, uses it, deletes it, and
checks that the gateway refuses it. It needs the rights of a cluster administrator.`,
  flags: FLAGS,
  exitCodes: {
    0: 'Nothing is missing.',
    1: 'A part is missing, or the API server does not answer.',
  },
})

/** The flags of `check` as a Markdown table, for the docs. */
export const checkFlagsTable = (): string => flagsMarkdown(FLAGS)

/** Parses a command line of `check`; reports every fault (contract 8.1). */
export function readCheckSettings(
  argv: readonly string[],
  { env, file }: ProcessInputs,
): Invocation<CheckSettings> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return { kind: 'print', text: HELP }
  const caFile = values['ca-file'] ?? null
  const ca = caFile === null ? null : file(caFile)
  const all = [
    ...faults,
    ...(caFile !== null && ca === null ? [`--ca-file: ${caFile} cannot be read`] : []),
  ]
  if (all.length > 0) return usageError('check', all)
  const { kubeconfig = null, namespace = null, gateway = null, wait: waitMs = 0 } = values
  const configName = values['config-name'] ?? FLAGS['config-name'].fallback
  const tlsSecret = values['tls-secret'] ?? FLAGS['tls-secret'].fallback
  const settings = { kubeconfig, configName, gateway, ca, tlsSecret, waitMs }
  return {
    kind: 'run',
    settings: { ...settings, namespace: namespace ?? defaultNamespace({ env, file }) },
  }
}
