// A release changes the version in every place at once, as docs/releasing.md says.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const { version } = JSON.parse(textOf('package.json'))

const PLACES = globSync('{config,docs}/**/*.{yaml,md}', { cwd: ROOT }).filter(
  (path) => path !== 'docs/releasing.md',
)

test('manifests and pages name the version of the package, and no other', () => {
  const named = PLACES.flatMap((path) => {
    const found = textOf(path).matchAll(/(?:newTag: |\/version: |management-operator:)(\d[\w.]*)/g)
    return Array.from(found, ([, tag]) => ({ path, tag }))
  })
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter(({ tag }) => tag !== version)).toEqual([])
})

test('the command of docs/releasing.md changes every file with the version', () => {
  const [, patterns = ''] = /^ *sed -i "[^"]*" (.*)$/m.exec(textOf('docs/releasing.md')) ?? []
  const changed = globSync(patterns.split(' '), { cwd: ROOT })
  const having = PLACES.filter((path) => textOf(path).includes(version))
  expect(having.length).toBeGreaterThan(3)
  expect(having.filter((path) => !changed.includes(path))).toEqual([])
})

test('CHANGELOG.md begins with what is not released, in 45 lines until the first release', () => {
  const [, ...parts] = textOf('CHANGELOG.md').split('\n## ')
  expect(parts[0]).toMatch(/^Unreleased\n/)
  const most = parts.length === 1 ? 45 : Number.POSITIVE_INFINITY
  expect(parts[0]?.trim().split('\n').length).toBeLessThanOrEqual(most)
})

test('docs/helm.md installs by each way in at most 25 lines, with upgrade, way back and end', () => {
  const [, ...sections] = textOf('docs/helm.md').split(/^## /m)
  const ways = sections.filter((text) => /^(?:Helm|kubectl|kustomize|Argo CD|Flux)\n/.test(text))
  expect(ways).toHaveLength(5)
  for (const way of ways) {
    expect(way.trimEnd().split('\n').length).toBeLessThanOrEqual(25)
    expect(way).toMatch(/Upgrade: .*Roll back: .*Uninstall: /s)
  }
})
