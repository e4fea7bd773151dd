// Keys of labels and selectors of a virtual cluster on its host (contract 17.3, 19.5).
import {
  isList,
  isMap,
  type Json,
  type JsonMap,
  mapFromEntries,
  ownValue,
  sameJson,
} from '../../domain/json/json.ts'
import { hasTranslatedLabels, hostMeaningOf, TAKEN_KEYS } from './host-meanings.ts'
import { type HostPlace, shortDigest } from './host-name.ts'
import { MARK_LABELS, MARK_PREFIX, type MetadataField } from './mark-keys.ts'

/** The key that a label of a selector has on the host in single-namespace mode (contract 19.5). */
export const hostLabelKey = (key: string, virtualCluster: string): string =>
  TAKEN_KEYS.includes(key) ? translatedKey(key, virtualCluster) : key

const translatedPrefix = (virtualCluster: string): string =>
  `${MARK_PREFIX}label-${virtualCluster}-x-`

const translatedKey = (key: string, virtualCluster: string): string =>
  `${translatedPrefix(virtualCluster)}${shortDigest(key)}`

/** Whether a translated label has this key on the host: another label with it would take its place. */
const isTranslatedKey = (key: string, virtualCluster: string): boolean =>
  key.startsWith(translatedPrefix(virtualCluster)) &&
  TAKEN_KEYS.some((taken) => translatedKey(taken, virtualCluster) === key)

/**
 * The key that a label or annotation of a virtual object has on the host; null = it does not cross (contract 17.3).
 *
 * @param kind as in manifests
 */
export function hostKeyOf(
  field: MetadataField,
  key: string,
  kind: string,
  { virtualCluster, namespaces }: HostPlace,
): string | null {
  const meaning = hostMeaningOf(field, key)
  const isOurs = key.startsWith(MARK_PREFIX)
  if (meaning?.becomes === 'nothing' && isOurs) return null
  if (field === 'labels' && hasTranslatedLabels(kind)) return translatedKey(key, virtualCluster)
  if (meaning?.becomes === 'nothing') return null
  const isTranslated = field === 'labels' && namespaces === null
  if (isTranslated && isTranslatedKey(key, virtualCluster)) return null
  if (meaning === null) return key
  if (isTranslated) return translatedKey(key, virtualCluster)
  // A mark that the syncer writes itself.
  return isOurs ? null : key
}

/** The virtual cluster and the virtual namespace that a selector is meant for. */
interface SelectorPlace {
  readonly virtualCluster: string
  readonly namespace: string
}

/**
 * A selector on the host: with translated keys, and of objects of this virtual namespace only. It is a map of labels
 * or a LabelSelector; an empty map stays empty, as it selects nothing of a Service, and other values stay as they are.
 */
export const hostSelector = (selector: Json, place: SelectorPlace): Json =>
  translatedSelector(
    selector,
    (labels) => hostMatchLabels(labels, place),
    (key) => hostLabelKey(key, place.virtualCluster),
  )

/** The selector of which `hostSelector` makes this one; undefined = there is none. */
export function virtualSelector(selector: Json, place: SelectorPlace): Json | undefined {
  const marks: readonly string[] = Object.values(MARK_LABELS)
  const virtualKeys = new Map(
    TAKEN_KEYS.map((key) => [hostLabelKey(key, place.virtualCluster), key]),
  )
  const keyOf = (key: string): string => virtualKeys.get(key) ?? key
  const labelsOf = (labels: JsonMap): JsonMap =>
    withKeys(
      Object.entries(labels).filter(([key]) => !marks.includes(key)),
      keyOf,
    )
  const found = translatedSelector(selector, labelsOf, keyOf)
  return sameJson(hostSelector(found, place), selector) ? found : undefined
}

/** The selector with translated labels, and keys of requirements. */
function translatedSelector(
  selector: Json,
  labelsOf: (labels: JsonMap) => JsonMap,
  keyOf: (key: string) => string,
): Json {
  if (!isMap(selector) || Object.keys(selector).length === 0) return selector
  const isLabelSelector = ['matchLabels', 'matchExpressions'].some((name) =>
    Object.hasOwn(selector, name),
  )
  if (!isLabelSelector) return labelsOf(selector)
  const labels = ownValue(selector, 'matchLabels')
  const expressions = ownValue(selector, 'matchExpressions')
  return mapFromEntries([
    ...Object.entries(selector).filter(([name]) => !name.startsWith('match')),
    ['matchLabels', labelsOf(isMap(labels ?? null) ? (labels as JsonMap) : {})],
    [
      'matchExpressions',
      isList(expressions) ? expressions.map((one) => withKey(one, keyOf)) : expressions,
    ],
  ])
}

/** A map of labels as a selector on the host; a Service's selector is one, whatever its keys are called. */
export const hostMatchLabels = (
  labels: JsonMap,
  { virtualCluster, namespace }: SelectorPlace,
): JsonMap => ({
  ...withKeys(Object.entries(labels), (key) => hostLabelKey(key, virtualCluster)),
  [MARK_LABELS.managedBy]: virtualCluster,
  [MARK_LABELS.namespace]: namespace,
})

const withKeys = (
  entries: readonly (readonly [string, Json])[],
  keyOf: (key: string) => string,
): JsonMap => mapFromEntries(entries.map(([key, value]) => [keyOf(key), value] as const))

function withKey(requirement: Json, keyOf: (key: string) => string): Json {
  if (!isMap(requirement)) return requirement
  const key = ownValue(requirement, 'key')
  return typeof key === 'string' ? { ...requirement, key: keyOf(key) } : requirement
}
