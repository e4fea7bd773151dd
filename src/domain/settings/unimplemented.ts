import type { ConfigSettings } from '../../api/config.gen.ts'
import type { DesiredCondition } from '../conditions.ts'
import { type FieldPath, pathText } from '../json/field-path.ts'
import { isMap } from '../json/json.ts'

/**
 * Condition `PartsNotServed` with the path of every setting that is switched on although nothing in this product acts
 * on it (contract 6.7); empty without such settings.
 *
 * @param settings the settings in force
 */
export function unimplementedConditions(settings: ConfigSettings): readonly DesiredCondition[] {
  const paths = [
    ...GROUPS_WITH_SWITCH.filter((name) => settings[name]?.enabled === true).map((name) => [
      name,
      'enabled',
    ]),
    ...GROUPS_WITHOUT_SWITCH.flatMap((name) => effectiveSettingsIn(name, settings[name])),
    ...(settings.devPodSubDomain === undefined ? [] : [['devPodSubDomain']]),
  ]
  if (paths.length === 0) return []
  const message = `${MESSAGE_PREFIX}${paths.map(pathText).join(', ')}.`
  return [{ type: 'PartsNotServed', status: 'True', reason: 'NotBuilt', message }]
}

const MESSAGE_PREFIX = 'Nothing in this product acts on these settings: '

/** Groups of settings with a switch: they count only when `enabled` is true. */
const GROUPS_WITH_SWITCH = ['costControl', 'imageBuilder', 'database'] as const

/** Groups of settings without a switch: each of their settings counts by itself. */
const GROUPS_WITHOUT_SWITCH = ['apps', 'cloud', 'platformDB', 'uiSettings'] as const

/** Fields of GROUPS_WITHOUT_SWITCH that the operator sets itself, or that the sign-in pages show. */
const SERVED_FIELDS: readonly string[] = [
  'uiSettings.accentColor',
  'uiSettings.legalTemplate',
  'uiSettings.logoURL',
  'uiSettings.platformVersion',
  'uiSettings.primaryColor',
]

/** The paths of a group's settings with an effect, sorted: the message changes only with the settings. */
const effectiveSettingsIn = (name: string, group: object = {}): readonly FieldPath[] =>
  Object.entries(group)
    .filter(([field, value]) => hasEffect(value) && !SERVED_FIELDS.includes(`${name}.${field}`))
    .map(([field]) => [name, field])
    .toSorted(([, a = ''], [, b = '']) => (a < b ? -1 : 1))

/** Whether a setting has an effect: empty lists, empty objects and false have none. */
function hasEffect(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (isMap(value)) return Object.keys(value).length > 0
  return value !== undefined && value !== false
}
