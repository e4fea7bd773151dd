// Canaries in the values of a chart: each is refused, or stands in an object where no secret is looked for. Pure.
import { type Manifest, titleOf } from './installer.ts'
import { resolved, type ValuesSchema } from './chart-wrong-values.ts'

/** A string among the values of a chart. */
export interface Leaf {
  /** Its path; `*` = an entry of a list or a map. */
  readonly at: string
  /** Whether it is a setting that is a secret, which may only be referred to. */
  readonly isSecret: boolean
  /** Values with this canary in it, and what it has become: patterns may ask for more than a word. */
  readonly planted: (canary: string) => { readonly values: object; readonly text: string }
}

type Place = (value: unknown) => unknown
type Definitions = Readonly<Record<string, ValuesSchema>>

/** Every string that the schema lets in. Words of a list and values of Helm itself are none. */
export const leavesOf = (schema: ValuesSchema): readonly Leaf[] =>
  leavesAt(schema, { at: '', place: (value) => value, definitions: schema.$defs ?? {} }).filter(
    ({ at }) => !at.startsWith('/global/') && !at.startsWith('/extraObjects/'),
  )

interface Spot {
  readonly at: string
  readonly place: Place
  readonly definitions: Definitions
}

function leavesAt(unresolved: ValuesSchema, spot: Spot): readonly Leaf[] {
  const schema = resolved(unresolved, spot.definitions)
  const { type, items, properties, additionalProperties } = schema
  const below = (name: string, one: ValuesSchema, place: Place): readonly Leaf[] =>
    leavesAt(one, { ...spot, at: `${spot.at}/${name}`, place: (value) => spot.place(place(value)) })
  if (schema.enum) return []
  if (items) return below('*', items, (value) => [value])
  if (typeof additionalProperties === 'object')
    return below('*', additionalProperties, (value) => ({ key: value }))
  if (properties)
    return Object.entries(properties).flatMap(([name, one]) =>
      below(name, one, (value) => ({ [name]: value })),
    )
  if (type === 'object') return below('*', { type: 'string' }, (value) => ({ key: value }))
  return type === 'string' || schema.anyOf ? [leafOf(schema, spot)] : []
}

const leafOf = (schema: ValuesSchema, { at, place }: Spot): Leaf => ({
  at,
  isSecret: schema.not?.not !== undefined,
  planted: (canary) => {
    const text = matching(schema.pattern ?? '', canary)
    return { values: place(text) as object, text }
  },
})

/** The canary, in 64 lower-case hex digits, as the patterns of the schemas want it. */
function matching(pattern: string, canary: string): string {
  if (pattern.includes('sha256:')) return `sha256:${canary}`
  if (pattern.includes('https://')) return `https://${canary}.example.com`
  if (pattern.includes('/[0-9]')) return `${canary}/8`
  if (pattern.includes('[KMGTPE]i')) return `${BigInt(`0x${canary}`)}Gi`
  if (pattern.includes('--')) return `--a=${canary}`
  return pattern.includes('{0,61}') ? canary.slice(0, 60) : canary
}

/** Where the objects have the text, plain or in base64, such as `Deployment gateway/spec/replicas`. */
export const placesOf = (objects: readonly Manifest[], text: string): readonly string[] =>
  objects.flatMap((one) => placesIn(one, text, titleOf(one)))

function placesIn(value: unknown, text: string, at: string): readonly string[] {
  const forms = [text, Buffer.from(text).toString('base64').slice(0, -4)]
  if (typeof value === 'string') return forms.some((form) => value.includes(form)) ? [at] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => placesIn(one, text, `${at}/${name}`))
}

/** Places from which programs read secrets, or where nobody expects one: those of the list that are such. */
export const secretPlaces = (places: readonly string[]): readonly string[] =>
  places.filter(
    (at) =>
      /^(Secret|ConfigMap) [^/]+\/(data|stringData|binaryData)\//.test(at) || /\/env\//.test(at),
  )

/** Secrets of the objects that hold something. */
export const filledSecrets = (objects: readonly Manifest[]): readonly string[] =>
  objects
    .filter(({ kind, data, stringData }) => kind === 'Secret' && (data ?? stringData) !== undefined)
    .map(titleOf)
