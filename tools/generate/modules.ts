// The text of each generated module, before formatting.

import type { Kind, Schema } from './crd.ts'
import { docstring } from './docstring.ts'
import { collectInterfaces, refersTo, renderInterface } from './interfaces.ts'
import { plainSchema } from './settings.ts'

/** Types that other modules declare: titles of schemas that are not entered here. */
const DECLARED_ELSEWHERE = ['Condition', 'Scope', 'ProviderGroup']

/** The modules of the types that several kinds have, by title. */
const SHARED = { Scope: 'scope', ProviderGroup: 'provider-group' }

/** A kind's type and the interfaces of its spec and status. */
export function renderKind({ kind, description, spec, status }: Kind): string {
  const interfaces = collectInterfaces([spec, status], DECLARED_ELSEWHERE)
  const meta = refersTo(interfaces, 'Condition') ? 'Condition, KubeObject' : 'KubeObject'
  const imports = [
    `import type { ${meta} } from './objects.ts'`,
    ...Object.entries(SHARED)
      .filter(([title]) => refersTo(interfaces, title))
      .map(([title, module]) => `import type { ${title} } from './${module}.gen.ts'`),
  ]
  const declarations = [...interfaces.values()].map((schema) =>
    renderInterface(schema, baseOf(schema, { spec, status })),
  )
  return `${imports.join('\n')}

${docstring(description)}
export type ${kind} = KubeObject<${spec.title}, ${status.title}>

${declarations.join('\n')}`
}

/**
 * The scope, which two kinds carry, and what it consists of.
 *
 * Throws unless the kinds' scopes are equal: a name has one schema.
 */
export function renderScope(kinds: readonly Kind[]): string {
  const scopes = kinds.map(({ spec }) => spec.properties?.['scope'] ?? {})
  return [...collectInterfaces(scopes, []).values()].map((it) => renderInterface(it)).join('\n')
}

/**
 * A group at a sign-in provider, which the status of a User and the spec of a Team have.
 *
 * Throws unless they are equal: a name has one schema.
 */
export function renderProviderGroup(user: Kind, team: Kind): string {
  const groups = [user.status, team.spec].map(({ properties }) => properties?.['groups'] ?? {})
  return [...collectInterfaces(groups, []).values()].map((it) => renderInterface(it)).join('\n')
}

/** The schema of the settings that spec and status of Config share. */
export function renderSettingsSchema({ spec }: Kind): string {
  return `/** A plain JSON schema without bounds. Unknown fields pass: the validator reports them itself. */
export interface SettingsSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  readonly properties?: Readonly<Record<string, SettingsSchema>>
  readonly additionalProperties?: SettingsSchema
  readonly items?: SettingsSchema
  readonly anyOf?: readonly SettingsSchema[]
}

/** What spec, status and Secret of a Config share: types only (contract 6.2, 6.5). */
export const configSettingsSchema: SettingsSchema = ${JSON.stringify(plainSchema(spec))}
`
}

/** Where status repeats every field of spec, it inherits them. */
function baseOf(schema: Schema, { spec, status }: Pick<Kind, 'spec' | 'status'>) {
  const repeats = Object.entries(spec.properties ?? {}).every(
    ([name, field]) => status.properties?.[name] === field,
  )
  return schema === status && repeats ? spec : undefined
}
