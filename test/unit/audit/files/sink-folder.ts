// A temporary folder with a sink, and what its files say.
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'
import type { AuditSink, LogRetention } from '../../../../src/audit/audit-log.ts'
import { backupOf } from '../../../../src/audit/files/backups.ts'
import { openSink, type SinkPlace } from '../../../../src/audit/files/sink.ts'
import { manualClock } from '../../../support/manual-clock.ts'

export const NOW = Date.parse('2026-11-28T12:00:00.250Z')
export const ALL: LogRetention = { maxSize: 100, maxBackups: 0, maxAge: 0, compress: false }
const MIB = 1024 * 1024
/** A maximum size in bytes, as the setting in MiB. */
export const bytes = (count: number): number => count / MIB

/** A folder that is removed at the end of the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'audit-files-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Options of a sink; those that are absent have their defaults. */
interface SinkOptions
  extends Partial<LogRetention>,
    Partial<Pick<SinkPlace, 'subdirectory' | 'sync'>> {
  readonly path?: string
}

/** A sink in a folder of the test, its clock, and its failures of upkeep. */
export function sinkIn(options: SinkOptions = {}) {
  const { path = temporaryFolder(), subdirectory = null, sync = 'write', ...retention } = options
  const clock = manualClock(NOW)
  const upkeepFailures: unknown[] = []
  const sink: AuditSink = openSink(
    { path, ...ALL, ...retention },
    { subdirectory, sync, spool: null, clock, upkeepFailed: (cause) => upkeepFailures.push(cause) },
  )
  onTestFinished(() => sink.close())
  return { path, sink, clock, upkeepFailures }
}

/** Appends all lines, in as many calls as it takes. */
export async function appendAll(sink: AuditSink, lines: readonly string[]): Promise<void> {
  for (let rest = lines; rest.length > 0; ) rest = rest.slice(await sink.append(rest))
}

/** The names in a folder but for the lock. */
export const namesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder)).filter((name) => name !== 'audit.lock').toSorted()

/** The text of each file of the log, by name; a backup that is there twice, by its archive alone. */
export async function textsIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = await namesIn(folder)
  const own = names.filter(
    (name) => name === 'audit.log' || (backupOf(name) && !names.includes(`${name}.gz`)),
  )
  const texts = own.map(async (name) => {
    const content = await readFile(join(folder, name))
    return [name, (name.endsWith('.gz') ? gunzipSync(content) : content).toString()] as const
  })
  return Object.fromEntries(await Promise.all(texts))
}
