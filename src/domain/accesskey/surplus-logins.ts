// How many sign-ins of a user work at a time (contract 5.1).
import { usernameIn } from '../people/user.ts'
import type { AccessKey } from './access-key.ts'

/** The most Login keys of a user that are kept: those that were used last. */
const MAX_LOGIN_KEYS = 20

/**
 * Whether a key counts among the Login keys of its user. A GitOps tool would create one again that is deleted, and one
 * that is being deleted needs no second deletion.
 */
export const isCountedLogin = ({ type, identity, isTracked, isDeleting }: AccessKey): boolean =>
  type === 'Login' && usernameIn(identity) !== null && !isTracked && !isDeleting

/**
 * Whether a key is deleted because its user has more sign-ins: others were used later. No sort: a robot that signs in may
 * have thousands.
 *
 * @param logins the counted Login keys of the user
 */
export function isSurplusLogin(key: AccessKey, logins: readonly AccessKey[]): boolean {
  if (logins.length <= MAX_LOGIN_KEYS || !isCountedLogin(key)) return false
  let later = 0
  for (const other of logins) {
    if (isUsedLater(other, key)) later += 1
    if (later === MAX_LOGIN_KEYS) return true
  }
  return false
}

/** The counted Login key that goes when a further one comes; undefined = there is room. */
export const leastUsedLogin = (logins: readonly AccessKey[]): AccessKey | undefined =>
  logins.length <= MAX_LOGIN_KEYS
    ? undefined
    : logins.reduce((least, key) => (isUsedLater(least, key) ? key : least))

/** Whether a key was used later than another. A key that was never used counts from its creation. */
const isUsedLater = (one: AccessKey, other: AccessKey): boolean =>
  usedMs(one) === usedMs(other) ? one.uid < other.uid : usedMs(one) > usedMs(other)

const usedMs = ({ lastActivityMs, creationMs }: AccessKey): number => lastActivityMs ?? creationMs
