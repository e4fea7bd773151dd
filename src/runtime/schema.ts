import { Ajv, type AnySchemaObject, type ErrorObject } from 'ajv'
import { pathOfPointer, pathText } from '../domain/config/path.ts'
import { parseTimestamp } from '../domain/time.ts'

/** Where a value does not fit its schema, and why; the message never quotes the value. */
export interface SchemaFault {
  /** Such as `auth.connectors[0].id`; empty for the value as a whole. */
  readonly path: string
  readonly message: string
}

/** Every fault of a value; empty when it fits. */
export type SchemaCheck = (value: unknown) => readonly SchemaFault[]

const INT32 = 2 ** 31

/**
 * A check for values from outside. A schema with a keyword or format that is not known here is
 * refused rather than read loosely.
 *
 * @throws Error when the schema itself is wrong
 */
export function compileCheck(schema: object): SchemaCheck {
  const ajv = new Ajv({ allErrors: true, strict: true, verbose: true })
  ajv.addFormat('int32', { type: 'number', validate: isBetween(-INT32, INT32 - 1) })
  ajv.addFormat('int64', { type: 'number', validate: Number.isSafeInteger })
  ajv.addFormat('date-time', (text) => parseTimestamp(text) !== null)
  const validate = ajv.compile(schema as AnySchemaObject)
  return (value) =>
    validate(value) ? [] : (validate.errors ?? []).filter(isOutsideOfChoice).map(faultOf)
}

const isBetween =
  (least: number, most: number) =>
  (value: number): boolean =>
    Number.isInteger(value) && value >= least && value <= most

/** The entry for the anyOf as a whole says what its branches would say one by one. */
const isOutsideOfChoice = ({ schemaPath }: ErrorObject): boolean =>
  !/\/anyOf\/\d+\//.test(schemaPath)

function faultOf(error: ErrorObject): SchemaFault {
  const { instancePath, keyword, params } = error
  const inner = INNER_NAME[keyword]
  const path = pathOfPointer(instancePath)
  return {
    path: pathText(inner === undefined ? path : [...path, String(params[inner])]),
    message: MESSAGES[keyword]?.(error) ?? error.message ?? `breaks ${keyword}`,
  }
}

/** Keywords that complain of a field from the outside, with the parameter that names the field. */
const INNER_NAME: Readonly<Record<string, string>> = {
  additionalProperties: 'additionalProperty',
  required: 'missingProperty',
}

/** Where ajv's own message lacks what would be right. */
const MESSAGES: Readonly<Record<string, (error: ErrorObject) => string>> = {
  additionalProperties: () => 'is unknown',
  required: () => 'is required',
  enum: ({ params }) => `must be one of ${params['allowedValues'].join(', ')}`,
  anyOf: ({ schema }) =>
    `must be ${(schema as AnySchemaObject[]).map(({ type }) => type).join(' or ')}`,
}
