// What a run remembers of its imports: one record for each, so that a forgotten import leaves nothing behind. Times of
// writes (writes/write-pace.ts) outlive it: a copy that is deleted and created again gets no new budget.
import type { KeepsLastWrite } from '../writes/write-pace.ts'
import { type ImportName, importKey } from './name.ts'

/** What a run remembers of one import. */
interface ImportRecord extends KeepsLastWrite {
  /** Digests of the referrers and refusals that were reported since the copy was last in step; null = none was. */
  reported: Set<string> | null
}

/** The records of all imports, by importKey. */
export type ImportRecords = Map<string, ImportRecord>

/** The record of an import, which begins empty. */
export function recordOf(name: ImportName, records: ImportRecords): ImportRecord {
  const record = records.get(importKey(name)) ?? { lastWrite: null, reported: null }
  records.set(importKey(name), record)
  return record
}
