import { CLUSTER_FLAGS } from '../cluster-flags.ts'
import {
  type Flag,
  type Invocation,
  flagsMarkdown,
  helpFlag,
  helpText,
  readFlagsAndArguments,
  refusal,
  switchKind,
} from '../../runtime/flags.ts'

/** The settings of `revoke` (contract 12.2). */
export interface RevokeSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** Name of the key, or its uid if the key is gone. Never empty. */
  readonly nameOrUid: string
  /** Only print what would be disabled. */
  readonly isDryRun: boolean
}

const FLAGS = {
  kubeconfig: CLUSTER_FLAGS.kubeconfig,
  'dry-run': {
    kind: switchKind,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Print what would be disabled, and change nothing.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'revoke <name or uid>',
  summary: `Disable an access key and every key that self-service made with it.
Keys made with those keys are disabled too; each key is printed. Give the uid of a key that is gone.
It needs the verbs list and patch on ownedaccesskeys.`,
  flags: FLAGS,
  exitCodes: {
    0: 'Each key is disabled, being deleted or gone; with --dry-run, each key is printed.',
    1: 'A key may still work: no key has the name or uid, or the API server refused or did not answer.',
  },
})

/** Parses a command line of `revoke`; reports every fault (contract 8.1). */
export function readRevokeSettings(argv: readonly string[]): Invocation<RevokeSettings> {
  const { values, args, faults } = readFlagsAndArguments(FLAGS, argv)
  if (values.help) return { kind: 'print', text: HELP }
  const [nameOrUid = '', ...others] = args
  const all = [...faults, ...(nameOrUid === '' || others.length > 0 ? [ONE_KEY] : [])]
  const { kubeconfig = null, 'dry-run': isDryRun = false } = values
  return all.length === 0
    ? { kind: 'run', settings: { kubeconfig, nameOrUid, isDryRun } }
    : refusal('revoke', all)
}

const ONE_KEY = 'name one access key, by its name or uid'

/** The flags of `revoke` as a Markdown table, for the docs. */
export const revokeFlagsTable = (): string => flagsMarkdown(FLAGS)
