// Keys of labels and selectors of a virtual cluster on its host (contract 17.3, 19.5).
import {
  type Json,
  type JsonMap,
  isList,
  isMap,
  mapFromEntries,
  ownValue,
} from '../../domain/json/json.ts'
import { shortDigest } from './host-name.ts'
import { MARK_LABELS, MARK_PREFIX } from './marks.ts'

/** Keys that mean something on the host: the virtual cluster's own get another key there. */
const TAKEN_KEYS: ReadonlySet<string> = new Set([
  'release',
  MARK_LABELS.managedBy,
  MARK_LABELS.namespace,
  `${MARK_PREFIX}controlled-by`,
])

/** The key that a label of the virtual cluster has on the host in single-namespace mode (contract 17.3). */
export function hostLabelKey(key: string, virtualCluster: string): string {
  if (!TAKEN_KEYS.has(key)) return key
  return `${MARK_PREFIX}label-${virtualCluster}-x-${shortDigest(key)}`
}

/** Whether a translated label has this key on the host: another label with it would take its place. */
export const isTranslatedKey = (key: string, virtualCluster: string): boolean =>
  key.startsWith(MARK_PREFIX) &&
  [...TAKEN_KEYS].some((taken) => hostLabelKey(taken, virtualCluster) === key)

/** The virtual cluster and the virtual namespace that a selector is meant for. */
interface SelectorPlace {
  readonly virtualCluster: string
  readonly namespace: string
}

/**
 * A selector on the host: with translated keys, and of objects of this virtual namespace only. It is a map of labels
 * or a LabelSelector; an empty map stays empty, as it selects nothing of a Service, and other values stay as they are.
 */
export function hostSelector(selector: Json, place: SelectorPlace): Json {
  if (!isMap(selector) || Object.keys(selector).length === 0) return selector
  const isLabelSelector = ['matchLabels', 'matchExpressions'].some((name) =>
    Object.hasOwn(selector, name),
  )
  if (!isLabelSelector) return hostLabels(selector, place)
  const labels = ownValue(selector, 'matchLabels')
  const expressions = ownValue(selector, 'matchExpressions')
  return mapFromEntries([
    ...Object.entries(selector).filter(([name]) => !name.startsWith('match')),
    ['matchLabels', hostLabels(isMap(labels ?? null) ? (labels as JsonMap) : {}, place)],
    [
      'matchExpressions',
      isList(expressions) ? expressions.map((one) => hostRequirement(one, place)) : expressions,
    ],
  ])
}

const hostLabels = (labels: JsonMap, { virtualCluster, namespace }: SelectorPlace): JsonMap => ({
  ...mapFromEntries(
    Object.entries(labels).map(
      ([key, value]) => [hostLabelKey(key, virtualCluster), value] as const,
    ),
  ),
  [MARK_LABELS.managedBy]: virtualCluster,
  [MARK_LABELS.namespace]: namespace,
})

function hostRequirement(requirement: Json, { virtualCluster }: SelectorPlace): Json {
  if (!isMap(requirement)) return requirement
  const key = ownValue(requirement, 'key')
  return typeof key === 'string'
    ? { ...requirement, key: hostLabelKey(key, virtualCluster) }
    : requirement
}
