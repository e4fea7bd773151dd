// Reports what a cluster refuses to write (contract 18.3, 19.8).
import type { JsonMap } from '../../domain/json/json.ts'
import { isRefusal } from '../../kube/client/api-error.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { SyncReport } from './report.ts'

/** A write whose refusal is reported, with an Event on the virtual object if there is one. */
interface ReportedWrite {
  readonly key: string
  readonly virtual: SyncedObject | null
  readonly cluster: 'host' | 'virtual cluster'
  /** Whether the written object was there when it was read. */
  readonly isKnown: boolean
  /** What is to be written; null = a delete. */
  readonly sent: JsonMap | null
}

/**
 * Reports what a cluster refuses.
 *
 * @throws ReportedFailure for a refusal, else what `act` does; neither with a message that could quote a secret value
 */
export async function refusalReported<T>(
  { key, virtual, cluster, isKnown, sent }: ReportedWrite,
  { report }: { readonly report: SyncReport },
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    const loggable = report.loggable(error, cluster)
    if (!isRefusal(error, isKnown)) throw loggable
    report.notWritten(key, virtual, { by: cluster, error, sent })
    const cause = loggable instanceof Error ? loggable : error
    throw new ReportedFailure(cause.message, { retryAfterMs: error.retryAfterMs, cause })
  }
}
