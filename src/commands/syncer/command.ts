import { systemClock } from '../../runtime/clock.ts'
import { printText } from '../../runtime/flags.ts'
import { createSandbox } from '../../sync/sandbox/sandbox.ts'
import { readSyncerSettings } from './flags.ts'

/**
 * `management-operator syncer`, and its subcommands `validate` and `try` (contract 16.1).
 *
 * @returns the exit code, after all parts have stopped
 */
export async function run(argv: readonly string[]): Promise<number> {
  // These subcommands need no cluster, and load no client of one.
  if (argv[0] === 'validate' || argv[0] === 'try')
    return (await import('./try-patches.ts')).run(argv, () => createSandbox(systemClock()))
  const invocation = readSyncerSettings(argv)
  if (invocation.kind !== 'run') return printText(invocation)
  return (await import('./process.ts')).startSyncer(invocation.settings)
}
