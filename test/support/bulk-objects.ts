// Thousands of objects: made, counted in metrics, and counted in what was written.
import type { Resource } from '../../src/api/names.ts'
import { type NewObject, pathOf } from '../../src/kube/client/client.ts'
import type { AuditedWrite } from './audit-log.ts'
import type { TestControlPlane } from './control-plane.ts'
import { sumOf } from './metrics-text.ts'
import type { Operator } from './process-output.ts'

/** So many requests at a time. */
const AT_A_TIME = 32

/** Creates all of them. @throws Error when one is refused */
export async function createMany<Kept>(
  { raw }: Pick<TestControlPlane, 'raw'>,
  resource: Resource,
  objects: readonly NewObject[],
): Promise<readonly Kept[]> {
  const left = [...objects]
  const created: Kept[] = []
  const creators = Array.from({ length: AT_A_TIME }, async () => {
    for (let object = left.pop(); object; object = left.pop()) {
      const { code, body } = await raw<Kept>('POST', pathOf(resource, {}), object)
      if (code !== 201) throw new Error(`one was answered ${code}: ${JSON.stringify(body)}`)
      created.push(body)
    }
  })
  await Promise.all(creators)
  return created
}

/** The sum of a metric's series whose labels hold all of these. @throws Error when there is none */
export async function metric(
  operator: Operator,
  name: string,
  ...labels: readonly string[]
): Promise<number> {
  return sumOf(await operator.metrics(), name, ...labels)
}

/** How often a controller has looked at an object. */
export const reconciled = (operator: Operator, controller: string): Promise<number> =>
  metric(operator, 'controller_runtime_reconcile_total', `controller="${controller}"`)

/** Whether nothing waits for a controller and nothing is in its hands. */
export async function isIdle(operator: Operator, controller: string): Promise<boolean> {
  const depth = await metric(operator, 'workqueue_depth', `name="${controller}"`)
  const active = 'controller_runtime_active_workers'
  return depth + (await metric(operator, active, `controller="${controller}"`)) === 0
}

/** How often each thing was written: verb, subresource and the code of the answer. */
export function countWrites(
  writes: readonly Pick<AuditedWrite, 'verb' | 'subresource' | 'code'>[],
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { verb, subresource, code } of writes) {
    const what = `${verb} ${subresource} ${code}`
    counts[what] = (counts[what] ?? 0) + 1
  }
  return counts
}
