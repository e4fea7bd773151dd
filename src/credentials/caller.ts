import type { AccessKey } from '../domain/accesskey/access-key.ts'
import type { ReadScope } from '../domain/scope/authorize.ts'

/** The identity that a request is sent upstream with (contract 10.5). */
export interface Identity {
  /** Never blank. */
  readonly user: string
  readonly groups: readonly string[]
}

/** The authenticated caller of a request: a key that was good when it was checked. */
export interface Caller {
  /** The key as it was then; a later state of the object is another value. */
  readonly key: AccessKey
  readonly identity: Identity
  /** Read once for each state of the key. */
  readonly scope: ReadScope
  /** When the key stops working, in epoch milliseconds; null = never. */
  readonly expiresMs: number | null
}
