// How many sign-ins of a user work at a time (contract 5.1).
import type { AccessKey } from './access-key.ts'

/** The most Login keys of a user that are kept: those that were used last. */
const MAX_LOGIN_KEYS = 20

/**
 * Whether a key counts among the Login keys of its user. A GitOps tool would create one again that is deleted, and one
 * that is being deleted needs no second deletion.
 */
export const isCountedLogin = ({ type, identity, isTracked, isDeleting }: AccessKey): boolean =>
  type === 'Login' && identity !== null && identity.startsWith('user:') && !isTracked && !isDeleting

/** Those of the counted Login keys of a user that are deleted: all but the last used. */
export const surplusLoginsOf = (logins: readonly AccessKey[]): readonly AccessKey[] =>
  logins.length <= MAX_LOGIN_KEYS ? NONE : logins.toSorted(byLastUse).slice(MAX_LOGIN_KEYS)

const NONE: readonly AccessKey[] = []

/** The last used first. A key that was never used counts from its creation. */
const byLastUse = (one: AccessKey, other: AccessKey): number =>
  usedMs(other) - usedMs(one) || (one.uid < other.uid ? -1 : 1)

const usedMs = ({ lastActivityMs, creationMs }: AccessKey): number => lastActivityMs ?? creationMs
