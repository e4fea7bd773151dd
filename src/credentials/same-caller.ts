import type { Caller } from './caller.ts'

/**
 * Whether a caller is the same as before: the same object with the same secret, as the same identity and
 * with the same scope. Only when it ends may differ. A scope that is another is taken for a narrower one:
 * what was opened with the one before is opened anew (contract 13.4).
 */
export function isSameCaller(before: Caller, now: Caller): boolean {
  if (before.key === now.key) return true
  return (
    before.key.uid === now.key.uid &&
    before.key.digest === now.key.digest &&
    // The API server sends the members of an object in one order.
    textOf(before) === textOf(now)
  )
}

const textOf = ({ key, identity }: Caller): string => JSON.stringify([identity, key.scope])
