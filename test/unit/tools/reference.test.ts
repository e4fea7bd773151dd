import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Schema } from '../../../tools/generate/crd.ts'
import { referencePages } from '../../../tools/generate/reference.ts'

const CRDS = join(import.meta.dirname, '../../../crds')
const pages = referencePages()
const all = [...pages.values()].join('\n')
/** Without Markdown escapes. */
const bare = all
  .replaceAll(/\\([*|[\]])/g, '$1')
  .replaceAll('&lt;', '<')
  .replaceAll('&gt;', '>')

/** Names of all fields and all messages of a schema, at any depth. */
function textsIn(schema: Schema): readonly string[] {
  const { properties = {}, items, additionalProperties } = schema
  const inner = [...Object.values(properties), items, additionalProperties]
  return [
    ...Object.keys(properties).map((name) => `.${name}\` |`),
    ...(schema['x-kubernetes-validations'] ?? []).map(({ message }) => message),
    ...inner.flatMap((each) => (each ? textsIn(each) : [])),
  ]
}

describe('the generated reference', () => {
  test.each([
    'ownedaccesskeys',
    'directclusterendpointtokens',
    'configs',
    'users',
    'teams',
    'accesskeyclaims',
  ])('has every field and every message of %s (1.2, 1.4)', (plural) => {
    const { versions } = parse(readFileSync(join(CRDS, `${plural}.yaml`), 'utf8')).spec
    const { spec, status } = versions[0].schema.openAPIV3Schema.properties
    const texts = new Set([...textsIn(spec), ...textsIn(status)])
    expect(texts.size).toBeGreaterThan(15)
    expect([...texts].filter((text) => !bare.includes(text))).toEqual([])
  })

  test.each([
    { page: 'ownedaccesskey.md', has: '| `spec.ttl` | integer | 0 to 2147483647 |' },
    { page: 'ownedaccesskey.md', has: '| `spec.groups` | list of strings | at most 128 entries,' },
    { page: 'ownedaccesskey.md', has: '| `status.lastActivity` | time |  |' },
    { page: 'ownedaccesskey.md', has: '[Its fields](scope.md#specscope).' },
    { page: 'ownedaccesskey.md', has: '- `spec.key`: key is immutable once it is set' },
    { page: 'scope.md', has: '## `spec.scope.rules[].resources[]`' },
    { page: 'config.md', has: '| map of strings |' },
    { page: 'config.md', has: 'https://&lt;platformHost&gt;/oidc' },
    { page: 'config.md', has: '[Its fields](#specauth).' },
  ])('$page: $has', ({ page, has }) => {
    expect(pages.get(page)).toContain(has)
  })

  test('describes a type that is used twice once', () => {
    const headings = [...all.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
    expect(headings.filter((heading) => heading?.includes('status.auth'))).toEqual([])
  })
})
