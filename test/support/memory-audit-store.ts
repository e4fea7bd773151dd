import type { LineBatch, StoredEvents } from '../../src/audit/store/write-events.ts'
import { auditIDsOf } from './audit-store-events.ts'

/** A store in memory: rows and position of a batch, or nothing. */
export class MemoryAuditStore {
  readonly lines: (string | null)[] = []
  readonly batches: LineBatch[] = []
  position: string | null = null
  failure: Error | null = null

  readonly readPosition = (): Promise<string | null> =>
    this.failure === null ? Promise.resolve(this.position) : Promise.reject(this.failure)

  readonly writeEvents = (batch: LineBatch): Promise<StoredEvents> => {
    if (this.failure !== null) return Promise.reject(this.failure)
    const fresh = batch.lines.filter((line) => !this.lines.includes(line))
    this.lines.push(...fresh)
    this.batches.push(batch)
    this.position = batch.position
    return Promise.resolve({
      stored: fresh.length,
      double: batch.lines.length - fresh.length,
      refused: 0,
    })
  }

  get ids(): readonly string[] {
    return auditIDsOf(this.lines.map((line) => line ?? '{}'))
  }
}
