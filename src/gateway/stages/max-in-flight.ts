// Admits a request within the limits of its key and of the person behind it (contract 13.3).
import { isLongRunning } from '../proxy/forward.ts'
import { type Stage, known } from '../request-context.ts'
import { AdmittedRequest } from '../streams/admitted-request.ts'
import type { InFlightRequests } from '../streams/in-flight.ts'
import { type MaxInFlight, inFlightOwnerOf } from '../streams/max-in-flight.ts'
import { leaseRequest } from '../streams/request-lease.ts'

/** The dependencies of the stage. */
export interface MaxInFlightDeps {
  readonly limits: MaxInFlight
  readonly inFlight: InFlightRequests
}

/**
 * Refuses a request beyond the limits. An admitted one keeps its place and a lease of its key until its answer ends.
 */
export const maxInFlight: Stage<MaxInFlightDeps> = (context, { limits, inFlight }) => {
  const caller = known(context, 'caller')
  const isLong = context.upgrade !== null || isLongRunning(known(context, 'request').attributes)
  const admission = limits.admit(inFlightOwnerOf(caller), isLong ? 'stream' : 'request')
  if (!admission.ok) return admission.answer
  const lease = leaseRequest(inFlight, {
    call: context.http,
    caller,
    connection: known(context, 'resolved').connection,
    isLong,
  })
  context.admitted = new AdmittedRequest({ lease, isLong, freePlace: admission.release })
  return null
}
