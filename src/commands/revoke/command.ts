import { CONTROLLER_NAME } from '../../api/names.ts'
import {
  type RevocationOutcome,
  type RevocationReport,
  type RevokedKey,
  revokeKeyWithDescendants,
} from '../../revocation/revoke-key.ts'
import { createClient } from '../../kube/client/client.ts'
import { systemClock } from '../../runtime/clock.ts'
import {
  type Flag,
  type Invocation,
  flagsMarkdown,
  helpFlag,
  helpText,
  readFlagsAndArguments,
  usageError,
  switchValue,
  printText,
} from '../../runtime/flags.ts'
import { withToolClient } from '../shared/cluster-client.ts'
import { CLUSTER_FLAGS } from '../shared/flags.ts'
import { messageOf } from '../shared/terminal-text.ts'

/**
 * `management-operator revoke <name or uid>` (contract 12.2).
 *
 * @returns the exit code: 1 when one of the keys may still work
 */
export async function run(argv: readonly string[]): Promise<number> {
  const invocation = readRevokeSettings(argv)
  if (invocation.kind !== 'run') return printText(invocation)
  try {
    return printReport(invocation.settings, await revoke(invocation.settings))
  } catch (error) {
    process.stderr.write(`management-operator revoke: ${messageOf(error)}\n`)
    return 1
  }
}

const FIELD_MANAGER = `${CONTROLLER_NAME}-revoke`

async function revoke({
  kubeconfig,
  nameOrUid,
  isDryRun,
}: RevokeSettings): Promise<RevocationReport> {
  const clock = systemClock()
  return withToolClient({ kubeconfig, clock, name: FIELD_MANAGER }, (deps) =>
    revokeKeyWithDescendants(
      { client: createClient(deps), clock, isDryRun, onRevoked: printKey },
      nameOrUid,
    ),
  )
}

const OUTCOME_TEXT: Readonly<Record<RevocationOutcome, string>> = {
  disabled: 'disabled',
  wouldBeDisabled: 'would be disabled',
  opensNothing: 'is disabled or being deleted already',
  gone: 'was deleted meanwhile',
  failed: 'FAILED',
}

function printKey({ key, maker, outcome, because }: RevokedKey): void {
  const creator = maker === null ? '' : `, made with ${maker}`
  const reason = because === '' ? '' : `: ${because}`
  process.stdout.write(
    `${key.name} (${key.identity ?? 'no identity'}${creator}): ${OUTCOME_TEXT[outcome]}${reason}\n`,
  )
}

/** Prints a summary; returns the exit code. */
function printReport({ nameOrUid, isDryRun }: RevokeSettings, report: RevocationReport): number {
  if (report === null) {
    process.stderr.write(
      `management-operator revoke: no access key has the name or uid ${JSON.stringify(nameOrUid)}, and none was made with a key of that uid; ${UID_HINT}\n`,
    )
    return 1
  }
  const { uid, all } = report
  const keyExists = all.some(({ key }) => key.uid === uid)
  const count = all.filter(
    ({ outcome }) => outcome === 'disabled' || outcome === 'wouldBeDisabled',
  ).length
  const lines = [
    ...(keyExists ? [] : [`The key with uid ${uid} itself is deleted.`]),
    `${count} of ${all.length} ${isDryRun ? 'would be disabled' : 'disabled'}. ${RBAC_HINT}`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return all.some(({ outcome }) => outcome === 'failed') ? 1 : 0
}

const UID_HINT =
  "the uid of a deleted key is in the operator's log, and in label management.platform.sh/made-with of the keys that it made"

const RBAC_HINT = `An object that it created by RBAC instead of self-service carries no label and is not among these:
the API server's audit log names the key in impersonatedUser.extra["platform.sh/access-key"] of such requests.`

/** The settings of `revoke` (contract 12.2). */
interface RevokeSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  /** Name of the key, or its uid if the key is deleted. Never empty. */
  readonly nameOrUid: string
  /** Whether to only print what would be disabled. */
  readonly isDryRun: boolean
}

const FLAGS = {
  kubeconfig: CLUSTER_FLAGS.kubeconfig,
  'dry-run': {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Print the keys that would be disabled, and change nothing.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'revoke <name or uid>',
  summary: `Disable an access key and every key that self-service made with it.
Keys made with those keys are disabled too, and each key is printed. Name a deleted key by its uid.
The command needs the verbs list and patch on ownedaccesskeys.`,
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
  const all = [...faults, ...(nameOrUid === '' || others.length > 0 ? [ONE_KEY_FAULT] : [])]
  const { kubeconfig = null, 'dry-run': isDryRun = false } = values
  return all.length === 0
    ? { kind: 'run', settings: { kubeconfig, nameOrUid, isDryRun } }
    : usageError('revoke', all)
}

const ONE_KEY_FAULT = 'name one access key, by its name or uid'

/** The flags of `revoke` as a Markdown table, for the docs. */
export const revokeFlagsTable = (): string => flagsMarkdown(FLAGS)
