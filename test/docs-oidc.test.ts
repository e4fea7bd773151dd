// The page of OpenID Connect providers lists every field and reason.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SIGN_IN_REFUSALS } from '../src/domain/signin/refusals.ts'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The first cells of the table under a heading, each name of a cell for itself. */
function namesUnder(page: string, heading: string): readonly string[] {
  const [, section = ''] = textOf(page).split(`\n## ${heading}\n`)
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| (`[^|]+`) \|/gm)
  return Array.from(rows, ([, cell = '']) => cell.match(/\w+/g) ?? []).flat()
}

test('docs/sign-in/oidc.md has every field of the provider (25.6, 27.3)', () => {
  const [, fields = ''] =
    /interface OidcProvider \{\n([^}]*)\}/.exec(textOf('src/api/config.gen.ts')) ?? []
  const names = Array.from(fields.matchAll(/readonly (\w+)\?/g), ([, name = '']) => name)
  expect(names).toHaveLength(20)
  expect(namesUnder('docs/sign-in/oidc.md', 'Every field').toSorted()).toEqual(names.toSorted())
})

test('docs/sign-in/oidc.md has every reason of a refusal by such a provider (25.5, 27.3)', () => {
  const others = ['wrong_password', 'code_refused', 'domain_refused', 'cross_origin']
  const reasons = Object.keys(SIGN_IN_REFUSALS).filter((reason) => !others.includes(reason))
  expect(namesUnder('docs/sign-in/oidc.md', 'Refusals').toSorted()).toEqual(reasons.toSorted())
})
