import { expect, test } from 'vitest'
import { namedIn, selects } from '../../support/monitoring.ts'

test.each([
  { name: 'a metric', expression: 'up == 0', selectors: ['up'], metrics: ['up'], by: [], on: [] },
  {
    name: 'a selector with a range',
    expression: 'max by (job) (rate(x_total{code=~"5..|<error>", job="}"}[5m])) > 0.1',
    selectors: ['x_total{code=~"5..|<error>", job="}"}'],
    metrics: ['x_total'],
    by: ['job'],
    on: [],
  },
  {
    name: 'labels that sides are matched on',
    expression: 'sum by (a, b) (rate(x[1h]) and on (job, instance) y) / sum by (a, b) (z)',
    selectors: ['x', 'y', 'z'],
    metrics: ['x', 'y', 'z'],
    by: ['a', 'b', 'a', 'b'],
    on: ['job', 'instance'],
  },
  {
    name: 'a number written as a word',
    expression: 'max by (a) (x{b="c"} < +Inf)',
    selectors: ['x{b="c"}'],
    metrics: ['x'],
    by: ['a'],
    on: [],
  },
  {
    name: 'a misspelled function',
    expression: 'ratee(x[1h])',
    selectors: ['ratee', 'x'],
    metrics: ['ratee', 'x'],
    by: [],
    on: [],
  },
])('an expression names: $name', ({ expression, selectors, metrics, by, on }) => {
  expect(namedIn(expression)).toEqual({ selectors, metrics, by, on })
})

test.each([
  { selector: 'up', series: 'up{job="x"}', is: true },
  { selector: 'up', series: 'up_since{job="x"}', is: false },
  { selector: 'up{job="x"}', series: 'up{instance="y", job="x"}', is: true },
  { selector: 'up{job="x"}', series: 'up{job="xx"}', is: false },
  { selector: 'up{job="x"}', series: 'up', is: false },
  { selector: 'up{job=""}', series: 'up', is: true },
  { selector: 'up{code=~"5..|<error>"}', series: 'up{code="503"}', is: true },
  { selector: 'up{code=~"5..|<error>"}', series: 'up{code="<error>"}', is: true },
  { selector: 'up{code=~"5.."}', series: 'up{code="5033"}', is: false },
])('$selector selects $series: $is', ({ selector, series, is }) => {
  expect(selects(selector, series)).toBe(is)
})
