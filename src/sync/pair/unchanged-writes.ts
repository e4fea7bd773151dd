import { createHash } from 'node:crypto'
import { canonicalJson, type JsonMap } from '../../domain/json/json.ts'
import type { SyncedObject } from '../objects/synced-object.ts'

/**
 * Writes that changed nothing, by the key of their object: the API server normalises a field, and would answer the
 * same write with the same object again.
 */
export class WritesWithoutChange {
  readonly #written = new Map<string, string>()

  /** Remembers that this write left the object as it was. */
  add(key: string, wanted: JsonMap, before: SyncedObject): void {
    this.#written.set(key, writeDigest(wanted, before))
  }

  /** Whether this write is known to change nothing. @param before null = the object does not exist */
  has(key: string, wanted: JsonMap, before: SyncedObject | null): boolean {
    const known = this.#written.get(key)
    return known !== undefined && before !== null && known === writeDigest(wanted, before)
  }

  /** Drops what is known of the object. */
  forget(key: string): void {
    this.#written.delete(key)
  }
}

const writeDigest = (wanted: JsonMap, { uid, resourceVersion }: SyncedObject): string =>
  createHash('sha256')
    .update(`${uid} ${resourceVersion} ${canonicalJson(wanted)}`)
    .digest('base64')
