/** Whether the object of one key sorts before the object of another. */
type IsBefore = (key: string, other: string) => boolean

/**
 * Keys of objects by indexed value. A single key is not put into a set: most values have one, and sets take much
 * memory.
 */
export class SortedIndex {
  readonly #groups = new Map<string, string | Set<string> | string[]>()
  readonly #isBefore: IsBefore | null

  /** @param isBefore the order of the keys of one value; null = the order in which they were added */
  constructor(isBefore: IsBefore | null) {
    this.#isBefore = isBefore
  }

  /** Adds a key. The store must have its object already, which `isBefore` compares. */
  add(value: string, key: string): void {
    const group = this.#groups.get(value)
    if (group === undefined) this.#groups.set(value, key)
    else if (this.#isBefore === null) this.#groups.set(value, asSet(group).add(key))
    else {
      const keys = Array.isArray(group) ? group : [...asSet(group)]
      keys.splice(placeOf(key, keys, this.#isBefore), 0, key)
      this.#groups.set(value, keys)
    }
  }

  remove(value: string, key: string): void {
    const group = this.#groups.get(value)
    if (group === key) this.#groups.delete(value)
    if (group === undefined || typeof group === 'string') return
    if (group instanceof Set) group.delete(key)
    else if (group.includes(key)) group.splice(group.indexOf(key), 1)
    if (sizeOf(group) === 0) this.#groups.delete(value)
  }

  /** The first keys of that value, `most` at most, in the order of the index; in constant time if that is sorted. */
  keys(value: string, most: number): readonly string[] {
    const group = this.#groups.get(value)
    if (typeof group === 'string') return [group].slice(0, most)
    return Array.isArray(group) ? group.slice(0, most) : [...(group ?? [])].slice(0, most)
  }

  /** The first key of that value, in constant time; undefined = no object has the value. */
  first(value: string): string | undefined {
    const group = this.#groups.get(value)
    return typeof group === 'string' ? group : group?.values().next().value
  }

  /** The number of keys of that value. */
  count(value: string): number {
    const group = this.#groups.get(value)
    return typeof group === 'string' ? 1 : sizeOf(group ?? [])
  }
}

const asSet = (group: string | Set<string> | string[]): Set<string> =>
  group instanceof Set ? group : new Set(typeof group === 'string' ? [group] : group)

const sizeOf = (keys: Set<string> | readonly string[]): number =>
  keys instanceof Set ? keys.size : keys.length

/** The place of a key among sorted keys, by binary search. */
function placeOf(key: string, keys: readonly string[], isBefore: IsBefore): number {
  let [low, high] = [0, keys.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(keys[middle] ?? '', key)) low = middle + 1
    else high = middle
  }
  return low
}
