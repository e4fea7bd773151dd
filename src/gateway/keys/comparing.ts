// Whether what is shown of an object is what is there (contract 12.4), while a patch changes both.
import { type Json, isList } from '../../domain/json/json.ts'
import { type Shape, isShape } from './draft.ts'

/** Looks at what is shown and what is there. */
export interface Compared {
  readonly isSame: (shown: Json | undefined, current: Json | undefined) => boolean
  /** Whether it has looked at so much that it should not be asked any more. */
  readonly isTired: () => boolean
}

/** Entries of what was changed, which is looked at again for each test. Objects of ours have a few. */
const MOST_LOOKS = 100_000

/**
 * Compares what is shown with what is there. However often it is asked, every part that is settled, and so
 * stays as it is, is looked at once: nobody else is answered meanwhile.
 */
export function comparing(isSettled: (value: Shape) => boolean): Compared {
  const known = new Map<Shape, { readonly shown: Shape; readonly isSame: boolean }>()
  let looks = 0

  const isSame = (shown: Json | undefined, current: Json | undefined): boolean => {
    if (shown === current) return true
    if (!isShape(shown) || !isShape(current)) return false
    const found = known.get(current)
    if (found?.shown === shown) return found.isSame
    const same = areSame(shown, current)
    if (isSettled(shown) && isSettled(current)) known.set(current, { shown, isSame: same })
    else looks += Object.keys(current).length
    return same
  }

  const areSame = (shown: Shape, current: Shape): boolean => {
    if (isList(shown) !== isList(current)) return false
    // What is shown is made of what is there, with the names in the same order.
    const [seen, there] = [Object.entries(shown), Object.entries(current)]
    const isSameEntry = ([name, value]: Entry, place: number): boolean =>
      seen[place]?.[0] === name && isSame(seen[place][1], value)
    return seen.length === there.length && there.every(isSameEntry)
  }
  return { isSame, isTired: () => looks > MOST_LOOKS }
}

type Entry = readonly [name: string, value: Json]
