// Keys that are replaced as they age, as a Secret has them: a list in JSON (contract 25.3, 26.1). Pure.
import { parseJson } from '../json/json.ts'

/**
 * The keys in the text of a Secret, the newest first; null = there is none, or one is malformed.
 *
 * @param keyIn parses one; null = it is malformed
 */
export function agedKeysIn<Key extends { readonly madeMs: number }>(
  text: string | null,
  keyIn: (entry: unknown) => Key | null,
): readonly [Key, ...Key[]] | null {
  const entries = parseJson(text ?? undefined)
  if (!Array.isArray(entries)) return null
  const keys = entries.map(keyIn)
  const [newest, ...older] = keys
    .flatMap((key) => (key === null ? [] : [key]))
    .toSorted((a, b) => b.madeMs - a.madeMs)
  return newest === undefined || keys.includes(null) ? null : [newest, ...older]
}
