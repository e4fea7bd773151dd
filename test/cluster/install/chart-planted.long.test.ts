// Faults in copies of a chart: the checks of the charts find each.
import { afterAll, describe, expect, test } from 'vitest'
import { PLATFORM } from '../../../tools/charts/files.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { differences, openLevels, unkeptKinds } from './chart-checks.ts'
import { chartRenderer, overlaid } from './chart-renderer.ts'
import { schemaOf, unsaid, type ValuesSchema, wrongValues } from './chart-wrong-values.ts'
import { titleOf } from './installer.ts'
import { type ChartFault, plantedChart } from './planted-chart.ts'

const { kubectl } = await ensureBinaries(console.log)
const charts = chartRenderer(await programOrSkip(ensureHelm))
afterAll(() => charts.remove())

const planted = (fault: ChartFault): string => plantedChart(charts, PLATFORM, fault)

describe('a planted fault', () => {
  test('is found where a kind lost its keep (34.2)', async () => {
    const line = '    helm.sh/resource-policy: keep\n'
    const chart = planted({ file: 'files/kinds.yaml', change: (text) => text.replace(line, '') })
    expect(unkeptKinds(await charts.objects(chart, {}))).toEqual([
      'accesskeyclaims.management.platform.sh',
    ])
  })

  test('is found where a template takes keep off all kinds (34.2)', async () => {
    const include = '{{ include "management-operator.file" (dict "root" $ "file" "kinds.yaml") }}'
    const without = include.replace(
      ' }}',
      ' | replace "resource-policy: keep" "resource-policy: delete" }}',
    )
    const change = (text: string) => text.replace(include, without)
    const chart = planted({ file: 'templates/cluster.yaml', change })
    expect(unkeptKinds(await charts.objects(chart, {}))).toHaveLength(6)
  })

  test('is found where a template forgets the admission policies (34.1)', async () => {
    const include = '---\n{{ $base }}'
    const without = `{{- range splitList "---\\n" $base }}
{{- if not (contains "kind: ValidatingAdmissionPolicy" .) }}
---
{{ . }}
{{- end }}
{{- end }}`
    const change = (text: string) => text.replace(include, without)
    const chart = planted({ file: 'templates/cluster.yaml', change })
    const built = await overlaid(kubectl, 'default', {})
    const policies = built.filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'))
    expect(policies.length).toBeGreaterThan(4)
    expect(differences(built, await charts.objects(chart, {}))).toEqual(
      policies.map((one) => `${titleOf(one)}: absent, not there`).toSorted(),
    )
  })

  test('is found where a field of an object differs (34.1)', async () => {
    const change = (text: string) => text.replace('- --leader-elect\n', '')
    const chart = planted({ file: 'templates/manager.yaml', change })
    const built = await overlaid(kubectl, 'default', {})
    expect(differences(built, await charts.objects(chart, {}))).toEqual([
      'Deployment manager/spec/template/spec/containers/0/args/1: absent, not "--leader-elect"',
    ])
  })
})

describe('a schema that was opened', () => {
  const opened = (schema: ValuesSchema) => JSON.stringify({ ...schema, additionalProperties: true })
  const isLevel = ({ type, properties }: ValuesSchema) => type === 'object' && properties
  const service = (text: string) => {
    const schema = JSON.parse(text) as ValuesSchema
    return JSON.stringify(schema, (key, value: ValuesSchema) =>
      key === 'service' ? { ...value, additionalProperties: true } : value,
    )
  }

  test('is found by the typo that Helm accepts (34.1)', { timeout: 300_000 }, async () => {
    const chart = planted({ file: 'values.schema.json', change: service })
    const typos = wrongValues(schemaOf(chart)).filter(({ says }) => says.includes('tpyo'))
    const missed: string[] = []
    for (const typo of typos) missed.push(...(await unsaid(charts, chart, typo)))
    expect(missed).toEqual(["at '/gateway/service': additional properties 'tpyo' not allowed"])
  })

  test('is found at each level (34.1)', () => {
    const known = openLevels(schemaOf(PLATFORM))
    const text = JSON.stringify(schemaOf(PLATFORM))
    const found: number[] = []
    JSON.parse(text, (_, value: ValuesSchema) => {
      if (value === null || !isLevel(value)) return value
      const schema = JSON.parse(text.replace(JSON.stringify(value), opened(value))) as ValuesSchema
      found.push(openLevels(schema).length - known.length)
      return value
    })
    expect(found.length).toBeGreaterThan(40)
    expect(found.filter((count) => count === 0)).toEqual([])
  })
})
