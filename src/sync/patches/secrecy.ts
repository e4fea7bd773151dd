// Which patches can hold values of Secrets, or of the configuration (contract 16.1, 19.8).
import type { JsonMap } from '../../domain/json/json.ts'
import { type Patch, readsConfig } from './parse.ts'

/**
 * Whether a patch can set or report a secret value: of a Secret, or of the configuration, which each patch sees
 * from the first on that reads it.
 */
export function canHoldSecret(object: JsonMap, patches: readonly Patch[], patch: Patch): boolean {
  const first = patches.findIndex(readsConfig)
  return object['kind'] === 'Secret' || (first !== -1 && patches.indexOf(patch) >= first)
}
