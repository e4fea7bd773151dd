import { describe, expect, test } from 'vitest'
import type { ManagerMetrics } from '../../../../src/commands/manager/metrics.ts'
import { managerMetrics } from './metrics-builder.ts'

describe('the rules of promtool check metrics', () => {
  test.each([
    { name: 'a help text each', faulty: ({ help }: Described) => help === '' },
    {
      name: 'counters end in _total',
      faulty: ({ name, type }: Described) => type === 'counter' && !name.endsWith('_total'),
    },
    {
      name: 'no other ends in _total',
      faulty: ({ name, type }: Described) => type !== 'counter' && name.endsWith('_total'),
    },
    { name: 'lower case', faulty: ({ name }: Described) => /[A-Z:]/.test(name) },
    {
      name: 'no type in the name',
      faulty: ({ name }: Described) => /_(counter|gauge|histogram|summary)$/.test(name),
    },
    {
      name: 'base units',
      faulty: ({ name }: Described) =>
        /_(milliseconds|minutes|hours|days|ms|kb|kilobytes|megabytes|percent)(_|$)/.test(name),
    },
  ])('$name', async ({ faulty }) => {
    const all = await described(managerMetrics())
    expect(all.length).toBeGreaterThan(30)
    expect(all.filter(faulty)).toEqual([])
  })

  test('has metrics of the process and of Node', async () => {
    const names = (await described(managerMetrics())).map(({ name }) => name)
    expect(names).toContain('process_cpu_seconds_total')
    expect(names).toContain('nodejs_eventloop_lag_seconds')
  })
})

interface Described {
  readonly name: string
  readonly help: string
  readonly type: string
}

async function described(metrics: ManagerMetrics): Promise<readonly Described[]> {
  const { body } = await metrics.scrape()
  const found = body.matchAll(/^# HELP (\S+) (.*)\n# TYPE \1 (\w+)$/gm)
  return Array.from(found, ([, name = '', help = '', type = '']) => ({ name, help, type }))
}
