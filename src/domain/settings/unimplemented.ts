import type { AuthSettings, ConfigSettings } from '../../api/config.gen.ts'
import type { DesiredCondition } from '../conditions.ts'
import { type FieldPath, pathText } from '../json/field-path.ts'
import { indexedMaps, isMap } from '../json/json.ts'
import { configuredProviders } from './validation/auth.ts'
import { CONDITION_MESSAGE_LIMIT } from './validation/faults.ts'

/**
 * The condition for settings that are on although nothing in this product acts on them (contract 6.7), with the path
 * of each; none without such settings. The settings are those in force.
 */
export function unimplementedConditions(settings: ConfigSettings): readonly DesiredCondition[] {
  const paths = [
    ...signInPaths(settings.auth ?? {}),
    ...SWITCHED.filter((name) => settings[name]?.enabled === true).map((name) => [name, 'enabled']),
    ...DECLARED.flatMap((name) => declaredIn(name, settings[name])),
    ...(settings.devPodSubDomain === undefined ? [] : [['devPodSubDomain']]),
  ]
  if (paths.length === 0) return []
  const message = `${HEAD}${listed(paths.map(pathText))}.`
  return [{ type: 'PartsNotServed', status: 'True', reason: 'NotBuilt', message }]
}

const HEAD = 'Nothing in this product acts on these settings: '

/** Groups that count only when `enabled` is true: their other fields are details. */
const SWITCHED = [
  'audit',
  'oidc',
  'secretStore',
  'costControl',
  'imageBuilder',
  'database',
] as const

/** Groups without a switch: each of their settings counts by itself. */
const DECLARED = ['apps', 'cloud', 'platformDB', 'uiSettings'] as const

// Settings that only narrow sign-in, such as groupsFilters, are honoured as long as there is no sign-in.
const signInPaths = (auth: AuthSettings): readonly FieldPath[] => [
  ...configuredProviders(auth).map((name) => ['auth', name]),
  ...indexedMaps(auth.connectors).flatMap(([at, connector]) =>
    configuredProviders(connector).map((name) => ['auth', 'connectors', at, name]),
  ),
  ...(hasEffect(auth.customHttpHeaders) ? [['auth', 'customHttpHeaders']] : []),
]

/** Sorted, so that the message changes only with the settings. */
const declaredIn = (name: string, group: object = {}): readonly FieldPath[] =>
  Object.entries(group)
    .filter(([, value]) => hasEffect(value))
    .map(([field]) => [name, field])
    .toSorted(([, a = ''], [, b = '']) => (a < b ? -1 : 1))

/** Whether a setting has a value: empty lists and objects and false have none. */
function hasEffect(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (isMap(value)) return Object.keys(value).length > 0
  return value !== undefined && value !== false
}

/** Leaves room for the words around the paths, and for the number of further ones. */
const ROOM = CONDITION_MESSAGE_LIMIT - 128

function listed(paths: readonly string[]): string {
  let used = 0
  const cut = paths.findIndex((path) => {
    used += path.length + ', '.length
    return used > ROOM
  })
  if (cut === -1) return paths.join(', ')
  return `${paths.slice(0, cut).join(', ')} and ${paths.length - cut} more`
}
