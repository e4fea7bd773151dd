// Reports what a cluster refuses to write (contract 18.3, 19.8).
import { isRefusal } from '../kube/client/api-error.ts'
import type { SyncReport } from './report.ts'
import type { SyncedObject } from './synced-object.ts'

/** A write whose refusal is reported on the virtual object, if there is one. */
interface ReportedWrite {
  readonly key: string
  readonly virtual: SyncedObject | null
  readonly cluster: 'host' | 'virtual cluster'
  /** Whether the written object was there when it was read. */
  readonly isKnown: boolean
}

/** Reports what a cluster refuses. @throws what `act` does, without a message that could quote a secret value */
export async function refusalReported<T>(
  { key, virtual, cluster, isKnown }: ReportedWrite,
  { report }: { readonly report: SyncReport },
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (virtual !== null && isRefusal(error, isKnown))
      report.notWritten(key, virtual, cluster, error)
    throw report.loggable(error, cluster)
  }
}
