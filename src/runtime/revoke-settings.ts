import { type Flag, flagsMarkdown, helpFlag, helpText, type Invocation } from './flags.ts'
import { readWords, refusal, switchKind } from './flags.ts'
import { CLUSTER_FLAGS } from './shared-flags.ts'

/** What `revoke` runs with (contract 12.2). */
export interface RevokeSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** The key: its name, or its uid where it is gone. Never empty. */
  readonly nameOrUid: string
  /** Only say what would be disabled. */
  readonly isDryRun: boolean
}

const FLAGS = {
  kubeconfig: CLUSTER_FLAGS.kubeconfig,
  'dry-run': {
    kind: switchKind,
    fallback: 'false',
    help: 'Print what would be disabled, and change nothing.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const SUMMARY = `Disables an access key and every key that self-service made with it, by whichever of them, and
prints them. A key that is gone is named by its uid. Rights: list and patch on ownedaccesskeys.`

/** What a command line of `revoke` comes to; every fault is reported (contract 8.1). */
export function readRevokeSettings(argv: readonly string[]): Invocation<RevokeSettings> {
  const { values, words, faults } = readWords(FLAGS, argv)
  if (values.help) return { kind: 'print', text: helpText('revoke <name or uid>', SUMMARY, FLAGS) }
  const [nameOrUid = '', ...others] = words
  const all = [...faults, ...(nameOrUid === '' || others.length > 0 ? [ONE_KEY] : [])]
  const { kubeconfig = null, 'dry-run': isDryRun = false } = values
  return all.length === 0
    ? { kind: 'run', settings: { kubeconfig, nameOrUid, isDryRun } }
    : refusal('revoke', all)
}

const ONE_KEY = 'name one access key, by its name or uid'

/** The flags of `revoke` as a Markdown table, for the docs. */
export const revokeFlagsTable = (): string => flagsMarkdown(FLAGS)
