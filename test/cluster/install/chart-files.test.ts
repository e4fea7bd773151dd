// The files of the charts that come from config/ and crds/, and the schemas of values: no Helm is needed for them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AGENT, CHARTS, chartFiles, PLATFORM } from '../../../tools/charts/files.ts'
import { generatedValues } from '../../../tools/charts/values.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'
import { openLevels } from './chart-checks.ts'
import { schemaOf } from './chart-wrong-values.ts'

const { kubectl } = await ensureBinaries(console.log)

test('the charts are as `make generate` writes them', async () => {
  const generated = new Map([...(await chartFiles(kubectl)), ...generatedValues()])
  const stale = [...generated].filter(
    ([path, text]) => readFileSync(join(CHARTS, path), 'utf8') !== text,
  )
  expect(stale.map(([path]) => path)).toEqual([])
})

const FIELDS_OF_PODS = ['resources', 'affinity', 'tolerations/*', 'topologySpreadConstraints/*']
const ofPods = (component: string): readonly string[] =>
  FIELDS_OF_PODS.map((field) => `/${component}/${field}`)
/** Values of Helm itself, which it adds to every chart. */
const OF_HELM = '/global'

test.each([
  {
    chart: PLATFORM,
    open: [
      ...ofPods('manager'),
      ...ofPods('gateway'),
      '/gateway/httpRoute/parentRefs/*',
      ...ofPods('delivery'),
      ...ofPods('signIn'),
      '/config/costControl/settings/averageCPUPricePerNode',
      '/config/costControl/settings/averageRAMPricePerNode',
      '/extraObjects/*',
      OF_HELM,
    ],
  },
  { chart: AGENT, open: [...ofPods('direct'), '/extraObjects/*', OF_HELM] },
])(
  'the schema of $chart is closed, but for values that are objects of Kubernetes (34.1)',
  ({ chart, open }) => {
    expect(openLevels(schemaOf(chart))).toEqual(open)
  },
)
