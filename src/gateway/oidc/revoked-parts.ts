import { createHash } from 'node:crypto'
import type { ConfigMap } from '../../api/objects.ts'
import { StoredRevocations } from '../../authn/revocation/revocation-list.ts'
import { revokedMembers, revokedNamesIn } from '../../domain/token/revocation.ts'

/** What one ConfigMap adds to the list of revoked tokens. */
export interface RevokedPart {
  /** Members of a JSON object, without its braces; empty where there are none. */
  readonly text: Buffer
  readonly digest: Buffer
}

interface Held {
  readonly configMap: ConfigMap
  /** null = to be made. */
  part: RevokedPart | null
}

/**
 * The list of revoked tokens in parts, one for each ConfigMap: one that has not changed is not read again.
 * A token that is in several is in the part of one of them, with its latest end.
 */
export class RevokedParts {
  readonly #stored = new StoredRevocations()
  readonly #held = new Map<string, Held>()

  /** Names of the ConfigMaps that were taken, the last hour first: what is cut off its end ends soonest. */
  names(): readonly string[] {
    return [...this.#held.keys()].toSorted((a, b) => (a > b ? -1 : 1))
  }

  /** Takes a ConfigMap as it is now; undefined = it is not there. Returns whether it is another than before. */
  take(name: string, configMap: ConfigMap | undefined): boolean {
    const before = this.#held.get(name)?.configMap
    if (before === configMap) return false
    if (configMap) this.#held.set(name, { configMap, part: null })
    else this.#held.delete(name)
    const { shared } = this.#stored.update(before, configMap)
    for (const held of this.#held.values()) {
      if (shared.some((jti) => isIn(held, jti))) held.part = null
    }
    return true
  }

  /** The part of a ConfigMap that was taken, and whether it was made just now. */
  partOf(name: string): { readonly part: RevokedPart; readonly isNew: boolean } {
    const held = this.#held.get(name)
    const isNew = held?.part === null
    if (isNew) held.part = partWith(revokedMembers(this.#members(name, held)))
    return { part: held?.part ?? EMPTY, isNew }
  }

  #members(name: string, { configMap }: Held): readonly (readonly [string, number])[] {
    return revokedNamesIn(configMap).flatMap((jti) => {
      const { places, endMs } = this.#stored.get(jti) ?? NOWHERE
      return places === 1 || this.#isFirst(name, jti) ? [[jti, endMs] as const] : []
    })
  }

  /** Whether no ConfigMap with an earlier name has it, too. */
  #isFirst(name: string, jti: string): boolean {
    return ![...this.#held].some(([other, held]) => other < name && isIn(held, jti))
  }
}

const partWith = (members: string): RevokedPart => {
  const text = Buffer.from(members)
  return { text, digest: createHash('sha256').update(text).digest() }
}

const EMPTY = partWith('')
const NOWHERE = { places: 0, endMs: 0 }

const isIn = ({ configMap: { data = {} } }: Held, jti: string): boolean => Object.hasOwn(data, jti)
