/** Runs a task of a caller as soon as the limits allow it; returns or throws as the task does. */
type Semaphore = <Result>(caller: string, task: () => Promise<Result>) => Promise<Result>

/**
 * Limits concurrent tasks, in all and per caller. Other tasks wait; the next to run is the first one whose caller is
 * below its limit.
 */
export function createSemaphore(maxTotal: number, maxPerCaller: number): Semaphore {
  const waiting: { readonly caller: string; readonly begin: () => void }[] = []
  const running: string[] = []
  const hasRoom = (caller: string): boolean =>
    running.length < maxTotal && running.filter((one) => one === caller).length < maxPerCaller
  return async (caller, task) => {
    if (hasRoom(caller)) running.push(caller)
    else await new Promise<void>((begin) => waiting.push({ caller, begin }))
    try {
      return await task()
    } finally {
      running.splice(running.indexOf(caller), 1)
      const at = waiting.findIndex((one) => hasRoom(one.caller))
      const [next] = at === -1 ? [] : waiting.splice(at, 1)
      if (next) {
        running.push(next.caller)
        next.begin()
      }
    }
  }
}
