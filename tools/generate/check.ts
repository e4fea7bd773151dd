// A schema as code that checks values: the program runs where no code may be made from text.

import { Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'

/** How a module of ajv begins: the name under which it is exported, and the schema, which the code never looks at. */
const BEGINNING = /^"use strict";export const \w+ = (\w+);const (schema\d+) = \{.*?\};(?=function )/

/**
 * The module that checks the settings of a Config. A schema with a keyword that ajv does not know is refused rather
 * than read loosely.
 *
 * @param schema types only, as `plainSchema` leaves them: formats, lengths and patterns need more than the module has
 * @throws Error when the schema itself is wrong, or has more than types
 */
export function renderSettingsCheck(schema: object): string {
  const ajv = new Ajv({
    // From text and back: drops undefined values, which are no keywords.
    schemas: { settings: JSON.parse(JSON.stringify(schema)) },
    allErrors: true,
    strict: true,
    messages: false,
    code: { source: true, esm: true },
  })
  const code = standalone.default(ajv, { isSettings: 'settings' })
  const [beginning = '', name = '', unused = ''] = BEGINNING.exec(code) ?? []
  const body = code.slice(beginning.length)
  if (beginning === '' || body.includes(unused) || body.includes('require('))
    throw new Error('the check of the settings needs more than its own code')
  return `// @ts-nocheck: ajv writes JavaScript.
/* oxlint-disable */

/** Where a value does not fit the schema, in the words of ajv. */
export interface SettingsError {
  /** The place in the value, a JSON pointer. */
  readonly instancePath: string
  /** The place of the keyword in the schema, such as \`#/properties/auth/type\`. */
  readonly schemaPath: string
  readonly keyword: string
  /** Of keyword \`type\`: the type that would be right. */
  readonly params: Readonly<Record<string, unknown>>
}

/** Every place where a value does not fit the schema of the settings (contract 6.2, 6.5); empty when it fits. */
export function settingsErrors(value: unknown): readonly SettingsError[] {
  return ${name}(value) ? [] : ${name}.errors
}

${body}`
}
