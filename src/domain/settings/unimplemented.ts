import type { AuthSettings, ConfigSettings } from '../../api/config.gen.ts'
import type { DesiredCondition } from '../conditions.ts'
import { type FieldPath, pathText } from '../json/field-path.ts'
import { isMap } from '../json/json.ts'
import { indexedMaps, configuredProviders } from './entries.ts'
import { CONDITION_MESSAGE_LIMIT } from './validation/faults.ts'

/**
 * The condition for what is switched on while nothing in this product acts on it (contract 6.7), with the
 * path of each such setting; none where there is nothing to say. The settings are those in force.
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

/** Groups that do nothing unless `enabled` says so: the rest of them only says how. */
const SWITCHED = [
  'audit',
  'oidc',
  'secretStore',
  'costControl',
  'imageBuilder',
  'database',
] as const

/** Groups without a switch: each of their settings asks for something by itself. */
const DECLARED = ['apps', 'cloud', 'platformDB', 'uiSettings'] as const

// What narrows sign-in, as groupsFilters and password.disabled, holds as long as there is none.
const signInPaths = (auth: AuthSettings): readonly FieldPath[] => [
  ...configuredProviders(auth).map((name) => ['auth', name]),
  ...indexedMaps(auth.connectors).flatMap(([at, connector]) =>
    configuredProviders(connector).map((name) => ['auth', 'connectors', at, name]),
  ),
  ...(saysSomething(auth.customHttpHeaders) ? [['auth', 'customHttpHeaders']] : []),
]

/** In one order, whichever way the settings were written: the message then changes with them alone. */
const declaredIn = (name: string, group: object = {}): readonly FieldPath[] =>
  Object.entries(group)
    .filter(([, value]) => saysSomething(value))
    .map(([field]) => [name, field])
    .toSorted(([, a = ''], [, b = '']) => (a < b ? -1 : 1))

/** Whether a setting asks for anything: an empty list or object asks for nothing. */
function saysSomething(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (isMap(value)) return Object.keys(value).length > 0
  return value !== undefined && value !== false
}

/** Room for the words around the paths, and for how many more there are. */
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
