import type { Invocation } from '../runtime/flags.ts'

/**
 * Ends a command that has nothing to run: prints help or version to standard output (exit 0), or the
 * refusal to standard error (exit 2; contract 8.1).
 *
 * @returns the exit code
 */
export function answer({ kind, text }: Exclude<Invocation<unknown>, { kind: 'run' }>): number {
  const stream = kind === 'print' ? process.stdout : process.stderr
  stream.write(text)
  return kind === 'print' ? 0 : 2
}
