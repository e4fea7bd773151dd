import type { AccessKey } from '../domain/access-key.ts'
import type { ReadScope } from '../domain/scope/decide.ts'

/** As whom a request goes upstream (contract 10.5). */
export interface Identity {
  /** Never blank. */
  readonly user: string
  readonly groups: readonly string[]
}

/** Who is calling: a key that was good when it was asked. */
export interface Caller {
  /** As of then; a later state of the object is another value. */
  readonly key: AccessKey
  readonly identity: Identity
  /** Read once for each state of the key. */
  readonly scope: ReadScope
  /** When the key stops working, in epoch milliseconds; null = never. */
  readonly expiresMs: number | null
}
