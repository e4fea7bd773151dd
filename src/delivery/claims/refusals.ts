// What the API server refuses to the delivery of a claim, as a state of the claim (contract 28.4, 28.7).
import { SECRETS } from '../../api/names.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import { UNKNOWN_SECRET } from '../../domain/claim/secret-view.ts'
import { StatusError, isRefusal, withoutDetail } from '../../kube/client/api-error.ts'
import { isAllowed } from '../../kube/client/own-access.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import type { ClaimRecord } from './claim-memory.ts'
import type { ClaimDeps } from './deps.ts'
import type { ClaimFault } from './facts.ts'

/** How a delivery into the namespace is tried again. A right that is granted is noticed within the longest. */
const BACK_OFF = { firstMs: 1000, longestMs: 15_000 }

/** The state after a refusal: nothing is tried until its time has come or the claim has changed. */
export function refused(
  record: ClaimRecord,
  { generation }: Claim,
  fault: ClaimFault,
  nowMs: number,
): void {
  const isAgain = record.fault?.reason === fault.reason && record.fault.generation === generation
  const failures = isAgain ? (record.fault?.failures ?? 0) + 1 : 1
  record.fault = {
    ...fault,
    generation,
    failures,
    retryMs: nowMs + backoffMs(BACK_OFF, failures - 1),
  }
}

/**
 * Runs a step that reads or writes a Secret; a refusal becomes a fault of the claim.
 *
 * @param isTrial whether neither the write nor the Secret that stands has a credential, so that the answer can be shown: a
 * policy of others may quote both
 * @returns whether it was done
 * @throws every other error
 */
export async function unlessRefused(
  claim: Claim,
  act: () => Promise<void>,
  deps: ClaimDeps,
  { isTrial }: { readonly isTrial: boolean },
): Promise<boolean> {
  const record = deps.memory.of(claim)
  try {
    await act()
    return true
  } catch (error) {
    // The Secret is not as it was read, or the answer was lost.
    if (!isRefusal(error, false)) {
      record.secret = UNKNOWN_SECRET
      throw isTrial || !(error instanceof StatusError)
        ? error
        : withoutDetail(error, 'write of the Secret')
    }
    refused(record, claim, await faultOf(error, claim, deps, isTrial), deps.clock.nowMs())
    return false
  }
}

/**
 * Runs a write of a key or token; a refusal, as of another's policy, becomes a fault of the claim.
 *
 * @returns null when it was refused
 * @throws every other error
 */
export async function writtenUnlessRefused<Written>(
  claim: Claim,
  write: () => Promise<Written>,
  { memory, clock }: Pick<ClaimDeps, 'memory' | 'clock'>,
): Promise<Written | null> {
  const record = memory.of(claim)
  try {
    const written = await write()
    record.fault = null
    return written
  } catch (error) {
    if (!isRefusal(error, true)) throw error
    refused(record, claim, notWritten(error), clock.nowMs())
    return null
  }
}

/** What was written has at most the digest of a key, so that the answer can be shown. */
const notWritten = (error: StatusError): ClaimFault => ({
  reason: 'Pending',
  message: `The access key or token cannot be written: ${answerOf(error, true)}.`,
})

/** The answer as the end of a sentence. @param isShown whether it may be shown in its own words */
const answerOf = ({ code, reason, words }: StatusError, isShown: boolean): string =>
  ((isShown && words) || `${code} ${reason}`).trimEnd().replace(/\.$/, '')

async function faultOf(
  error: StatusError,
  claim: Claim,
  deps: ClaimDeps,
  isTrial: boolean,
): Promise<ClaimFault> {
  if (error.code === 403 && !(await mayDeliver(claim, deps))) return forbidden(claim, deps)
  return {
    reason: 'SecretRefused',
    message: `Secret ${claim.secret.name} cannot be written: ${answerOf(error, isTrial)}.`,
  }
}

const VERBS = ['get', 'list', 'create', 'patch']

async function mayDeliver({ namespace }: Claim, { clientDeps }: ClaimDeps): Promise<boolean> {
  const { signal } = new AbortController()
  for (const verb of VERBS) {
    const asked = { verb, resource: SECRETS, namespace, name: '' }
    if (!(await isAllowed(clientDeps, asked, signal))) return false
  }
  return true
}

/** The fault of a claim in whose namespace the process has no rights. */
export const forbidden = (
  { namespace }: Pick<Claim, 'namespace'>,
  { places }: Pick<ClaimDeps, 'places'>,
): ClaimFault => ({
  reason: 'DeliveryForbidden',
  message: `The delivery process may not write Secrets in namespace ${namespace}. An owner of the namespace allows it by: kubectl create rolebinding platform-secret-delivery --namespace=${namespace} --clusterrole=platform-secret-delivery --serviceaccount=${places.namespace}:delivery`,
})

/** Another has made a Secret of the name. */
export const taken = ({ secret: { name } }: Claim): ClaimFault => ({
  reason: 'SecretTaken',
  message: `Secret ${name} was made by others and is left alone: delete it, or create another claim with another spec.secret.name.`,
})

/** The claim was deleted and made again: the garbage collector has the Secret of the former one still to delete. */
export const leaving = ({ secret: { name } }: Claim): ClaimFault => ({
  reason: 'Pending',
  message: `Secret ${name} of a former claim of this name is about to be deleted.`,
})
