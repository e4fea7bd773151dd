// Bodies that are read here share one event loop and one memory with everybody's requests.
import { setImmediate } from 'node:timers/promises'

/**
 * Lets so many act at a time, and so many of them on behalf of one caller; the others wait, first come first
 * served of those whose caller has room. What an act throws is thrown.
 *
 * @returns runs an act on behalf of a caller when there is room
 */
export function createSemaphore(
  inAll: number,
  ofOne: number,
): <Result>(caller: string, act: () => Promise<Result>) => Promise<Result> {
  const waiting: { readonly caller: string; readonly begin: () => void }[] = []
  const acting: string[] = []
  const hasRoom = (caller: string): boolean =>
    acting.length < inAll && acting.filter((one) => one === caller).length < ofOne
  return async (caller, act) => {
    if (hasRoom(caller)) acting.push(caller)
    else await new Promise<void>((begin) => waiting.push({ caller, begin }))
    try {
      return await act()
    } finally {
      acting.splice(acting.indexOf(caller), 1)
      const at = waiting.findIndex((one) => hasRoom(one.caller))
      const [next] = at === -1 ? [] : waiting.splice(at, 1)
      if (next) {
        acting.push(next.caller)
        next.begin()
      }
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
