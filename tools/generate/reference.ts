// docs/reference/*.md from crds/*.yaml: every field of every kind with its type, bounds and meaning, and the message
// of every rule.
import { join } from 'node:path'
import { type Kind, readKind, type Schema } from './crd.ts'

/** A schema to describe, and its path, such as `spec.scope`. */
interface Place {
  readonly path: string
  readonly schema: Schema
}

const CRDS = join(import.meta.dirname, '../../crds')

/** The scope is the same in three kinds and has a page of its own. */
const SCOPE = 'Scope'

/** The pages: file name in docs/reference -> text. */
export function referencePages(): ReadonlyMap<string, string> {
  const [accessKey, token, config, user, team, claim] = [
    'ownedaccesskeys',
    'directclusterendpointtokens',
    'configs',
    'users',
    'teams',
    'accesskeyclaims',
  ].map((plural) => readKind(join(CRDS, `${plural}.yaml`))) as [Kind, Kind, Kind, Kind, Kind, Kind]
  const scope = accessKey.spec.properties?.['scope'] ?? {}
  return new Map([
    ['ownedaccesskey.md', kindPage(accessKey)],
    ['directclusterendpointtoken.md', kindPage(token)],
    ['config.md', kindPage(config)],
    ['user.md', kindPage(user, 'people.md')],
    ['team.md', kindPage(team, 'people.md')],
    ['accesskeyclaim.md', kindPage(claim, 'claims.md')],
    ['scope.md', scopePage(scope)],
  ])
}

/** @param guidePage the page that says what the kind is for */
function kindPage(
  { kind, description, spec, status }: Kind,
  guidePage = `${kind.toLowerCase()}.md`,
): string {
  const guide = `[${kind}](../${guidePage})`
  const places = [
    { path: 'spec', schema: spec },
    { path: 'status', schema: status },
  ]
  return page(`Fields of ${kind}`, description, guide, places)
}

const scopePage = (scope: Schema): string =>
  page(
    'Fields of scope',
    'The fields of spec.scope of OwnedAccessKey and DirectClusterEndpointToken, and of spec.key.scope and spec.token.scope of AccessKeyClaim.',
    '[Scopes](../scopes.md)',
    [{ path: 'spec.scope', schema: scope }],
  )

function page(title: string, about: string, guide: string, roots: readonly Place[]): string {
  const homes = new Map<Schema, string>()
  const isScopePage = roots.some(({ schema }) => schema.title === SCOPE)
  const places = roots.flatMap((root) => collected(root, homes, isScopePage))
  const link = linkTo(homes)
  return `<!-- Written by \`make generate\` from crds/: do not edit. -->
# ${title}

${prose(about)} ${guide} explains how it works.

${places.map((place) => section(place, link)).join('\n')}`
}

/** The objects in order, each once: one at two places is described at the first. */
function collected(
  { path, schema }: Place,
  homes: Map<Schema, string>,
  entersScope: boolean,
): readonly Place[] {
  if (homes.has(schema) || (schema.title === SCOPE && !entersScope)) return []
  homes.set(schema, path)
  const children = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const child = objectIn({ path: `${path}.${name}`, schema: field })
    return child ? collected(child, homes, entersScope) : []
  })
  return [{ path, schema }, ...children]
}

/** The object in a field or in the entries of its list; null when it has no fields. */
function objectIn({ path, schema }: Place): Place | null {
  if (schema.items) return objectIn({ path: `${path}[]`, schema: schema.items })
  return schema.properties ? { path, schema } : null
}

type LinkTo = (place: Place) => string

/** A link to the description of the object in a field; empty when there is none. */
const linkTo =
  (homes: ReadonlyMap<Schema, string>): LinkTo =>
  (place) => {
    const object = objectIn(place)
    if (!object) return ''
    const home = homes.get(object.schema)
    if (home !== undefined) return ` [Its fields](#${slug(home)}).`
    return ' [Its fields](scope.md#specscope).'
  }

/** The anchor that GitHub gives to a heading that is a path. */
const slug = (path: string): string => path.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '')

function section({ path, schema }: Place, link: LinkTo): string {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    path: `${path}.${name}`,
    schema: field,
  }))
  const rows = fields.map((field) => row(field, new Set(schema.required), link))
  const rules = [...rulesOf({ path, schema }), ...fields.flatMap(fieldRules)]
  return `## \`${path}\`

${prose(schema.description ?? '')}

| field | type | bounds | meaning |
|---|---|---|---|
${rows.join('\n')}
${rules.length === 0 ? '' : `\nThe API server refuses these with 422, and names the field:\n\n${rules.join('\n')}\n`}`
}

function row(place: Place, required: ReadonlySet<string>, link: LinkTo): string {
  const { path, schema } = place
  const name = path.slice(path.lastIndexOf('.') + 1)
  const bounds = [required.has(name) ? 'required' : '', ...boundsOf(schema)].filter(Boolean)
  const meaning = `${prose(schema.description ?? '')}${link(place)}`
  return `| \`${path}\` | ${typeOf(schema)} | ${bounds.join(', ')} | ${meaning} |`
}

function typeOf(schema: Schema): string {
  if (schema['x-kubernetes-int-or-string']) return 'integer or string'
  if (schema.items) return `list of ${plural(typeOf(schema.items))}`
  if (schema.additionalProperties) return `map of ${plural(typeOf(schema.additionalProperties))}`
  if (schema.format === 'date-time') return 'time'
  return schema.type ?? 'any'
}

const plural = (type: string): string => type.replace(/^\w+/, '$&s')

function boundsOf(schema: Schema): readonly string[] {
  const { minimum, maximum, minLength, maxLength, maxItems, enum: words, items } = schema
  const own = [
    range(minimum, maximum),
    range(minLength, maxLength, ' characters'),
    maxItems === undefined ? '' : `at most ${maxItems} entries`,
    words ? `one of ${words.map((word) => `\`"${word}"\``).join(', ')}` : '',
  ]
  const ofEntries = items ? boundsOf(items).map((bound) => `each ${bound}`) : []
  return [...own, ...ofEntries].filter(Boolean)
}

function range(least: number | undefined, most: number | undefined, unit = ''): string {
  if (least === undefined) return most === undefined ? '' : `at most ${most}${unit}`
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`
}

/** Rules of a field and of the entries of its list or map; an object with fields has its own section. */
function fieldRules(place: Place): readonly string[] {
  if (objectIn(place)?.schema === place.schema) return []
  const { path, schema } = place
  const entry = schema.items ?? schema.additionalProperties
  const entries = entry ? fieldRules({ path: `${path}[]`, schema: entry }) : []
  return [...rulesOf(place), ...entries]
}

const rulesOf = ({ path, schema }: Place): readonly string[] =>
  (schema['x-kubernetes-validations'] ?? []).map(
    ({ message, fieldPath = '' }) => `- \`${path}${fieldPath}\`: ${prose(message)}`,
  )

/** Plain text that stays plain in Markdown, also in a cell of a table. */
const prose = (text: string): string =>
  text
    .replaceAll(/[\\*|[\]]/g, '\\$&')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
