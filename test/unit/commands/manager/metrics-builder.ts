// The metrics of a small manager, and their values.
import { type ManagerMetrics, createMetrics } from '../../../../src/commands/manager/metrics.ts'
import { NOTHING_OVERDUE } from '../../../../src/domain/time.ts'
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
      { kind: 'OwnedAccessKey', metric: 'platform_access_keys', states: ['active', 'expired'] },
      {
        kind: 'DirectClusterEndpointToken',
        metric: 'platform_tokens',
        states: ['issued', 'revoked'],
      },
    ],
    perObject,
  })

/** A cluster without objects. */
export const NO_OBJECTS: Parameters<ManagerMetrics['follow']>[0] = {
  refresh: () => Promise.resolve(),
  statesByKind: () => ({}),
  cappedByKind: () => ({}),
  keyEnds: () => Promise.resolve(),
  overdueByKind: () => ({}),
  signingKeys: () => [],
  signingKeyFaults: () => 0,
  revokedTokens: () => 0,
  revocationBacklog: () => NOTHING_OVERDUE,
}

/** Values by series, such as `platform_tokens{state="issued"}`. */
export async function scraped(metrics: ManagerMetrics): Promise<Readonly<Record<string, number>>> {
  const { body } = await metrics.scrape()
  return Object.fromEntries(seriesOf(body))
}
