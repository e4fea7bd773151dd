// A release on disk. It is written in whole or not at all.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digestsOf, type ReleaseFiles, SUMS, sumFaults, sumsText } from './sums.ts'

/**
 * Writes files and their SHA256SUMS into a folder, in place of what it held.
 *
 * @throws Error when a file that was written is not in SHA256SUMS, or has another sum; the folder is then as before
 */
export function writeRelease(folder: string, files: ReleaseFiles): void {
  const draft = `${folder}.unfinished`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft)
  for (const [name, content] of files) writeFileSync(join(draft, name), content)
  writeFileSync(join(draft, SUMS), sumsText(digestsOf(files)))
  const faults = sumFaults(readRelease(draft) ?? new Map())
  if (faults.length > 0) throw new Error(`the release is not complete:\n${faults.join('\n')}`)
  rmSync(folder, { recursive: true, force: true })
  renameSync(draft, folder)
}

/** The files of a release, SHA256SUMS included; null = there is no such folder. */
export function readRelease(folder: string): ReleaseFiles | null {
  try {
    return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
