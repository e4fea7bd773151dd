// The state of a direct endpoint: the issuer's signing keys, its revoked tokens, and one setting (contract 9.2).
import { type KnownKeys, NO_KEYS } from '../../domain/token/known-keys.ts'
import type { RevokedList } from '../../domain/token/revoked-list.ts'

/** The last accepted documents of the issuer. */
export interface IssuerState {
  readonly keys: KnownKeys
  /** null = no list was ever accepted. */
  readonly list: RevokedList | null
  /** The setting projectNamespacePrefix; null = no discovery document was ever accepted. */
  readonly projectNamespacePrefix: string | null
}

/** The state before any document was accepted. */
export const EMPTY_STATE: IssuerState = { keys: NO_KEYS, list: null, projectNamespacePrefix: null }

/** Called with the jti of a token that became revoked; null = all callers must be checked again. */
export type TokenChangeListener = (jti: string | null) => void

/** The present state. Listeners are notified which callers must be checked again. */
export interface IssuerStateStore {
  readonly current: () => IssuerState
  /** Replaces parts. @param newlyRevoked ids of tokens that the new list has and the last one had not */
  readonly update: (parts: Partial<IssuerState>, newlyRevoked?: readonly string[]) => void
  readonly subscribe: (listener: TokenChangeListener) => void
  /** Calls all listeners with null. */
  readonly notifyAll: () => void
  /** Calls back after each update. */
  readonly whenChanged: (callback: () => void) => void
}

/** With more new revocations than this, one check of all callers is cheaper. */
const MOST_NOTIFIED = 1000

/** Creates a store. */
export function createIssuerStateStore(initial: IssuerState): IssuerStateStore {
  const listeners: TokenChangeListener[] = []
  const changed: (() => void)[] = []
  let current = initial
  const notify: TokenChangeListener = (jti) => {
    for (const listener of listeners) listener(jti)
  }
  return {
    current: () => current,
    update: (parts, newlyRevoked = []) => {
      const before = current
      current = { ...current, ...parts }
      const concernsAll =
        newlyRevoked.length > MOST_NOTIFIED ||
        before.projectNamespacePrefix !== current.projectNamespacePrefix ||
        [...before.keys.keys.keys()].some((kid) => !current.keys.keys.has(kid))
      if (concernsAll) notify(null)
      else for (const jti of newlyRevoked) notify(jti)
      for (const callback of changed) callback()
    },
    subscribe: (listener) => void listeners.push(listener),
    notifyAll: () => notify(null),
    whenChanged: (callback) => void changed.push(callback),
  }
}
