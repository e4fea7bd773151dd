// When a failed patch is tried again (contract 19.8).
import type { Outcome } from '../../kube/controller/outcome.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'
import type { Patched } from '../patches/apply.ts'
import { dependsOnClusters } from '../patches/reference.ts'

/** A patch that failed, at one field of an object. */
export type FailedPatch = Extract<Patched, { readonly ok: false }>

/**
 * An object whose patches fail is tried again after this time at the latest. A failure that every try repeats ends only
 * when the object or the patches change, and that queues the object.
 */
const FAILED_PATCH_MS = 300_000

/**
 * The next try. An evaluation that ran out of time is tried again after a back-off. So is a failure that depends on the
 * clusters, as its end causes no event; its longest delay is the queue's.
 *
 * @param text the error as it may be logged
 * @throws ReportedFailure, for a try after a back-off
 */
export function afterFailedPatch({ failure }: FailedPatch, text: string, nowMs: number): Outcome {
  if (dependsOnClusters(failure)) throw new ReportedFailure(text)
  if (failure.isTransient) throw new ReportedFailure(text, { longestMs: FAILED_PATCH_MS })
  return { result: 'later', atMs: nowMs + FAILED_PATCH_MS }
}
