// What must hold for a chart, as functions that return each fault: the charts have none, planted faults are found.
import { isDeepStrictEqual } from 'node:util'
import { resolved, type ValuesSchema } from './chart-wrong-values.ts'
import { type Manifest, titleOf } from './installer.ts'

/** The labels and the annotation that only Helm's objects have. */
const OF_HELM = ['app.kubernetes.io/managed-by', 'helm.sh/chart', 'helm.sh/resource-policy']

/** Components lack the version that every object of a release has in a chart. */
const VERSION = 'app.kubernetes.io/version'

/** Kinds in no namespace of which kustomize does not know that: it writes the one of an overlay into them. */
const IN_NO_NAMESPACE = [
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'FlowSchema',
]

/**
 * Where the objects of a chart differ from those that kustomize builds, such as `Deployment gateway/spec/replicas: 3, not 2`.
 * Labels of Helm do not count, nor do versions.
 */
export function differences(
  built: readonly Manifest[],
  rendered: readonly Manifest[],
): readonly string[] {
  const [expected, found] = [byTitle(built), byTitle(rendered)]
  const titles = [...new Set([...expected.keys(), ...found.keys()])].toSorted()
  return titles.flatMap((title) => differencesAt(title, expected.get(title), found.get(title)))
}

function differencesAt(path: string, expected: unknown, found: unknown): readonly string[] {
  if (isDeepStrictEqual(expected, found)) return []
  if (!isMap(expected) || !isMap(found)) return [`${path}: ${shown(found)}, not ${shown(expected)}`]
  const names = new Set([...Object.keys(expected), ...Object.keys(found)])
  return [...names].flatMap((name) => differencesAt(`${path}/${name}`, expected[name], found[name]))
}

const shown = (value: unknown): string =>
  value === undefined ? 'absent' : isMap(value) && 'kind' in value ? 'there' : JSON.stringify(value)

/** Lists count as maps of their entries, by index. */
const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const byTitle = (objects: readonly Manifest[]): ReadonlyMap<string, unknown> =>
  new Map(objects.map((one) => [titleOf(one), comparable(one)]))

/** An object without what only Helm writes. */
function comparable(one: Manifest): unknown {
  const { labels, annotations, namespace, ...metadata } = one.metadata
  const plain = {
    ...metadata,
    ...(IN_NO_NAMESPACE.includes(one.kind) ? {} : { namespace }),
    labels: without(labels),
    annotations: without(annotations),
  }
  const text = JSON.stringify({ ...one, metadata: plain })
  return JSON.parse(text, (_, value: unknown) => withoutVersion(value))
}

function without(map: Readonly<Record<string, string>> = {}): object | undefined {
  const left = Object.entries(map).filter(([name]) => !OF_HELM.includes(name))
  return left.length === 0 ? undefined : Object.fromEntries(left)
}

function withoutVersion(value: unknown): unknown {
  if (!isMap(value) || !(VERSION in value)) return value
  const { [VERSION]: _, ...rest } = value
  return rest
}

/** Names of kinds that an uninstall, a rollback or a typo would delete, and all their objects with them. */
export const unkeptKinds = (objects: readonly Manifest[]): readonly string[] =>
  objects
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
    .filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] !== 'keep')
    .map(({ metadata }) => metadata.name)

/** Paths of values whose schema lets any key or any value in, such as `/gateway/annotations/*`; `*` = each entry. */
export const openLevels = (schema: ValuesSchema): readonly string[] =>
  openAt(schema, '', schema.$defs ?? {})

function openAt(
  schema: ValuesSchema,
  path: string,
  definitions: Readonly<Record<string, ValuesSchema>>,
): readonly string[] {
  const {
    type,
    properties = {},
    items,
    additionalProperties,
    ...rest
  } = resolved(schema, definitions)
  const below = Object.entries(properties).map(([name, one]): [string, ValuesSchema] => [name, one])
  if (items) below.push(['*', items])
  if (typeof additionalProperties === 'object') below.push(['*', additionalProperties])
  const isOpen =
    type === undefined
      ? !('anyOf' in rest)
      : (type === 'object' && (additionalProperties ?? true) === true) ||
        (type === 'array' && !items)
  return [
    ...(isOpen ? [path] : []),
    ...below.flatMap(([name, one]) => openAt(one, `${path}/${name}`, definitions)),
  ]
}
