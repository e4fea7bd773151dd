// Helm 3 renders the charts and refuses wrong values as Helm 4 does.
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { AGENT, CHARTS, PLATFORM } from '../../../tools/charts/files.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import { ensureHelm3 } from '../../../tools/helm3/program.ts'
import { packagedChart } from '../../../tools/release/charts.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { differences } from './chart-checks.ts'
import { chartRenderer, overlaid } from './chart-renderer.ts'
import { AGENT_ROWS, PLATFORM_ROWS } from './chart-values.ts'
import { schemaOf, unsaid, unsaidOfSeveral, wrongValues } from './chart-wrong-values.ts'

const [{ kubectl }, helm] = await Promise.all([
  ensureBinaries(console.log),
  programOrSkip(ensureHelm3),
])
const charts = chartRenderer(helm, 3)
afterAll(() => charts.remove())

const rows = [
  ...PLATFORM_ROWS.map((row) => ({ chart: PLATFORM, config: 'default', ...row })),
  ...AGENT_ROWS.map((row) => ({ chart: AGENT, config: 'direct', ...row })),
]

test.each(rows)(
  'chart $chart renders by Helm 3 what kustomize builds: $name (34.1)',
  async ({ chart, config, values, overlay }) => {
    const built = await overlaid(kubectl, config, overlay)
    expect(differences(built, await charts.objects(chart, values))).toEqual([])
  },
)

test('wrong values are refused by Helm 3 all at once, each with its path (34.1)', async () => {
  expect(await unsaidOfSeveral(charts)).toEqual([])
})

test.each([PLATFORM, AGENT])(
  'each wrong value that the schema of %s can have is refused by Helm 3 with its path (34.1)',
  { timeout: 300_000 },
  async (chart) => {
    const missed: string[] = []
    for (const wrong of wrongValues(schemaOf(chart)))
      missed.push(...(await unsaid(charts, chart, wrong)))
    expect(missed).toEqual([])
  },
)

test('a release is not packaged by Helm 3, which writes the time of the day (34.4)', async () => {
  const origin = {
    repository: 'https://git.example.com/mo',
    commit: '0'.repeat(40),
    image: { repository: 'registry.example.com/mo', digest: `sha256:${'0'.repeat(64)}` },
    version: '0.1.0',
    changelog: '',
  }
  await expect(packagedChart(helm, join(CHARTS, PLATFORM), 1_764_000_000, origin)).rejects.toThrow(
    /helm writes times of its own into a package.*: set HELM to a Helm 4, or to nothing/,
  )
})
