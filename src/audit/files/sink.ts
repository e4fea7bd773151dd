// The sink of an audit log.
import type { Clock } from '../../runtime/clock.ts'
import type { AuditSink, LogSettings } from '../audit-log.ts'
import { DirectorySink } from './directory-sink.ts'
import type { Spool } from './spool.ts'
import { standardOutputSink } from './standard-output.ts'

/** The path that stands for standard output. */
export const STANDARD_OUTPUT = '-'

/** What a sink needs beside the settings of Config. */
export interface SinkPlace {
  /** The folder below the path for the files of this replica; null = none. */
  readonly subdirectory: string | null
  /** When a line counts as written: `write` = the kernel has it, `always` = the disk has it. */
  readonly sync: 'write' | 'always'
  /** Of an agent that sends its files elsewhere; null = nothing is sent. */
  readonly spool: Spool | null
  readonly clock: Clock
  /** Called with the first failure to remove or compress backups, after a time without one. */
  readonly upkeepFailed: (cause: unknown) => void
}

/** The sink of these settings. Nothing is touched before its `open`. */
export function openSink(settings: LogSettings, place: SinkPlace): AuditSink {
  const { clock, spool, subdirectory, sync, upkeepFailed } = place
  const { path } = settings
  if (path === STANDARD_OUTPUT) return standardOutputSink(clock)
  return new DirectorySink({
    directory: { path, subdirectory },
    retention: settings,
    isSynced: sync === 'always',
    spool,
    clock,
    upkeepFailed,
  })
}
