// Shows what patches do to an object, without the values of Secrets (contract 16.1).
import { createTwoFilesPatch } from 'diff'
import { type FieldPath, nestedField } from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, canonicalJson, isMap, sameJson } from '../../domain/json/json.ts'
import { formatYaml } from '../../runtime/yaml.ts'
import type { ChangedField } from '../../sync/patches/apply.ts'
import type { Patch } from '../../sync/patches/parse.ts'
import { withField } from '../../sync/patches/path.ts'
import { canHoldSecret } from '../../sync/patches/secrecy.ts'

/** An object before and after its patches. */
interface PatchedPair {
  readonly before: JsonMap
  readonly after: JsonMap
}

/** The object as YAML, with sorted keys. */
export const sortedYaml = (object: JsonMap): string =>
  formatYaml(JSON.parse(canonicalJson(object)) as Json)

/** A unified diff of the two as YAML with sorted keys; empty when they are equal. */
export function unifiedDiff({ before, after }: PatchedPair): string {
  const [from, to] = [sortedYaml(before), sortedYaml(after)]
  if (from === to) return ''
  const patch = createTwoFilesPatch('before', 'after', from, to, '', '', { context: 3 })
  return patch.slice(patch.indexOf('--- '))
}

const HIDDEN = '(hidden)'
const HIDDEN_CHANGE = '(hidden, changed)'

/** Fields of a Secret that hold its values: its data, and what kubectl apply keeps of it. */
const SECRET_FIELDS: readonly FieldPath[] = [
  ['data'],
  ['stringData'],
  ['metadata', 'annotations', 'kubectl.kubernetes.io/last-applied-configuration'],
]

/** The pair without the values that can be secret; what has changed of them can still be seen. */
export function withoutSecrets(
  pair: PatchedPair,
  patches: readonly Patch[],
  changed: readonly ChangedField[],
): PatchedPair {
  const isShifted = changed.some(
    ({ path, isRemoved }) => isRemoved && typeof path.at(-1) === 'number',
  )
  const set = changed
    .filter(({ patch }) => canHoldSecret(pair.before, patches, patch))
    // The removal of an element moves others away from their paths: their list is hidden as a whole.
    .map(({ path }) => (isShifted ? path.slice(0, indexOfElement(path)) : path))
  const held = pair.before['kind'] === 'Secret' ? SECRET_FIELDS.flatMap(entriesIn(pair)) : []
  return [...set, ...held].reduce<PatchedPair>(({ before, after }, path) => {
    const [was = null, is = null] = [nestedField(pair.before, path), nestedField(pair.after, path)]
    return {
      before: withField(before, path, HIDDEN),
      after: withField(after, path, sameJson(was, is) ? HIDDEN : HIDDEN_CHANGE),
    }
  }, pair)
}

/** The position of the first list index in a path; the path's length if it has none. */
const indexOfElement = (path: FieldPath): number => {
  const at = path.findIndex((step) => typeof step === 'number')
  return at === -1 ? path.length : at
}

/** The paths of the entries of a map on either side; the path itself for another value. */
const entriesIn =
  ({ before, after }: PatchedPair) =>
  (path: FieldPath): readonly FieldPath[] =>
    [before, after].flatMap((object) => {
      const value = nestedField(object, path)
      return isMap(value) ? Object.keys(value).map((name) => [...path, name]) : [path]
    })
