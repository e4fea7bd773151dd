import { createHash } from 'node:crypto'
import { heldDigestOf } from '../domain/accesskey/access-key.ts'

/**
 * SHA-256 of spec.key in hex, by which a key is looked up, named and compared. A `sha256:<hex>`
 * gives its own digits, so both forms of a key meet (contract 3.6). Never for a caller's token
 * unless the digest form was refused before: a digest may be public in Git and must open nothing.
 */
export function digestOf(key: string): string {
  return heldDigestOf(key) ?? createHash('sha256').update(key, 'utf8').digest('hex')
}
