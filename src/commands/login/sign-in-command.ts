// What the commands of a sign-in have in common: flag `--url`, failures, and signals.
import {
  type Flag,
  type Invocation,
  helpFlag,
  printText,
  readFlags,
  usageError,
} from '../../runtime/flags.ts'
import { platformUrlValue } from '../shared/flags.ts'
import { messageOf, visible } from '../shared/terminal-text.ts'

/** The flags of a command that uses a sign-in. */
export const SIGN_IN_FLAGS = {
  url: {
    value: platformUrlValue,
    fallback: '',
    shownDefault: 'the platform of the only sign-in',
    help: 'URL of the platform, such as https://platform.example.com.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

/** Parses a command line with these flags alone (contract 8.1). @returns the URL; null = the only sign-in is meant */
export function readUrl(
  { name, help }: { readonly name: string; readonly help: string },
  argv: readonly string[],
): Invocation<string | null> {
  const { values, faults } = readFlags(SIGN_IN_FLAGS, argv)
  if (values.help) return { kind: 'print', text: help }
  if (faults.length > 0) return usageError(name, faults)
  return { kind: 'run', settings: values.url ?? null }
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
