// The figures of the gateway as a table: a line for each figure, a column for each way.
import { cpus } from 'node:os'
import { type Measured, figureOf, ratioOf, shortNumber } from '../measure/rounds.ts'
import type { GatewayMeasured } from './measure.ts'
import { WAYS } from './ways.ts'

const NAME_WIDTH = 32
const WIDTH = 26

/** Each figure as median, range, and where direct has it too, the median of the ratios to it. */
export function tableOf({ figures, missing }: GatewayMeasured): string {
  const [{ model } = { model: 'unknown' }, ...others] = cpus()
  const lines = [
    `${others.length + 1} x ${model}, Node ${process.version}`,
    row('median (range) ratio to direct', WAYS),
    ...Object.entries(figures).flatMap(([subject, measured]) => rowsOf(subject, measured)),
    ...Object.entries(missing).map(([way, why]) => `${way} is missing: ${why}`),
  ]
  return `${lines.join('\n')}\n`
}

function rowsOf(subject: string, measured: Measured): readonly string[] {
  const names = Object.values(measured).flatMap((rounds) => rounds.flatMap(Object.keys))
  return [...new Set(names)].map((figure) =>
    row(
      `${subject} ${figure}`,
      WAYS.map((way) => cellOf(measured, figure, way)),
    ),
  )
}

function cellOf(measured: Measured, figure: string, way: string): string {
  const spread = figureOf(measured, way, figure)
  if (!spread) return ''
  const { median, min, max } = spread
  const ratio = way === 'direct' ? null : ratioOf(measured, figure, way, 'direct')
  const range = min === max ? '' : ` (${shortNumber(min)}–${shortNumber(max)})`
  return `${shortNumber(median)}${range}${ratio ? ` ${shortNumber(ratio.median)}x` : ''}`
}

const row = (name: string, cells: readonly string[]): string =>
  `${name.padEnd(NAME_WIDTH)}${cells.map((cell) => cell.padEnd(WIDTH)).join('')}`.trimEnd()
