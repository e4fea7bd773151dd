// The sign-in that a command line means: which platform, and which key (contract 27.2).
import { parseTimestamp } from '../../domain/time.ts'
import { systemClock } from '../../runtime/clock.ts'
import { type Flag, printText, type Invocation } from '../../runtime/flags.ts'
import { platformUrlValue } from '../shared/flags.ts'
import { httpsSender } from '../shared/https.ts'
import { processInputs } from '../shared/process.ts'
import { messageOf, visible } from '../shared/terminal-text.ts'
import { browserCommand, openBrowser } from './browser.ts'
import type { Platform } from './platform.ts'
import { type SignInTerminal, signIn } from './sign-in.ts'
import { type SignIn, type SignIns, changeSignIns } from './sign-ins-file.ts'

/** `--url` of every command that uses a sign-in. */
export const urlFlag: Flag<string | null> = {
  value: platformUrlValue,
  fallback: '',
  shownDefault: 'the platform of the only sign-in',
  help: 'URL of the platform, such as https://platform.example.com.',
}

/** The platform that is meant. */
type ChosenPlatform =
  | { readonly kind: 'chosen'; readonly url: string; readonly signIn: SignIn | null }
  /** The line has no URL, and the sign-ins leave more or less than one. */
  | { readonly kind: 'unclear'; readonly fault: string }

/** Chooses a platform. @param url as the command line has it; null = the only sign-in is meant */
export function choosePlatform(signIns: SignIns, url: string | null): ChosenPlatform {
  if (url !== null) return { kind: 'chosen', url, signIn: signIns.get(url) ?? null }
  const [only, ...others] = signIns
  if (only === undefined)
    return {
      kind: 'unclear',
      fault: 'there is no sign-in: management-operator login --url <url> begins one',
    }
  if (others.length > 0)
    return {
      kind: 'unclear',
      fault: `there are sign-ins at several platforms, name one by --url: ${[...signIns.keys()].join(', ')}`,
    }
  return { kind: 'chosen', url: only[0], signIn: only[1] }
}

/** Whether the key has ended by itself; it may also have been ended before. */
export const isOver = ({ expirationTimestamp }: SignIn, nowMs: number): boolean =>
  expirationTimestamp !== null && (parseTimestamp(expirationTimestamp) ?? 0) <= nowMs

/** The platform, trusted by that CA. @param ca PEM; null = the CAs of Node are enough */
export const platformAt = (url: string, ca: string | null): Platform => ({
  url,
  send: httpsSender(ca),
})

/** Lets the person sign in, and keeps the key. @throws Error as signIn and changeSignIns do */
export async function signInAndKeep(
  { url, ca, path }: { readonly url: string; readonly ca: string | null; readonly path: string },
  terminal: SignInTerminal,
): Promise<SignIn> {
  const made = { ...(await signIn(platformAt(url, ca), terminal)), ca }
  await changeSignIns(path, (signIns) => void signIns.set(url, made))
  return made
}

/** The terminal of this process. @param signal aborts when the person gives up */
export function processTerminal(signal: AbortSignal, usesBrowser: boolean): SignInTerminal {
  const { stdin, stderr, platform } = process
  const surroundings = { platform, env: processInputs.env }
  const hasBrowser = usesBrowser && browserCommand('', surroundings) !== null
  return {
    clock: systemClock(),
    input: stdin,
    isInteractive: stdin.isTTY && stderr.isTTY,
    say: (line) => void stderr.write(`${line}\n`),
    openBrowser: hasBrowser
      ? (url, onFailure) => {
          const command = browserCommand(url, surroundings)
          if (command !== null) openBrowser(command, onFailure)
        }
      : null,
    signal,
  }
}

/**
 * Runs a command that uses a sign-in, until it ends or a signal ends it. A failure is one line on standard error.
 *
 * @returns the exit code: 1 after a failure
 */
export async function runSignInCommand<Settings>(
  name: string,
  invocation: Invocation<Settings>,
  act: (settings: Settings, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  if (invocation.kind !== 'run') return printText(invocation)
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, abort)
  try {
    return await act(invocation.settings, stop.signal)
  } catch (error) {
    complain(name, messageOf(error))
    return 1
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, abort)
  }
}

/** Writes a line of a command to standard error. */
export function complain(name: string, fault: string): void {
  process.stderr.write(`management-operator ${name}: ${visible(fault)}\n`)
}
