// Bodies that are read here share one event loop and one memory with everybody's requests.
import { setImmediate } from 'node:timers/promises'

/**
 * Lets so many act at a time; the others wait, first come first served. What an act throws is thrown.
 *
 * @returns runs an act when there is room
 */
export function atMost(places: number): <Result>(act: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = []
  let free = places
  return async (act) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await act()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

/**
 * Queues for the event loop, which comes round so many times before the next: what came in meanwhile is
 * seen to, and of connections that wait to be accepted one each time.
 */
export function everySoManyTurns(turns: number): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  const rest = async (): Promise<void> => {
    for (let count = 0; count < turns; count += 1) await setImmediate()
  }
  return () => {
    last = last.then(rest)
    return last
  }
}
