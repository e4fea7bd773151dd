// The dashboard as a file. Its expressions run on a Prometheus in test/cluster/metrics.
import { expect, test } from 'vitest'
import { type Panel, dashboard, namedIn } from '../../support/monitoring.ts'

const { panels, templating, schemaVersion } = dashboard()
const shown = panels.filter(({ type }) => type !== 'row')
const SOURCE = { type: 'prometheus', uid: '${datasource}' }
const GRID_WIDTH = 24
const CHOSEN = 'cluster="$cluster", namespace="$namespace"'

test('it asks for the data source, the cluster and the namespace, in a schema that Grafana 12 has', () => {
  expect(schemaVersion).toBe(41)
  expect(templating.list.map(({ name, type }) => [name, type])).toEqual([
    ['datasource', 'datasource'],
    ['cluster', 'query'],
    ['namespace', 'query'],
  ])
})

test('no two panels have the same id', () => {
  const ids = panels.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('no two panels lie on one another, and none beyond the edge', () => {
  const cells = panels.flatMap(cellsOf)
  expect(new Set(cells).size).toBe(cells.length)
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > GRID_WIDTH)).toEqual([])
})

test.each(shown)(
  '$title takes its data from the source that was chosen',
  ({ targets, ...panel }) => {
    expect(panel.datasource).toEqual(SOURCE)
    expect(targets?.length).toBeGreaterThan(0)
    for (const { datasource, expr } of targets ?? []) {
      expect(datasource).toEqual(SOURCE)
      // Of one namespace of one cluster: other operators have metrics of the same names.
      const { selectors } = namedIn(expr)
      expect(selectors.filter((selector) => !selector.includes(CHOSEN))).toEqual([])
      expect(selectors.length).toBeGreaterThan(0)
    }
  },
)

const cellsOf = ({ gridPos: { x, y, w, h } }: Panel): readonly string[] =>
  Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`)
