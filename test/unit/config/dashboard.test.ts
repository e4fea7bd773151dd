// The file of the dashboard. test/cluster/metrics evaluates its expressions on a Prometheus.
import { expect, test } from 'vitest'
import { type Panel, dashboard, namedIn } from '../../support/monitoring.ts'

const { panels, templating, schemaVersion } = dashboard()
const shown = panels.filter(({ type }) => type !== 'row')
const SOURCE = { type: 'prometheus', uid: '${datasource}' }
const GRID_WIDTH = 24
/** The name of the sign-in namespace begins with the platform namespace. */
const CHOSEN = /cluster="\$cluster", namespace="\$namespace(?:-sign-in)?"/

test('the dashboard has variables for data source, cluster and namespace, in a schema of Grafana 12', () => {
  expect(schemaVersion).toBe(41)
  expect(templating.list.map(({ name, type }) => [name, type])).toEqual([
    ['datasource', 'datasource'],
    ['cluster', 'query'],
    ['namespace', 'query'],
  ])
})

test('panel IDs are unique', () => {
  const ids = panels.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('panels do not overlap, and stay within the grid', () => {
  const cells = panels.flatMap(cellsOf)
  expect(new Set(cells).size).toBe(cells.length)
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > GRID_WIDTH)).toEqual([])
})

test.each(shown)('$title uses the selected data source', ({ targets, ...panel }) => {
  expect(panel.datasource).toEqual(SOURCE)
  expect(targets?.length).toBeGreaterThan(0)
  for (const { datasource, expr } of targets ?? []) {
    expect(datasource).toEqual(SOURCE)
    // Of one namespace of one cluster, as other operators have metrics of the same names.
    const { selectors } = namedIn(expr)
    expect(selectors.filter((selector) => !CHOSEN.test(selector))).toEqual([])
    expect(selectors.length).toBeGreaterThan(0)
  }
})

const cellsOf = ({ gridPos: { x, y, w, h } }: Panel): readonly string[] =>
  Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`)
