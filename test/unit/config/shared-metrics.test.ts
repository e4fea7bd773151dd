// Gateway and direct endpoint have metrics of the same names: where Prometheus scrapes both, neither alerts nor dashboard
// may add them up.
import { expect, test } from 'vitest'
import { createDirectMetrics } from '../../../src/commands/direct/metrics.ts'
import { createMetrics } from '../../../src/commands/gateway/metrics.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { seriesOf } from '../../support/metrics-page.ts'
import { alerts, dashboard, namedIn, selects } from '../../support/monitoring.ts'

const processes = [createMetrics(), createDirectMetrics({ maxStalenessMs: 1000 }, systemClock())]
const pages = await Promise.all(
  processes.map(async (metrics) => {
    metrics.followTargets(() => [[{ kind: 'space', project: 'p', name: 's' }, true]])
    const { body } = await metrics.scrape()
    return [...seriesOf(body).keys()]
  }),
)

/** Whether a selector of expressions about the gateway selects series of both processes. */
function selectsBoth(selector: string): boolean {
  const bare = selector.replace(/(?:cluster|namespace)="\$\w+"(?:, )?/g, '')
  return (
    bare.startsWith('platform_gateway_') &&
    pages.every((series) => series.some((one) => selects(bare, one)))
  )
}

/** The lists of labels by which an expression aggregates, one for each aggregation; empty = by none. */
const aggregationsOf = (expr: string): readonly string[] =>
  Array.from(
    expr.matchAll(/\b(?:sum|min|max|count|group)(?: by \(([^)]*)\))? ?\(/g),
    ([, labels = '']) => labels,
  )

const expressions = [
  ...alerts().map(({ alert, expr }) => ({ of: alert, expr })),
  ...dashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ of: title, expr })),
  ),
]
const shared = expressions.filter(({ expr }) => namedIn(expr).selectors.some(selectsBoth))

test('requests, streams, limits and targets are metrics of both (9.2, 15)', () => {
  expect(shared.map(({ of }) => of)).toEqual(
    expect.arrayContaining(['Requests', 'Open streams', 'Too many requests', 'Targets']),
  )
})

test.each(shared)('$of shows gateway and direct endpoint apart: $expr (9.2, 15)', ({ expr }) => {
  expect(aggregationsOf(expr).filter((labels) => !/\bjob\b/.test(labels))).toEqual([])
})
