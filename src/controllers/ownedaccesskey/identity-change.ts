// What a report of the sign-in process changes in its Login key (contract 25.7), without I/O. A report sets the last refresh neither
// back nor into the future, and never takes back that a person is gone.
import { IDENTITY_GONE_ANNOTATION } from '../../api/names.ts'
import type { ConfigMap, KubeObject } from '../../api/objects.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import {
  type GoneReason,
  type IdentityReport,
  REPORT_DATA_KEY,
  identityReportIn,
} from '../../domain/signin/identity-report.ts'
import { formatTimestamp } from '../../domain/time.ts'
import type { PatchOperation } from '../../kube/client/client.ts'
import type { CachedObject } from '../../kube/informer/store.ts'

/** What is known of a report. Its identity is read again when it is written: 10,000 sessions have 160 MB of them. */
export interface ReportedIdentity extends Pick<IdentityReport, 'keyUid' | 'gone'> {
  /** When the provider last answered for the person, in epoch milliseconds; null = not since the sign-in. */
  readonly refreshedMs: number | null
}

/** A ConfigMap with a report, in a store. */
export interface StoredReport extends CachedObject {
  readonly namespace: string
  /** null = the report is malformed, or says nothing. */
  readonly said: ReportedIdentity | null
}

/** The projection for a store of reports. Never throws. */
export function storedReportOf(object: KubeObject): StoredReport {
  const { name, namespace = '', uid, resourceVersion } = object.metadata
  return { name, namespace, uid, resourceVersion, said: reportedIdentityOf(object as ConfigMap) }
}

function reportedIdentityOf(object: ConfigMap): ReportedIdentity | null {
  const report = reportOf(object)
  if (report === null || (report.refreshed === null && report.gone === null)) return null
  const { keyUid, refreshed, gone } = report
  return { keyUid, refreshedMs: refreshed?.atMs ?? null, gone }
}

/** The report in its ConfigMap; null = it is malformed. */
export const reportOf = ({ data }: ConfigMap): IdentityReport | null =>
  identityReportIn(data?.[REPORT_DATA_KEY] ?? '')

/** A change of a key. `gone`: the person is gone for good; `refreshed`: the provider has confirmed the person. */
export type IdentityChange =
  | { readonly kind: 'gone'; readonly atMs: number; readonly reason: GoneReason }
  | { readonly kind: 'refreshed'; readonly atMs: number }

/** What `identity-gone` may become: only what is worse than it was. */
const SEVERITY: Readonly<Record<GoneReason, number>> = { SignInAgain: 1, IdentityGone: 2 }

const severityOf = (reason: GoneReason | null): number => (reason === null ? 0 : SEVERITY[reason])

/** The fields of a key that decide. */
type ReportedKey = Pick<AccessKey, 'uid' | 'type' | 'isDeleting' | 'identityGone' | 'refreshedMs'>

/**
 * What a report changes now; null = nothing. A refresh in the future is not believed before its time: it would keep a key
 * alive that nobody has confirmed. An end is believed at once, whatever its time.
 *
 * @param said null = there is no report
 */
export function identityChangeOf(
  key: ReportedKey,
  said: ReportedIdentity | null,
  nowMs: number,
): IdentityChange | null {
  if (said === null || said.keyUid !== key.uid || key.type !== 'Login' || key.isDeleting)
    return null
  const { gone, refreshedMs } = said
  if (gone !== null && severityOf(gone.reason) > severityOf(key.identityGone))
    return { kind: 'gone', ...gone }
  if (key.identityGone !== null || refreshedMs === null || refreshedMs > nowMs) return null
  const isLater = key.refreshedMs === null || refreshedMs > key.refreshedMs
  return isLater ? { kind: 'refreshed', atMs: refreshedMs } : null
}

/** When a refresh in the future is to be written, in epoch milliseconds; null = none waits. */
export function awaitedRefreshMs(
  key: ReportedKey,
  said: ReportedIdentity | null,
  nowMs: number,
): number | null {
  const change = identityChangeOf(key, said, Number.POSITIVE_INFINITY)
  return change?.kind === 'refreshed' && change.atMs > nowMs ? change.atMs : null
}

const GONE_PATH = `/metadata/annotations/${IDENTITY_GONE_ANNOTATION.replaceAll('/', '~1')}`

/** The patch that writes an end into a key that has annotations, as each one that is adopted. */
export const goneOperations = (
  key: Pick<AccessKey, 'resourceVersion'>,
  { atMs, reason }: Extract<IdentityChange, { kind: 'gone' }>,
): readonly PatchOperation[] => [
  testVersion(key),
  { op: 'add', path: GONE_PATH, value: `${formatTimestamp(atMs)} ${reason}` },
]

/** The patch that writes a refresh into a key. */
export const refreshOperations = (
  key: Pick<AccessKey, 'resourceVersion'>,
  { atMs, identity }: { readonly atMs: number; readonly identity: JsonMap },
): readonly PatchOperation[] => [
  testVersion(key),
  { op: 'add', path: '/spec/identity', value: identity },
  { op: 'add', path: '/spec/identityRefresh', value: formatTimestamp(atMs) },
]

const testVersion = ({ resourceVersion }: Pick<AccessKey, 'resourceVersion'>): PatchOperation => ({
  op: 'test',
  path: '/metadata/resourceVersion',
  value: resourceVersion,
})
