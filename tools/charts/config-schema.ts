// The value `config` of the chart: Config.spec as a closed JSON schema, in which no field may hold a secret.
import { type SettingsSchema, configSettingsSchema } from '../../src/api/config.schema.gen.ts'
import {
  type FieldRule,
  PLAIN,
  SECRET,
  SECRET_NAMES,
  SETTING_RULES,
  type SettingRule,
} from '../../src/domain/settings/field-rules.ts'

/** A JSON schema, as an object of JSON. */
export type JsonSchema = Readonly<Record<string, unknown>>

const REFERENCE = String.raw`^(\$PLATFORM_CONFIG_[A-Z0-9_]+)?$`
/** The user information of a URL. */
const WITH_USER_INFO = '://[^/?#]*@'

/** The schema of the value `config`. */
export const configSchema = (): JsonSchema => ({
  description:
    'The spec of Config `platform-manager-config`. Secrets are in the Secret of that name, or in variables of the manager. Empty: the chart has no Config.',
  ...closed(configSettingsSchema, SETTING_RULES, 'config'),
})

function closed(schema: SettingsSchema, rule: SettingRule | undefined, name: string): JsonSchema {
  const { properties, additionalProperties, items, type, anyOf } = schema
  if (properties)
    return {
      type,
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(properties).map(([key, one]) => [key, closed(one, ruleOf(rule, key), key)]),
      ),
    }
  if (additionalProperties)
    return { type, additionalProperties: closed(additionalProperties, ruleOf(rule, name), name) }
  if (items)
    return { type, items: closed(items, rule?.kind === 'list' ? rule.entry : undefined, name) }
  if (type !== 'string') return { ...(type && { type }), ...(anyOf && { anyOf }) }
  return { type, ...withoutSecret(fieldRule(rule, name)) }
}

function ruleOf(rule: SettingRule | undefined, name: string): SettingRule | undefined {
  if (rule?.kind === 'group') return rule.fields.get(name)
  return rule?.kind === 'map' ? rule.entry : undefined
}

const fieldRule = (rule: SettingRule | undefined, name: string): FieldRule =>
  rule?.kind === 'field' ? rule : SECRET_NAMES.has(name) ? SECRET : PLAIN

// Helm's message about a pattern quotes the value, which may be the secret; that about `not` does not.
const withoutSecret = ({ secrecy }: FieldRule): JsonSchema =>
  secrecy === 'whole' || secrecy === 'dsn'
    ? { not: { not: { pattern: REFERENCE } } }
    : { not: { pattern: WITH_USER_INFO } }
