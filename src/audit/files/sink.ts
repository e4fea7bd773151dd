// The sink of an audit log.
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditSink, LogSettings } from '../audit-log.ts'
import { AUDIT_FILE } from './backups.ts'

/** The path that stands for standard output. */
export const STANDARD_OUTPUT = '-'

/** Opens the sink of these settings. */
export function openSink(
  { path }: LogSettings,
  { subdirectory }: { readonly subdirectory: string | null },
): AuditSink {
  let file: FileHandle | null = null
  return {
    append: async (lines) => {
      if (file === null) {
        const folder = subdirectory === null ? path : join(path, subdirectory)
        await mkdir(folder, { recursive: true, mode: 0o700 })
        file = await open(join(folder, AUDIT_FILE), 'a', 0o600)
      }
      await file.appendFile(lines.map((line) => `${line}\n`).join(''))
    },
    changeRetention: () => undefined,
    close: async () => {
      await file?.close()
    },
  }
}
