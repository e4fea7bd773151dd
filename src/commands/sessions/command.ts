import { CONTROLLER_NAME } from '../../api/names.ts'
import { type KubeClient, createClient } from '../../kube/client/client.ts'
import { type EndedSession, endSessions, sessionsOf } from '../../revocation/sessions.ts'
import { systemClock } from '../../runtime/clock.ts'
import {
  type Flag,
  type FlagValue,
  type Invocation,
  flagsMarkdown,
  helpFlag,
  helpText,
  printText,
  readFlags,
  switchValue,
  usageError,
} from '../../runtime/flags.ts'
import { withToolClient } from '../shared/cluster-client.ts'
import { CLUSTER_FLAGS } from '../shared/flags.ts'
import { messageOf } from '../shared/terminal-text.ts'
import { endLineOf, lineOf, stateOf } from './lines.ts'

/**
 * `management-operator sessions --user <name> [--end]` (contract 27.2).
 *
 * @returns the exit code: 1 when a session may still work that was to be ended
 */
export async function run(argv: readonly string[]): Promise<number> {
  const invocation = readSessionsSettings(argv)
  if (invocation.kind !== 'run') return printText(invocation)
  try {
    const { settings } = invocation
    const tool = { kubeconfig: settings.kubeconfig, clock: systemClock(), name: FIELD_MANAGER }
    return await withToolClient(tool, (deps) => show(createClient(deps), settings))
  } catch (error) {
    process.stderr.write(`management-operator sessions: ${messageOf(error)}\n`)
    return 1
  }
}

const FIELD_MANAGER = `${CONTROLLER_NAME}-sessions`

/** Prints the sessions, or ends them and prints what came of each. @returns the exit code */
async function show(client: KubeClient, { user, ends }: SessionsSettings): Promise<number> {
  if (ends) return summarized(user, await endSessions({ client, onEnded: printEnd }, user))
  const sessions = await sessionsOf({ client }, user)
  const lines = sessions.map((session) => `${lineOf(session)}${stateOf(session)}\n`)
  const count = sessions.length === 1 ? '1 session' : `${sessions.length} sessions`
  process.stdout.write(`${lines.join('')}${count} of ${user}.\n`)
  return 0
}

function printEnd(ended: EndedSession): void {
  process.stdout.write(`${endLineOf(ended)}\n`)
}

/** Prints a summary; returns the exit code. */
function summarized(user: string, all: readonly EndedSession[]): number {
  const count = all.filter(({ end }) => end === 'deleted' || end === 'disabled').length
  process.stdout.write(`${count} of ${all.length} ended. ${hintOf(user)}\n`)
  return all.some(({ end }) => end === 'failed') ? 1 : 0
}

const hintOf = (
  user: string,
): string => `Other keys of ${user} work on, and ${user} can sign in again:
to end all of that and lock the person out, disable the User of that name.`

/** The settings of `sessions` (contract 27.2). */
interface SessionsSettings {
  /** Path; null = KUBECONFIG, else the pod's service account. */
  readonly kubeconfig: string | null
  readonly user: string
  /** Whether to end the sessions. */
  readonly ends: boolean
}

const userValue: FlagValue<string | null> = {
  placeholder: '<name>',
  accepts: 'a user name, as access keys have it in spec.user',
  read: (text) => (text === '' ? null : /^[!-~]{1,253}$/.test(text) ? text : undefined),
}

const FLAGS = {
  user: {
    value: userValue,
    fallback: '',
    shownDefault: 'none, required',
    help: 'User name of the person, as access keys have it in spec.user.',
  },
  end: {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'End the sessions: delete the keys, and disable those that a GitOps tool applies.',
  },
  kubeconfig: CLUSTER_FLAGS.kubeconfig,
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'sessions',
  summary: `List the sessions of a person, or end them.
A session is an access key of type Login. The command needs the verb list on ownedaccesskeys, with --end
also delete and patch.`,
  flags: FLAGS,
  exitCodes: {
    0: 'The sessions are printed; with --end, each of them is ended.',
    1: 'A session may still work: the API server refused or did not answer.',
  },
})

/** Parses a command line of `sessions`; reports every fault (contract 8.1). */
function readSessionsSettings(argv: readonly string[]): Invocation<SessionsSettings> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return { kind: 'print', text: HELP }
  const { user = null, end: ends = false, kubeconfig = null } = values
  const all = [
    ...faults,
    ...(values.user === null ? [`--user is required, ${userValue.accepts}`] : []),
  ]
  if (all.length > 0 || user === null) return usageError('sessions', all)
  return { kind: 'run', settings: { kubeconfig, user, ends } }
}

/** The flags of `sessions` as a Markdown table, for the docs. */
export const sessionsFlagsTable = (): string => flagsMarkdown(FLAGS)
