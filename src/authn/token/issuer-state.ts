// What a direct endpoint knows of the centre: signing keys, revoked tokens, and one setting (contract 9.2).
import { type KnownKeys, NO_KEYS } from '../../domain/token/known-keys.ts'
import type { RevokedList } from '../../domain/token/revoked-list.ts'

/** What is known of the centre. */
export interface Knowledge {
  readonly keys: KnownKeys
  /** null = no list was ever taken. */
  readonly list: RevokedList | null
  /** The setting projectNamespacePrefix; null = not known yet. */
  readonly projectNamespacePrefix: string | null
}

/** Nothing is known. */
export const NOTHING_KNOWN: Knowledge = { keys: NO_KEYS, list: null, projectNamespacePrefix: null }

/** Called with the jti of a token that became revoked; null = all callers must be looked at again. */
export type TokenChangeListener = (jti: string | null) => void

/** What is known at present; listeners hear what callers must be looked at again. */
export interface KnowledgeStore {
  readonly current: () => Knowledge
  /** Replaces parts. @param gained ids of tokens that the new list has and the last one had not */
  readonly update: (parts: Partial<Knowledge>, gained?: readonly string[]) => void
  readonly subscribe: (listener: TokenChangeListener) => void
  /** Calls all listeners with null. */
  readonly notifyAll: () => void
  /** Calls back after each update. */
  readonly whenChanged: (callback: () => void) => void
}

/** With more new revocations than this, one look at all callers is cheaper. */
const MOST_GAINED = 1000

/** Creates a store. */
export function createKnowledgeStore(initial: Knowledge): KnowledgeStore {
  const listeners: TokenChangeListener[] = []
  const changed: (() => void)[] = []
  let current = initial
  const notify: TokenChangeListener = (jti) => {
    for (const listener of listeners) listener(jti)
  }
  return {
    current: () => current,
    update: (parts, gained = []) => {
      const before = current
      current = { ...current, ...parts }
      const concernsAll =
        gained.length > MOST_GAINED ||
        before.projectNamespacePrefix !== current.projectNamespacePrefix ||
        [...before.keys.keys.keys()].some((kid) => !current.keys.keys.has(kid))
      if (concernsAll) notify(null)
      else for (const jti of gained) notify(jti)
      for (const callback of changed) callback()
    },
    subscribe: (listener) => void listeners.push(listener),
    notifyAll: () => notify(null),
    whenChanged: (callback) => void changed.push(callback),
  }
}
