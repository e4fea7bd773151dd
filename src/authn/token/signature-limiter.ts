// Bounds the checks of signatures: each forged token costs one, and anybody can send forged tokens (threats D5).
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import { type DecodedToken, type VerificationKey, verifySignature } from './compact-jws.ts'

/** Checks at a time: Node has four threads for them, which files and names of hosts need too. */
const AT_A_TIME = 2

/** Maximum number of checks in progress; most of them wait, for some tens of milliseconds. */
export const MOST_SIGNATURE_CHECKS = 256

/** Whether the key has signed the token; null = too many checks are in progress. Never rejects. */
type SignatureCheck = (key: VerificationKey, decoded: DecodedToken) => Promise<boolean | null>

/** Creates the check. Requests that come with the same token at once share one. */
export function createSignatureCheck(): SignatureCheck {
  const semaphore = createSemaphore(AT_A_TIME, AT_A_TIME)
  const inProgress = new Map<string, Promise<boolean>>()
  return async (key, decoded) => {
    const { token } = decoded
    const same = inProgress.get(token)
    if (same) return same
    if (inProgress.size >= MOST_SIGNATURE_CHECKS) return null
    const checking = semaphore('token', () => verifySignature(key, decoded)).finally(() =>
      inProgress.delete(token),
    )
    inProgress.set(token, checking)
    return checking
  }
}
