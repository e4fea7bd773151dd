// What follows a patch that fails (contract 19.8).
import type { Outcome } from '../../kube/controller/controller.ts'
import { ReportedFailure } from '../../kube/controller/reported-failure.ts'
import type { Patched } from '../patches/apply.ts'
import { dependsOnClusters } from '../patches/reference.ts'

/** A patch that failed, at one field of an object. */
export type FailedPatch = Extract<Patched, { readonly ok: false }>

/**
 * How often an object is tried whose patches fail, at least: what the same request has again each time ends by a change
 * of the object or of the patches, which queues it.
 */
const FAILED_PATCH_MS = 300_000

/**
 * The next try. What an evaluation had no time for is tried after a back-off; so is what depends on the clusters, which
 * nothing announces, but that one stays at the queue's longest.
 *
 * @param text the error as it may be logged
 * @throws ReportedFailure, for a try after a back-off
 */
export function afterFailedPatch({ failure }: FailedPatch, text: string, nowMs: number): Outcome {
  if (dependsOnClusters(failure)) throw new ReportedFailure(text)
  if (failure.isTransient) throw new ReportedFailure(text, { longestMs: FAILED_PATCH_MS })
  return { result: 'later', atMs: nowMs + FAILED_PATCH_MS }
}
