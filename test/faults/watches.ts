import { WATCHED } from '../../src/commands/manager/stores.ts'
import { eventually } from '../support/eventually.ts'
import type { Operator } from '../support/observe.ts'
import type { Match } from '../support/proxy-rules.ts'

/** How many watches an operator has open. */
export const WATCHES = WATCHED.length

/** Requests that open a watch. */
export const isWatch: Match = ({ query }) => query.get('watch') === 'true'

/** How often the operator's watches were opened anew for this reason: a number for each resource. */
export async function restartsFor(operator: Operator, reason: string): Promise<readonly number[]> {
  const metrics = await operator.metrics()
  return WATCHED.map(({ plural }) => {
    const series = `platform_watch_restarts_total{resource="${plural}",reason="${reason}"} `
    const line = metrics.split('\n').find((one) => one.startsWith(series))
    if (!line) throw new Error(`there is no metric ${series}`)
    return Number(line.slice(series.length))
  })
}

/** Waits until each watch was opened anew for this reason, more often than it was `before`. */
export async function untilRestarted(
  operator: Operator,
  reason: string,
  before: readonly number[],
  bound: { readonly withinMs: number },
): Promise<void> {
  await eventually(
    `each watch is opened anew: ${reason}`,
    async () => {
      const now = await restartsFor(operator, reason)
      if (now.every((count, index) => count > (before[index] ?? 0))) return true
      throw new Error(`${before.join(', ')} before, ${now.join(', ')} now`)
    },
    bound,
  )
}
