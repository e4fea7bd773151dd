// Reports about the person of a key, for the operator, which takes them over into the key (contract 25.7): this process may not
// change keys (docs/decisions/0019).
import {
  ACCESS_KEYS,
  API_VERSION,
  CONFIG_MAPS,
  IDENTITY_REPORT_LABEL,
  apiVersionOf,
} from '../../api/names.ts'
import type { ConfigMap } from '../../api/objects.ts'
import {
  type IdentityReport,
  REPORT_DATA_KEY,
  identityReportIn,
  identityReportText,
} from '../../domain/signin/identity-report.ts'
import type { KubeClient } from '../../kube/client/client.ts'

/** Why reports are written, for metrics. */
export const IDENTITY_REPORT_WRITE_REASONS = ['create', 'report'] as const

/** The key that a report is about. */
interface KeyOfReport {
  readonly name: string
  readonly uid: string
}

/** What is new of a person. */
type ReportNews = Partial<Pick<IdentityReport, 'refreshed' | 'gone'>>

/** Writes what is new; what was reported before stays until the person is gone. A person who is gone stays so, for the reason that was first. */
export async function reportIdentity(
  key: KeyOfReport,
  news: ReportNews,
  { client, namespace }: { readonly client: KubeClient; readonly namespace: string },
): Promise<void> {
  const stored = await client.get<ConfigMap>(CONFIG_MAPS, { namespace, name: key.name })
  const before = identityReportIn(stored?.data?.[REPORT_DATA_KEY] ?? '')
  const isSameKey = before?.keyUid === key.uid
  const gone = (isSameKey ? before.gone : null) ?? news.gone ?? null
  const known = news.refreshed ?? (isSameKey ? before.refreshed : null)
  // A key whose person is gone is refreshed no more, and no size of an identity may keep its end from being written.
  const report: IdentityReport = { keyUid: key.uid, refreshed: gone === null ? known : null, gone }
  const data = { [REPORT_DATA_KEY]: identityReportText(report) }
  const owner = { apiVersion: API_VERSION, kind: ACCESS_KEYS.kind, ...key }
  // Also of one that was edited: the operator sees only those with the label.
  const labels = { ...stored?.metadata.labels, [IDENTITY_REPORT_LABEL]: 'true' }
  const marks = { labels, ownerReferences: [owner] }
  if (stored !== null) {
    const metadata = { ...stored.metadata, ...marks }
    await client.replace(CONFIG_MAPS, { ...stored, metadata, data } as ConfigMap, 'report')
    return
  }
  const metadata = { name: key.name, namespace, ...marks }
  const object = { apiVersion: apiVersionOf(CONFIG_MAPS), kind: CONFIG_MAPS.kind, metadata, data }
  await client.create(CONFIG_MAPS, object, 'create')
}
