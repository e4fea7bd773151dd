import type { ComputeResources, ConfigSettings } from '../../../api/config.gen.ts'
import type { FieldPath } from '../../json/field-path.ts'
import { isMap } from '../../json/json.ts'
import type { UnsourcedFault } from './faults.ts'
import { quantityAmount } from '../formats.ts'

/** Every `resources` of the settings with its path; a group without resources has an empty one. */
export function resourcesIn({
  costControl,
  imageBuilder,
}: ConfigSettings): readonly (readonly [FieldPath, ComputeResources])[] {
  const { global, cluster } = costControl ?? {}
  const all: readonly (readonly [FieldPath, ComputeResources | undefined])[] = [
    [['costControl', 'global', 'metrics'], global?.metrics?.resources],
    [['costControl', 'cluster', 'metrics'], cluster?.metrics?.resources],
    [['costControl', 'cluster', 'costEstimator'], cluster?.costEstimator?.resources],
    [['imageBuilder'], imageBuilder?.resources],
  ]
  return all.map(([path, resources]) => [[...path, 'resources'], isMap(resources) ? resources : {}])
}

/** Faults of requests that are above their limit (contract 6.5). */
export const resourceFaults = (settings: ConfigSettings): readonly UnsourcedFault[] =>
  resourcesIn(settings).flatMap(([path, resources]) => requestFaults(path, resources))

function requestFaults(
  path: FieldPath,
  { limits, requests }: ComputeResources,
): readonly UnsourcedFault[] {
  return Object.entries(requests ?? {}).flatMap(([name, request]): readonly UnsourcedFault[] => {
    const limit = limits && Object.hasOwn(limits, name) ? limits[name] : undefined
    const limitAmount = limit === undefined ? null : quantityAmount(limit)
    const requestAmount = quantityAmount(request)
    if (limitAmount === null || requestAmount === null || requestAmount <= limitAmount) return []
    return [
      {
        path: [...path, 'requests', name],
        message: 'is above its limit: lower it, or raise limits',
      },
    ]
  })
}
