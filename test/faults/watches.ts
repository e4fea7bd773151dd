import type { Resource } from '../../src/api/names.ts'
import { WATCHED } from '../../src/commands/manager/informers.ts'
import { sumOf, valueOf } from '../support/exposition.ts'
import type { Operator } from '../support/observe.ts'
import type { Match } from '../support/proxy-rules.ts'

/** Requests that open a watch. */
export const isWatch: Match = ({ query }) => query.get('watch') === 'true'

/** Requests that open a watch of this resource. */
export const isWatchOf =
  (plural: string): Match =>
  (request) =>
    isWatch(request) && request.path.endsWith(`/${plural}`)

/** How often the operator's watches of these resources were opened anew for this reason. */
export async function restartsFor(
  reason: string,
  operator: Operator,
  resources: readonly Resource[] = WATCHED,
): Promise<readonly number[]> {
  const metrics = await operator.metrics()
  return resources.map(({ plural }) =>
    valueOf(metrics, `platform_watch_restarts_total{resource="${plural}",reason="${reason}"}`),
  )
}

/** Every count of watches that were opened anew, for the text of an error. */
export async function allRestarts(operator: Operator): Promise<string> {
  const lines = (await operator.metrics()).split('\n')
  return lines.filter((line) => /^platform_watch_restarts_total.* [^0]/.test(line)).join('\n')
}

/** How many keys an operator that leads knows of. */
export async function countedKeys(operator: Operator): Promise<number> {
  return sumOf(await operator.metrics(), 'platform_access_keys')
}
