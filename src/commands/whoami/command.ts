// `management-operator whoami`: who the person is at the platform, and until when (contract 27.2).
import { flagsMarkdown, helpText } from '../../runtime/flags.ts'
import { choosePlatform, platformAt } from '../login/kept-sign-in.ts'
import { identityOf } from '../login/platform.ts'
import { SIGN_IN_FLAGS, complain, readUrl, runSignInCommand } from '../login/sign-in-command.ts'
import { readSignIns, signInsPath } from '../login/sign-ins-file.ts'
import { processInputs } from '../shared/process.ts'
import { visible } from '../shared/terminal-text.ts'

const HELP = helpText({
  usage: 'whoami',
  summary: `Show who is signed in: user, teams, platform and the end of the key.
The platform is asked, so a key that was ended before its time is noticed.`,
  flags: SIGN_IN_FLAGS,
  exitCodes: {
    0: 'The key works.',
    1: 'There is no sign-in, its key has ended, or the platform did not answer.',
  },
})

/** The flags of `whoami` as a Markdown table, for the docs. */
export const whoamiFlagsTable = (): string => flagsMarkdown(SIGN_IN_FLAGS)

/**
 * `management-operator whoami` (contract 27.2).
 *
 * @returns the exit code
 */
export const run = (argv: readonly string[]): Promise<number> =>
  runSignInCommand('whoami', readUrl({ name: 'whoami', help: HELP }, argv), whoami)

async function whoami(asked: string | null): Promise<number> {
  const chosen = choosePlatform(await readSignIns(signInsPath(processInputs)), asked)
  if (chosen.kind === 'unclear') return refused(chosen.fault)
  const { url, signIn } = chosen
  if (signIn === null) return refused(`there is no sign-in at ${url}`)
  const identity = await identityOf(platformAt(url, signIn.ca), signIn.accessKey)
  if (identity === null) return refused(`the key has ended at ${url}: sign in again`)
  const teams = identity.teams.map(visible).join(', ')
  const lines = [
    `user:     ${visible(identity.user)}`,
    `teams:    ${teams === '' ? '-' : teams}`,
    `platform: ${url}`,
    `until:    ${signIn.expirationTimestamp ?? '-'}`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return 0
}

function refused(fault: string): number {
  complain('whoami', fault)
  return 1
}
