// The metrics of a small manager, and their values.
import { type ManagerMetrics, createMetrics } from '../../../../src/commands/manager/metrics.ts'
import { NOTHING_OVERDUE } from '../../../../src/domain/time.ts'
import type { ObjectCounts } from '../../../../src/kube/controller/definition.ts'
import { seriesOf } from '../../../support/metrics-page.ts'

/** The metrics of a manager with few controllers and kinds. */
export const managerMetrics = (perObject = false): ManagerMetrics =>
  createMetrics({
    controllers: { ownedaccesskey: 16, config: 1 },
    lease: 'management-operator',
    writes: { OwnedAccessKey: ['adopt', 'status'], Config: ['status'] },
    watches: ['ownedaccesskeys', 'configs'],
    watchRestartReasons: ['closed', 'expired'],
    counted: [
      {
        kind: 'OwnedAccessKey',
        metric: 'platform_access_keys',
        states: ['active', 'expired'],
        expires: true,
      },
      {
        kind: 'DirectClusterEndpointToken',
        metric: 'platform_tokens',
        states: ['issued', 'revoked'],
        expires: true,
      },
    ],
    perObject,
  })

/** A cluster without objects. */
export const NO_OBJECTS: Parameters<ManagerMetrics['follow']>[0] = {
  refresh: () => Promise.resolve(),
  counts: () => undefined,
  keyEnds: () => Promise.resolve(),
  signingKeys: () => [],
  signingKeyFaults: () => 0,
  revokedTokens: () => 0,
  revocationBacklog: () => NOTHING_OVERDUE,
}

/** A cluster with objects of one kind. @param counted what is not given is none */
export const objectsOf = (
  kind: string,
  counted: Partial<ObjectCounts>,
): Parameters<ManagerMetrics['follow']>[0] => ({
  ...NO_OBJECTS,
  counts: (of) =>
    of === kind ? { byState: {}, capped: 0, overdue: NOTHING_OVERDUE, ...counted } : undefined,
})

/** Values by series, such as `platform_tokens{state="issued"}`. */
export async function scraped(metrics: ManagerMetrics): Promise<Readonly<Record<string, number>>> {
  const { body } = await metrics.scrape()
  return Object.fromEntries(seriesOf(body))
}
