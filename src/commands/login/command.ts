// `management-operator login`: signs in with a browser, and keeps the key for the other commands (contract 27.2).
import {
  type Flag,
  type Invocation,
  fileValue,
  flagsMarkdown,
  helpText,
  readFlags,
  switchValue,
  usageError,
} from '../../runtime/flags.ts'
import type { ProcessInputs } from '../shared/flags.ts'
import { isCertificate } from '../shared/https.ts'
import { processInputs } from '../shared/process.ts'
import { visible } from '../shared/terminal-text.ts'
import { choosePlatform, platformAt, signInAndKeep } from './kept-sign-in.ts'
import { identityOfNew } from './platform.ts'
import { processTerminal } from './process-terminal.ts'
import { SIGN_IN_FLAGS, complain, runSignInCommand } from './sign-in-command.ts'
import { readSignIns, signInsPath } from './sign-ins-file.ts'

/** The settings of `login`. */
interface LoginSettings {
  /** null = the platform of the only sign-in. */
  readonly url: string | null
  /** PEM; null = the CA of the sign-in before, else the CAs of Node are enough. */
  readonly ca: string | null
  readonly usesBrowser: boolean
}

const FLAGS = {
  url: SIGN_IN_FLAGS.url,
  'ca-file': {
    value: fileValue,
    fallback: '',
    shownDefault: 'the CA of the sign-in before, and the CAs of Node',
    help: "Path to the PEM file with the CA of the platform's certificate; it is kept with the key.",
  },
  'no-browser': {
    value: switchValue,
    fallback: 'false',
    shownDefault: 'off',
    help: 'Open no browser: print the address, and read the code of the page from standard input.',
  },
  help: SIGN_IN_FLAGS.help,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'login',
  summary: `Sign in at the platform with a browser, and keep an access key for this user.
The key is kept in management-operator/sign-ins.json of XDG_CONFIG_HOME, or of ~/.config, which no other user
may read. It is not printed. Variable BROWSER names another program than the usual one.`,
  flags: FLAGS,
  exitCodes: {
    0: 'The person is signed in.',
    1: 'The sign-in took more than 5 minutes, the platform refused or did not answer, or the file cannot be used.',
  },
})

/** The flags of `login` as a Markdown table, for the docs. */
export const loginFlagsTable = (): string => flagsMarkdown(FLAGS)

/** Parses a command line of `login`; reports every fault (contract 8.1). */
function readLoginSettings(
  argv: readonly string[],
  { file }: Pick<ProcessInputs, 'file'>,
): Invocation<LoginSettings> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return { kind: 'print', text: HELP }
  const { url = null, 'ca-file': caFile = null, 'no-browser': hasNoBrowser = false } = values
  const ca = caFile === null ? null : file(caFile)
  const all = [
    ...faults,
    ...(caFile !== null && !isCertificate(ca)
      ? [`--ca-file: ${caFile} has no certificate in PEM`]
      : []),
  ]
  if (all.length > 0) return usageError('login', all)
  return { kind: 'run', settings: { url, ca, usesBrowser: !hasNoBrowser } }
}

/**
 * `management-operator login` (contract 27.2).
 *
 * @returns the exit code
 */
export const run = (argv: readonly string[]): Promise<number> =>
  runSignInCommand('login', readLoginSettings(argv, processInputs), login)

async function login(settings: LoginSettings, signal: AbortSignal): Promise<number> {
  const path = signInsPath(processInputs)
  // Before the person does anything: a key that can't be kept is made in vain.
  const chosen = choosePlatform(await readSignIns(path), settings.url)
  if (chosen.kind === 'unclear') {
    complain('login', chosen.fault)
    return 1
  }
  const { url, signIn: before } = chosen
  const ca = settings.ca ?? before?.ca ?? null
  const terminal = processTerminal(signal, settings.usesBrowser)
  const { accessKey, expirationTimestamp } = await signInAndKeep({ url, ca, path }, terminal)
  const identity = await identityOfNew(platformAt(url, ca), accessKey, terminal.clock)
  if (identity === null) throw new Error(`${url} refuses the new key: sign in again`)
  const until = expirationTimestamp === null ? '' : ` until ${expirationTimestamp}`
  process.stdout.write(`Signed in at ${url} as ${visible(identity.user)}${until}.\n`)
  return 0
}
