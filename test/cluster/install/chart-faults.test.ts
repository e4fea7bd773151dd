// Helm refuses each wrong value that a schema can have, with its path.
import { afterAll, expect, test } from 'vitest'
import { AGENT, PLATFORM } from '../../../tools/charts/files.ts'
import { ensureHelm } from '../../../tools/helm/program.ts'
import { programOrSkip } from '../../support/program-or-skip.ts'
import { sampled } from '../../support/tier.ts'
import { chartRenderer } from './chart-renderer.ts'
import { schemaOf, unsaid, wrongValues } from './chart-wrong-values.ts'

const charts = chartRenderer(await programOrSkip(ensureHelm))
afterAll(() => charts.remove())

const wrong = [PLATFORM, AGENT].flatMap((chart) =>
  wrongValues(schemaOf(chart)).map((one) => ({ chart, ...one, title: `${chart}: ${one.says}` })),
)

test('the schemas have faults of each kind at each level', () => {
  expect(wrong.length).toBeGreaterThan(200)
})

test.each(sampled(wrong, 30))(
  '$title is what Helm says of a wrong value (34.1)',
  async ({ chart, ...one }) => {
    expect(await unsaid(charts, chart, one)).toEqual([])
  },
)
