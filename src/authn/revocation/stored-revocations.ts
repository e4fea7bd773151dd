// The index of the revoked tokens in the ConfigMaps of contract 7.4; operator and gateway use it.
import type { ConfigMap } from '../../api/objects.ts'
import { revokedTokensIn, revokedJtisIn } from '../../domain/token/revocation.ts'

/** The effect of one ConfigMap's change: tokens that are new in the index, or gone from it. */
export interface StoredChange {
  readonly gained: readonly string[]
  /** With the exp that was stored, in epoch milliseconds. */
  readonly lost: readonly (readonly [jti: string, expiresMs: number])[]
  /** Tokens that changed in this ConfigMap and are in another one, too. */
  readonly shared: readonly string[]
}

/** A revoked token in the index. */
interface StoredRevocation {
  /** In how many ConfigMaps: a user may have copied one. */
  readonly places: number
  /** The latest of its ends in these, in epoch milliseconds. */
  readonly endMs: number
}

/** The revoked tokens of all ConfigMaps. The cost of a change grows with the change, not with the whole. */
export class StoredRevocations {
  readonly #stored = new Map<string, StoredRevocation>()

  has(jti: string): boolean {
    return this.#stored.has(jti)
  }

  /** undefined = no ConfigMap has it. */
  get(jti: string): StoredRevocation | undefined {
    return this.#stored.get(jti)
  }

  /** How many end after that time, epoch milliseconds. */
  countAt(nowMs: number): number {
    let count = 0
    for (const { endMs } of this.#stored.values()) if (endMs > nowMs) count += 1
    return count
  }

  /** Applies one ConfigMap's change; undefined = it did not, or does not, exist. */
  update(before: ConfigMap | undefined, after: ConfigMap | undefined): StoredChange {
    const change: ChangeBuilder = { gained: [], lost: [], shared: [] }
    const [old, current] = [before?.data ?? {}, after?.data ?? {}]
    // Additions first: a token that stays is never missing in between.
    for (const [jti, endMs] of after ? revokedTokensIn(after, before) : [])
      this.#add(jti, endMs, !Object.hasOwn(old, jti), change)
    for (const jti of revokedJtisIn(before))
      if (!Object.hasOwn(current, jti)) this.#remove(jti, change)
    return change
  }

  /** @param isNew else that ConfigMap had it before, with another end */
  #add(jti: string, endMs: number, isNew: boolean, { gained, shared }: ChangeBuilder): void {
    const { places: before, endMs: beforeMs } = this.#stored.get(jti) ?? ABSENT
    const places = before + (isNew ? 1 : 0)
    this.#stored.set(jti, { places, endMs: places > 1 ? Math.max(endMs, beforeMs) : endMs })
    if (before === 0) gained.push(jti)
    if (places > 1) shared.push(jti)
  }

  #remove(jti: string, { lost, shared }: ChangeBuilder): void {
    const { places, endMs } = this.#stored.get(jti) ?? ABSENT
    if (places > 1) {
      this.#stored.set(jti, { places: places - 1, endMs })
      shared.push(jti)
    } else if (this.#stored.delete(jti)) lost.push([jti, endMs])
  }
}

interface ChangeBuilder extends StoredChange {
  readonly gained: string[]
  readonly lost: (readonly [jti: string, expiresMs: number])[]
  readonly shared: string[]
}

const ABSENT: StoredRevocation = { places: 0, endMs: 0 }
