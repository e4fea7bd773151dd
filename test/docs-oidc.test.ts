// The pages of providers list every field and reason.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SIGN_IN_REFUSALS } from '../src/domain/signin/refusals.ts'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The first cells of the table under a heading, each name of a cell for itself. */
function namesUnder(page: string, heading: string): readonly string[] {
  const [, section = ''] = textOf(page).split(`\n## ${heading}\n`)
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| (`[^|]+`) \|/gm)
  return Array.from(rows, ([, cell = '']) => cell.match(/\w+/g) ?? []).flat()
}

const OF_NONE = ['wrong_password', 'code_refused', 'cross_origin']

describe.each([
  { page: 'oidc.md', type: 'OidcProvider', fields: 20, others: ['domain_refused'] },
  { page: 'source-host-a.md', type: 'SourceHostAProvider', fields: 6, others: ['domain_refused'] },
  { page: 'source-host-b.md', type: 'SourceHostBProvider', fields: 5, others: ['domain_refused'] },
  { page: 'idp-a.md', type: 'IdpAProvider', fields: 8, others: [] },
  { page: 'idp-b.md', type: 'IdpBProvider', fields: 7, others: [] },
])('docs/sign-in/$page', ({ page, type, fields, others }) => {
  const path = `docs/sign-in/${page}`

  test('has every field of the provider (25.6, 27.3)', () => {
    const pattern = new RegExp(`interface ${type} \\{\n([^}]*)\\}`)
    const [, text = ''] = pattern.exec(textOf('src/api/config.gen.ts')) ?? []
    const names = Array.from(text.matchAll(/readonly (\w+)\?/g), ([, name = '']) => name)
    expect(names).toHaveLength(fields)
    expect(namesUnder(path, 'Every field').toSorted()).toEqual(names.toSorted())
  })

  test('has every reason of a refusal by such a provider (25.5, 27.3)', () => {
    const reasons = Object.keys(SIGN_IN_REFUSALS).filter(
      (reason) => ![...OF_NONE, ...others].includes(reason),
    )
    expect(namesUnder(path, 'Refusals').toSorted()).toEqual(reasons.toSorted())
  })
})

test('docs/sign-in/connectors.md has every field of a connector (25.2, 27.3)', () => {
  const [, own = ''] =
    /interface Connector \{\n([^}]*)\}/.exec(textOf('src/api/config.gen.ts')) ?? []
  const names = Array.from(own.matchAll(/readonly (\w+)\?/g), ([, name = '']) => name)
  expect(namesUnder('docs/sign-in/connectors.md', 'Every field').toSorted()).toEqual(
    names.toSorted(),
  )
})
