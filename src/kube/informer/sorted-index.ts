/** Whether the object of one name comes before that of another. */
export type IsBefore = (name: string, other: string) => boolean

/** Names of objects by a value. Most values have one name: a set for each would take more memory than the objects. */
export class SortedIndex {
  readonly #groups = new Map<string, string | Set<string> | string[]>()
  readonly #isBefore: IsBefore | null

  /** @param isBefore the order of the names of one value; null = the order of arrival */
  constructor(isBefore: IsBefore | null) {
    this.#isBefore = isBefore
  }

  /** The store must have the object already, to compare it. */
  enter(value: string, name: string): void {
    const there = this.#groups.get(value)
    if (there === undefined) this.#groups.set(value, name)
    else if (this.#isBefore === null) this.#groups.set(value, asSet(there).add(name))
    else {
      const names = Array.isArray(there) ? there : [...asSet(there)]
      names.splice(placeOf(name, names, this.#isBefore), 0, name)
      this.#groups.set(value, names)
    }
  }

  leave(value: string, name: string): void {
    const there = this.#groups.get(value)
    if (there === name) this.#groups.delete(value)
    if (there === undefined || typeof there === 'string') return
    if (there instanceof Set) there.delete(name)
    else if (there.includes(name)) there.splice(there.indexOf(name), 1)
    if (sizeOf(there) === 0) this.#groups.delete(value)
  }

  /** The names of that value, in their order. */
  names(value: string): readonly string[] {
    const there = this.#groups.get(value)
    return typeof there === 'string' ? [there] : [...(there ?? [])]
  }

  /** The first of them, in constant time; undefined = there is none. */
  first(value: string): string | undefined {
    const there = this.#groups.get(value)
    return typeof there === 'string' ? there : there?.values().next().value
  }

  /** How many they are. */
  count(value: string): number {
    const there = this.#groups.get(value)
    return typeof there === 'string' ? 1 : sizeOf(there ?? [])
  }
}

const asSet = (there: string | Set<string> | string[]): Set<string> =>
  there instanceof Set ? there : new Set(typeof there === 'string' ? [there] : there)

const sizeOf = (names: Set<string> | readonly string[]): number =>
  names instanceof Set ? names.size : names.length

/** Its place among sorted names, by binary search. */
function placeOf(name: string, names: readonly string[], isBefore: IsBefore): number {
  let [low, high] = [0, names.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(names[middle] ?? '', name)) low = middle + 1
    else high = middle
  }
  return low
}
