// Reports of the sign-in process about a key, in a cluster in memory.
import { NAME } from './stored-session.ts'
import type { ConfigMap } from '../../../src/api/objects.ts'
import {
  type IdentityReport,
  identityReportIn,
} from '../../../src/domain/signin/identity-report.ts'
import type { MemoryCluster } from './memory-cluster.ts'

/** The report about a key; null = there is none. */
export function reportIn(cluster: MemoryCluster, name = NAME): IdentityReport | null {
  const stored = cluster.object('ConfigMap', name) as ConfigMap | undefined
  return identityReportIn(stored?.data?.['report'] ?? '')
}

/** Why the person of a key is gone; null = the person is not. */
export const goneIn = (cluster: MemoryCluster): string | null =>
  reportIn(cluster)?.gone?.reason ?? null
