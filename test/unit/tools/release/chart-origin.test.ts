import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { AGENT, CHARTS, PLATFORM } from '../../../../tools/charts/files.ts'
import { changesOf, withImage, withOrigin } from '../../../../tools/release/chart-origin.ts'

const CRDS = join(CHARTS, '../crds')
const CHANGELOG = `# Changelog

## Unreleased

### Added

- Not yet.

## 1.2.3 - 2026-11-28

### Added

- Keys that end
  by themselves. [Keys](docs/keys.md), [Scopes](docs/scopes.md)

### Security

- A [page](docs/page.md) on leaks.

## 1.2.2 - 2026-10-01

### Fixed

- Old.
`

test('the changes of a version are its entries in one line, without the pages that they end with (34.4)', () => {
  expect(changesOf(CHANGELOG, '1.2.3')).toEqual([
    { kind: 'added', description: 'Keys that end by themselves.' },
    { kind: 'security', description: 'A page on leaks.' },
  ])
})

test.each([{ version: '1.2.4' }, { version: '1.2' }])(
  'version $version without entries has no changes (34.4)',
  ({ version }) => {
    expect(changesOf(CHANGELOG, version)).toEqual([])
  },
)

test('the changelog of this repository has a kind for each of its headings (34.4)', () => {
  const text = readFileSync(join(CHARTS, '../CHANGELOG.md'), 'utf8')
  const cut = text.replace('## Unreleased', '## 0.1.0')
  const entries = text.match(/^- /gm) ?? []
  expect(entries.length).toBeGreaterThan(3)
  expect(changesOf(cut, '0.1.0')).toHaveLength(entries.length)
})

test('a chart of a release names its repository, image and changes as Artifact Hub reads them (34.4)', () => {
  const digest = `sha256:${'1'.repeat(64)}`
  const commit = '0123456789012345678901234567890123456789'
  const repository = 'https://git.example.com/mo'
  const image = { repository: 'registry.example.com/mo', digest }
  const origin = { repository, commit, image, version: '1.2.3', changelog: CHANGELOG }
  const text = withOrigin('name: mo\nannotations:\n  artifacthub.io/license: Apache-2.0\n', origin)
  const { annotations, ...chart } = parse(text)
  expect(chart).toEqual({
    name: 'mo',
    home: repository,
    sources: [`${repository}/tree/${commit}`],
  })
  expect(annotations['artifacthub.io/license']).toBe('Apache-2.0')
  expect(parse(annotations['artifacthub.io/images'])).toEqual([
    { name: 'management-operator', image: `registry.example.com/mo@${digest}` },
  ])
  expect(parse(annotations['artifacthub.io/changes'])).toHaveLength(2)
  expect(parse(annotations['artifacthub.io/links'])).toContainEqual({
    name: 'Install',
    url: `${repository}/blob/${commit}/docs/helm.md`,
  })
})

test.each([PLATFORM, AGENT].map((chart) => ({ chart })))(
  'values of $chart in a release name its image, and are the same otherwise (34.4)',
  ({ chart }) => {
    const digest = `sha256:${'1'.repeat(64)}`
    const text = readFileSync(join(CHARTS, chart, 'values.yaml'), 'utf8')
    const changed = withImage(text, { repository: 'registry.example.com/mo', digest })
    const lines = text.split('\n')
    expect(changed.split('\n').filter((line, at) => line !== lines[at])).toEqual([
      '  repository: registry.example.com/mo',
      `  digest: "${digest}"`,
    ])
  },
)

/** As Artifact Hub documents them, with the values that it takes. */
const CATEGORIES = [
  'ai-machine-learning',
  'database',
  'integration-delivery',
  'monitoring-logging',
  'networking',
  'security',
  'storage',
  'streaming-messaging',
  'skip-prediction',
]

test.each([PLATFORM, AGENT].map((chart) => ({ chart })))(
  'annotations of $chart have names and values that Artifact Hub knows (34.4)',
  ({ chart }) => {
    const { annotations } = parse(readFileSync(join(CHARTS, chart, 'Chart.yaml'), 'utf8'))
    const named = Object.keys(annotations).map((name) => name.replace('artifacthub.io/', ''))
    const known = ['category', 'crds', 'license', 'operator', 'operatorCapabilities']
    expect(named.filter((name) => !known.includes(name))).toEqual([])
    expect(annotations['artifacthub.io/license']).toBe('Apache-2.0')
    expect(CATEGORIES).toContain(annotations['artifacthub.io/category'])
  },
)

test('the chart of the platform lists each kind by the name of its CRD (34.4)', () => {
  const { annotations } = parse(readFileSync(join(CHARTS, PLATFORM, 'Chart.yaml'), 'utf8'))
  const files = [
    'accesskeyclaims',
    'configs',
    'directclusterendpointtokens',
    'ownedaccesskeys',
    'teams',
    'users',
  ]
  const crds = files.map((name) => parse(readFileSync(join(CRDS, `${name}.yaml`), 'utf8')))
  const listed = parse(annotations['artifacthub.io/crds']) as readonly Record<string, string>[]
  expect(listed).toEqual(
    crds.map(({ metadata, spec }) => ({
      kind: spec.names.kind,
      version: spec.versions[0].name,
      name: metadata.name,
      displayName: expect.any(String),
      description: expect.any(String),
    })),
  )
})
