// Copies of charts with a fault, by which a test shows that a check finds it.
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CHARTS } from '../../../tools/charts/files.ts'

/** A change of one file of a chart. */
export interface ChartFault {
  readonly file: string
  readonly change: (text: string) => string
}

/** The folder of a copy of the chart with this fault. @throws Error where the file has no place for it */
export function plantedChart(
  { folder }: { readonly folder: string },
  name: string,
  { file, change }: ChartFault,
): string {
  const chart = mkdtempSync(join(folder, 'chart-'))
  cpSync(join(CHARTS, name), chart, { recursive: true })
  const text = readFileSync(join(chart, file), 'utf8')
  if (change(text) === text) throw new Error(`${file} has no place for this fault`)
  writeFileSync(join(chart, file), change(text))
  return chart
}
