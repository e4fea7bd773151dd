// The files of the charts that come from config/ and crds/; no Helm is needed to compare them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CHARTS, chartFiles } from '../../../tools/charts/files.ts'
import { generatedValues } from '../../../tools/charts/values.ts'
import { ensureBinaries } from '../../../tools/control-plane/binaries.ts'

const { kubectl } = await ensureBinaries(console.log)

test('the charts are as `make generate` writes them', async () => {
  const generated = new Map([...(await chartFiles(kubectl)), ...generatedValues()])
  const stale = [...generated].filter(
    ([path, text]) => readFileSync(join(CHARTS, path), 'utf8') !== text,
  )
  expect(stale.map(([path]) => path)).toEqual([])
})
