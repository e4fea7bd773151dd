// No value of a chart renders a secret: a canary in each string that the schemas let in is refused, or stands where values
// belong. And a release, which Helm stores with all its values, fits into its own Secret.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { AGENT, CHARTS, PLATFORM } from '../../../tools/charts/files.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { filledSecrets, type Leaf, leavesOf, placesOf, secretPlaces } from './chart-canaries.ts'
import { chartRenderer } from './chart-renderer.ts'
import { EVERYTHING } from './chart-values.ts'
import { schemaOf } from './chart-wrong-values.ts'
import { objectsIn } from './installer.ts'
import { plantedChart } from './planted-chart.ts'

const helm = await programOrSkip(ensureHelm)
const charts = chartRenderer(helm)
afterAll(() => charts.remove())

const BOTH = [PLATFORM, AGENT] as const

/** A file with all that a chart can render. */
const everything = (chart: (typeof BOTH)[number]): string => {
  const file = join(charts.folder, `everything-${chart}.yaml`)
  writeFileSync(file, stringify(EVERYTHING[chart]))
  return file
}

const leaves = BOTH.flatMap((chart) =>
  leavesOf(schemaOf(chart)).map((leaf) => ({ chart, ...leaf })),
)

/** What is wrong with a value, of the chart or of a copy of it; nothing = empty. */
async function faultsOf(
  chart: (typeof BOTH)[number],
  { isSecret, planted }: Leaf,
  copy: string = chart,
): Promise<readonly string[]> {
  const { values, text } = planted(randomBytes(32).toString('hex'))
  const { code, stdout, stderr } = await charts.template(
    copy,
    values,
    '--values',
    everything(chart),
  )
  if (code !== 0) {
    const isRefused = isSecret && stderr.includes("'not' failed") && !stderr.includes(text)
    return isRefused ? [] : [`Helm says ${stderr}`]
  }
  if (isSecret) return ['is accepted']
  const objects = objectsIn(stdout).filter((one) => one !== null)
  const places = placesOf(objects, text)
  if (places.length === 0) return ['is rendered nowhere']
  return [...secretPlaces(places), ...filledSecrets(objects)]
}

test('strings of values are found at all levels', () => {
  expect(leaves.length).toBeGreaterThan(100)
  expect(leaves.filter(({ isSecret }) => isSecret).length).toBeGreaterThan(4)
})

test.each(leaves)(
  '$at of $chart is refused as a secret, or stands where values belong (34.1)',
  async ({ chart, ...leaf }) => {
    expect(await faultsOf(chart, leaf)).toEqual([])
  },
)

describe('more objects', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', stringData: { key: 'canary-1' } }
  const list = { apiVersion: 'v1', kind: 'List', items: [secret] }

  test.each(
    BOTH.flatMap((chart) =>
      [secret, { ...list, kind: 'SecretList' }, list].map((one) => ({ chart, one })),
    ),
  )('of $chart are refused with a $one.kind, which is not shown (34.1)', async ({ chart, one }) => {
    const { code, stdout, stderr } = await charts.template(chart, { extraObjects: [one] })
    expect(code).not.toBe(0)
    expect(stderr).toContain("at '/extraObjects/0': 'not' failed")
    expect(stdout + stderr).not.toContain('canary-1')
  })
})

describe('a planted fault', () => {
  const issuer = leaves.find(({ at }) => at === '/issuerURL') as Leaf
  const clientSecret = leaves.find(({ at }) => at === '/config/auth/oidc/clientSecret') as Leaf
  const SECRET = `
---
apiVersion: v1
kind: Secret
metadata: {name: planted}
`

  test.each([
    {
      name: 'a Secret with a value',
      file: 'templates/extra.yaml',
      change: (text: string) => `${text}${SECRET}stringData: {url: {{ .Values.issuerURL }}}\n`,
      found: ['Secret planted/stringData/url', 'Secret planted'],
    },
    {
      name: 'a Secret with a value in base64',
      file: 'templates/extra.yaml',
      change: (text: string) => `${text}${SECRET}data: {url: {{ .Values.issuerURL | b64enc }}}\n`,
      found: ['Secret planted/data/url', 'Secret planted'],
    },
    {
      name: 'a variable of a container',
      file: 'templates/_shared.tpl',
      change: (text: string) =>
        text.replace('env:\n', 'env:\n- name: URL\n  value: {{ .root.Values.issuerURL }}\n'),
      found: [
        'Deployment delivery/spec/template/spec/containers/0/env/0/value',
        'Deployment manager/spec/template/spec/containers/0/env/0/value',
        'Deployment sign-in/spec/template/spec/containers/0/env/0/value',
        'StatefulSet gateway/spec/template/spec/containers/0/env/0/value',
      ],
    },
  ])('is found: $name (34.1)', async ({ found, ...fault }) => {
    const copy = plantedChart(charts, PLATFORM, fault)
    expect((await faultsOf(PLATFORM, issuer, copy)).toSorted()).toEqual(found.toSorted())
  })

  test('is found where the schema lets a secret in (34.1)', async () => {
    const change = (text: string): string => text.replaceAll('"not": {', '"x-not": {')
    const copy = plantedChart(charts, PLATFORM, { file: 'values.schema.json', change })
    expect(await faultsOf(PLATFORM, clientSecret, copy)).toEqual(['is accepted'])
  })
})

/** Helm's own limit is that of a Secret, 1 MiB. */
const MAX_RELEASE_BYTES = 700_000

/** The bytes of the Secret in which Helm stores this release: its JSON by gzip, in base64. */
async function releaseBytes(chart: string, values: string): Promise<number> {
  const args = ['install', 'test', chart, '--dry-run=client', '--output=json', '--values', values]
  const { stdout } = await promisify(execFile)(helm, args, { maxBuffer: 2 ** 26 })
  const json = JSON.stringify(JSON.parse(stdout))
  return gzipSync(json, { level: 9 }).toString('base64').length
}

describe('a release with all that a chart can render', () => {
  test.each(BOTH)('of %s fits into a Secret of 700 kB (34.1)', async (chart) => {
    const bytes = await releaseBytes(join(CHARTS, chart), everything(chart))
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(MAX_RELEASE_BYTES)
  })

  test('is found to be too big with a large file (34.1)', async () => {
    const change = (): string => randomBytes(500_000).toString('base64')
    const copy = plantedChart(charts, PLATFORM, { file: 'files/dashboard.json', change })
    expect(await releaseBytes(copy, everything(PLATFORM))).toBeGreaterThan(MAX_RELEASE_BYTES)
  })
})
