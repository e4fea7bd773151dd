// The pictures of a run, which the docs show.
import { figureOf } from '../measure/rounds.ts'
import { type BarGroup, barChart } from './chart.ts'
import type { Results } from './results.ts'

interface Compared {
  readonly title: string
  readonly section: string
  readonly figure: string
}

const PICTURES: Readonly<
  Record<string, { readonly title: string; readonly groups: readonly Compared[] }>
> = {
  'operators.svg': {
    title: 'The operator beside others that do the same writes',
    groups: [
      {
        title: 'keys a second in a burst: more is better',
        section: 'operators',
        figure: 'burstPerSecond',
      },
      {
        title: 'CPU a key in a burst, ms: less is better',
        section: 'operators',
        figure: 'burstCpuMsPerKey',
      },
      {
        title: 'create to status at 50/s, p50, ms: less is better',
        section: 'operators',
        figure: 'steadyP50Ms',
      },
      { title: 'idle memory, MB: less is better', section: 'operators', figure: 'idleMb' },
    ],
  },
  'gateway.svg': {
    title: 'The gateway beside direct access and other proxies',
    groups: [
      {
        title: 'GET a second, 16 connections: more is better',
        section: 'get',
        figure: 'perSecond',
      },
      { title: 'LIST of 500 a second: more is better', section: 'list', figure: 'perSecond' },
      { title: 'PATCH a second: more is better', section: 'patch', figure: 'perSecond' },
      {
        title: 'CPU of the proxy a GET, µs: less is better',
        section: 'get',
        figure: 'cpuUsPerRequest',
      },
    ],
  },
}

/** SVG by file name; pictures of which nothing was measured are absent. */
export function pictures(results: Results): Readonly<Record<string, string>> {
  const drawn = Object.entries(PICTURES).flatMap(([file, { title, groups }]) => {
    const measured = groups
      .map((group) => barsOf(results, group))
      .filter(({ bars }) => bars.length > 0)
    return measured.length === 0 ? [] : [[file, barChart(title, measured)] as const]
  })
  return Object.fromEntries(drawn)
}

function barsOf({ sections }: Results, { title, section, figure }: Compared): BarGroup {
  const measured = sections[section] ?? {}
  const bars = Object.keys(measured).flatMap((name) => {
    const spread = figureOf(measured, name, figure)
    return spread === null ? [] : [{ name, spread }]
  })
  return { title, bars }
}
