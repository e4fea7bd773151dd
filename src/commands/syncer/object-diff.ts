// Shows what patches do to an object, without the values of Secrets (contract 16.1).
import { createTwoFilesPatch } from 'diff'
import { nestedField } from '../../domain/json/field-path.ts'
import {
  type Json,
  type JsonMap,
  canonicalJson,
  isMap,
  mapFromEntries,
} from '../../domain/json/json.ts'
import { formatYaml } from '../../runtime/yaml.ts'
import type { ChangedField } from '../../sync/patcher.ts'
import { withField } from '../../sync/rules/patch-path.ts'

/** An object before and after its patches. */
interface PatchedPair {
  readonly before: JsonMap
  readonly after: JsonMap
}

/** The object as YAML with sorted keys. */
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
const SECRET_FIELDS = ['data', 'stringData']

/**
 * The pair without the values of a Secret, and without what patches have set that could see such values or the
 * configuration of the virtual cluster. What has changed can still be seen.
 */
export function withoutSecrets(pair: PatchedPair, changed: readonly ChangedField[]): PatchedPair {
  const isSecret = pair.before['kind'] === 'Secret'
  const seen = changed.filter((field) => isSecret || readsConfig(field))
  const shown = seen.reduce<PatchedPair>(({ before, after }, { path }) => {
    const [was, is] = [nestedField(pair.before, path), nestedField(pair.after, path)]
    return {
      before: was === undefined ? before : withField(before, path, HIDDEN),
      after: is === undefined ? after : withField(after, path, HIDDEN_CHANGE),
    }
  }, pair)
  if (!isSecret) return shown
  return {
    before: withoutData(shown.before, pair.before, pair.before),
    after: withoutData(shown.after, pair.after, pair.before),
  }
}

const readsConfig = ({ patch }: ChangedField): boolean =>
  patch.kind === 'expression' &&
  [patch.forward, patch.reverse].some((expression) => expression?.readsConfig === true)

/** The object without the values of its data; `actual` holds them, `before` says which have changed. */
function withoutData(object: JsonMap, actual: JsonMap, before: JsonMap): JsonMap {
  const hidden = SECRET_FIELDS.map((name) => {
    const data = actual[name]
    if (data === undefined) return [name, undefined] as const
    if (!isMap(data)) return [name, HIDDEN] as const
    const values = Object.keys(data).map((key) => {
      const isSame = data[key] === nestedField(before, [name, key])
      return [key, isSame ? HIDDEN : HIDDEN_CHANGE] as const
    })
    return [name, mapFromEntries(values)] as const
  })
  return { ...object, ...mapFromEntries(hidden) }
}
