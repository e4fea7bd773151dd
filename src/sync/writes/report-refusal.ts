// Writes whose refusal by the cluster is reported once, where it lasts (contract 19.8).
import { isRefusal, type StatusError } from '../../kube/client/api-error.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'

/** How the refusal of a write is reported. */
interface RefusalReport {
  /** Whether the written object existed when it was read, see isRefusal. */
  readonly isKnown: boolean
  /** The error as it may be logged: without what the cluster quotes of a secret. */
  readonly loggable: (error: unknown) => unknown
  readonly report: (refusal: StatusError) => void
}

/**
 * Writes, and reports a refusal by the cluster.
 *
 * @throws ReportedFailure for a refusal, else what `write` throws, each as it may be logged
 */
export async function reportRefusal<T>(
  write: () => Promise<T>,
  { isKnown, loggable, report }: RefusalReport,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const logged = loggable(error)
    if (!isRefusal(error, isKnown)) throw logged
    report(error)
    const cause = logged instanceof Error ? logged : error
    throw new ReportedFailure(cause.message, { retryAfterMs: error.retryAfterMs, cause })
  }
}
