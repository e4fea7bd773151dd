// `management-operator logout`: deletes the key of a sign-in at the platform, and here (contract 27.2).
import { flagsMarkdown, helpText } from '../../runtime/flags.ts'
import { choosePlatform, platformAt } from '../login/kept-sign-in.ts'
import { type Platform, endKey, identityOf } from '../login/platform.ts'
import { SIGN_IN_FLAGS, complain, readUrl, runSignInCommand } from '../login/sign-in-command.ts'
import { changeSignIns, readSignIns, signInsPath } from '../login/sign-ins-file.ts'
import { processInputs } from '../shared/process.ts'

const HELP = helpText({
  usage: 'logout',
  summary: `End a sign-in: delete its access key at the platform, and then the copy that login kept.
Other sign-ins of the person work on, such as in a browser.`,
  flags: SIGN_IN_FLAGS,
  exitCodes: {
    0: 'The key works no more, or there was none.',
    1: 'The key may still work, and is kept: the platform refused or did not answer.',
  },
})

/** The flags of `logout` as a Markdown table, for the docs. */
export const logoutFlagsTable = (): string => flagsMarkdown(SIGN_IN_FLAGS)

/**
 * `management-operator logout` (contract 27.2).
 *
 * @returns the exit code
 */
export const run = (argv: readonly string[]): Promise<number> =>
  runSignInCommand('logout', readUrl({ name: 'logout', help: HELP }, argv), logout)

async function logout(asked: string | null): Promise<number> {
  const path = signInsPath(processInputs)
  const signIns = await readSignIns(path)
  if (signIns.size === 0) return printed('There is no sign-in.')
  const chosen = choosePlatform(signIns, asked)
  if (chosen.kind === 'unclear') {
    complain('logout', chosen.fault)
    return 1
  }
  const { url, signIn } = chosen
  if (signIn === null) return printed(`There is no sign-in at ${url}.`)
  await end(platformAt(url, signIn.ca), signIn.accessKey)
  await changeSignIns(path, (kept) => {
    // At another terminal the person may have signed in again meanwhile.
    if (kept.get(url)?.accessKey === signIn.accessKey) kept.delete(url)
  })
  return printed(`Signed out at ${url}.`)
}

/** Ends the key; one that the platform refuses has ended already. */
async function end(platform: Platform, accessKey: string): Promise<void> {
  const identity = await identityOf(platform, accessKey)
  if (identity === null) return
  if (identity.keyName === null) throw new Error(`${platform.url} does not name the access key`)
  await endKey(platform, accessKey, identity.keyName)
}

function printed(sentence: string): number {
  process.stdout.write(`${sentence}\n`)
  return 0
}
