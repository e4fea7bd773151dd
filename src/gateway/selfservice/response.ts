// The shape of an answer that a client asks for: the gateway reads whole JSON objects from the API server,
// whatever it answers with (contract 9.4, 12.4).
import {
  nestedField,
  nestedMap,
  nestedString,
  setNestedField,
} from '../../domain/json/field-path.ts'
import { type Json, type JsonMap, isList, isMap } from '../../domain/json/json.ts'
import { formatYaml } from '../../runtime/yaml.ts'

/** As what an object is told: as it is, as a Table, or by its metadata alone. */
export type Shape =
  | { readonly as: 'object' }
  | { readonly as: 'Table' | 'PartialObjectMetadata'; readonly version: 'v1' | 'v1beta1' }

/** What a client gets. */
export interface Form {
  readonly encoding: 'json' | 'yaml'
  readonly shape: Shape
}

/** What is asked for: one object, a list of them, or events. */
export type Told = 'one' | 'list' | 'watch'

const ENCODINGS: ReadonlyMap<string, Form['encoding']> = new Map([
  ['*/*', 'json'],
  ['application/*', 'json'],
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
])

const OBJECT: Form = { encoding: 'json', shape: { as: 'object' } }

/**
 * The first form of an Accept header, by its weights, that can be had; null when none can. Protobuf and
 * CBOR can't, as for any custom resource.
 */
export function formOf(accept: string | undefined, told: Told): Form | null {
  if (accept === undefined || accept.trim() === '') return OBJECT
  const clauses = accept.split(',').map(clauseOf)
  const ordered = clauses.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight)
  for (const clause of ordered) {
    const form = formIn(clause, told)
    if (form !== null) return form
  }
  return null
}

interface Clause {
  readonly type: string
  readonly weight: number
  readonly parameters: ReadonlyMap<string, string>
}

function clauseOf(text: string): Clause {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim())
  const parameters = new Map(
    rest.map((part) => {
      const [name = '', value = ''] = part.split('=')
      return [name.trim().toLowerCase(), value.trim().replace(/^"(.*)"$/, '$1')]
    }),
  )
  return { type: type.toLowerCase(), weight: Number(parameters.get('q') ?? 1), parameters }
}

function formIn({ type, parameters }: Clause, told: Told): Form | null {
  const encoding = ENCODINGS.get(type)
  const shape = shapeIn(parameters, told)
  // A stream of YAML has no frames.
  const isFramed = told !== 'watch' || encoding === 'json'
  return encoding !== undefined && shape !== null && isFramed ? { encoding, shape } : null
}

function shapeIn(parameters: Clause['parameters'], told: Told): Shape | null {
  const as = parameters.get('as')
  if (as === undefined) return { as: 'object' }
  const version = parameters.get('v')
  if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1'))
    return null
  if (as === 'Table') return { as, version }
  const metadata = told === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata'
  return as === metadata ? { as: 'PartialObjectMetadata', version } : null
}

/** What to ask the API server for: only it makes Tables, and with whole objects in their rows. */
export const acceptOf = ({ shape }: Form): string =>
  shape.as === 'Table'
    ? `application/json;as=Table;v=${shape.version};g=meta.k8s.io`
    : 'application/json'

/** What of the objects a Table shows; the API server's default where the client says nothing. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

/** Reads the parameter; null where it means nothing. */
export function includeObjectOf(value: string | null): IncludeObject | null {
  if (value === null || value === '') return 'Metadata'
  return value === 'None' || value === 'Metadata' || value === 'Object' ? value : null
}

/** An answer with whole objects, or a Status, in the shape that was asked for. */
export function shaped(answer: JsonMap, shape: Shape, include: IncludeObject): JsonMap {
  if (shape.as === 'object' || nestedString(answer, ['kind']) === 'Status') return answer
  if (shape.as === 'Table')
    return setNestedField(answer, ['rows'], rowsOf(answer, shape.version, include))
  const apiVersion = `meta.k8s.io/${shape.version}`
  const items = nestedField(answer, ['items'])
  if (!isList(items)) return metadataOf(answer, shape.version)
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion,
    metadata: nestedMap(answer, ['metadata']),
    items: items.filter(isMap).map((item) => metadataOf(item, shape.version)),
  }
}

const metadataOf = (object: JsonMap, version: string): JsonMap => ({
  kind: 'PartialObjectMetadata',
  apiVersion: `meta.k8s.io/${version}`,
  metadata: nestedMap(object, ['metadata']),
})

function rowsOf(table: JsonMap, version: string, include: IncludeObject): readonly Json[] {
  const rows = nestedField(table, ['rows'])
  return (isList(rows) ? rows : []).filter(isMap).map((row) => {
    const object = nestedMap(row, ['object'])
    if (include === 'Object') return row
    return setNestedField(row, ['object'], include === 'None' ? null : metadataOf(object, version))
  })
}

/** The answer as bytes, with its type. */
export function written(
  answer: JsonMap,
  encoding: Form['encoding'],
): { readonly type: string; readonly body: Buffer } {
  return encoding === 'yaml'
    ? { type: 'application/yaml', body: Buffer.from(formatYaml(answer)) }
    : { type: 'application/json', body: Buffer.from(`${JSON.stringify(answer)}\n`) }
}
