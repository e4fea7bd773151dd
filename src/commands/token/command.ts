// `management-operator token`: the key of a sign-in as kubectl asks for it (contract 27.2).
import { systemClock } from '../../runtime/clock.ts'
import { flagsMarkdown, helpText } from '../../runtime/flags.ts'
import { choosePlatform, isOver, platformAt, signInAndKeep } from '../login/kept-sign-in.ts'
import { identityOfNew } from '../login/platform.ts'
import { processTerminal } from '../login/process-terminal.ts'
import { SIGN_IN_FLAGS, complain, readUrl, runSignInCommand } from '../login/sign-in-command.ts'
import { type SignIn, readSignIns, signInsPath } from '../login/sign-ins-file.ts'
import { processInputs } from '../shared/process.ts'

const HELP = helpText({
  usage: 'token',
  summary: `Print the access key of a sign-in, as kubectl asks an exec plugin for it.
It is an ExecCredential of client.authentication.k8s.io/v1. Where the key has ended, the person signs in again,
if there is a terminal.`,
  flags: SIGN_IN_FLAGS,
  exitCodes: {
    0: 'The key is printed.',
    1: 'The person could not sign in again, or the file with the key cannot be used.',
    4: 'There is no key that works, and no terminal to sign in.',
  },
})

/** The flags of `token` as a Markdown table, for the docs. */
export const tokenFlagsTable = (): string => flagsMarkdown(SIGN_IN_FLAGS)

/**
 * `management-operator token` (contract 27.2).
 *
 * @returns the exit code
 */
export const run = (argv: readonly string[]): Promise<number> =>
  runSignInCommand('token', readUrl({ name: 'token', help: HELP }, argv), token)

const SIGN_IN_FIRST = 4

async function token(asked: string | null, signal: AbortSignal): Promise<number> {
  const path = signInsPath(processInputs)
  const chosen = choosePlatform(await readSignIns(path), asked)
  if (chosen.kind === 'unclear') return unknown(chosen.fault)
  const { url, signIn } = chosen
  if (signIn !== null && !isOver(signIn, systemClock().nowMs())) return printed(signIn)
  const terminal = processTerminal(signal, true)
  if (!terminal.isInteractive)
    return unknown(`sign in first: management-operator login --url ${url}`)
  const ca = signIn?.ca ?? null
  const made = await signInAndKeep({ url, ca, path }, terminal)
  // kubectl uses the key at once, at any replica.
  await identityOfNew(platformAt(url, ca), made.accessKey, terminal.clock)
  return printed(made)
}

function unknown(fault: string): number {
  complain('token', fault)
  return SIGN_IN_FIRST
}

function printed({ accessKey, expirationTimestamp }: SignIn): number {
  const status = {
    token: accessKey,
    ...(expirationTimestamp === null ? {} : { expirationTimestamp }),
  }
  const apiVersion = 'client.authentication.k8s.io/v1'
  const credential = { apiVersion, kind: 'ExecCredential', status }
  process.stdout.write(`${JSON.stringify(credential)}\n`)
  return 0
}
