/** Runs a task for a caller when there is room; returns or throws as the task does. */
type Semaphore = <Result>(caller: string, task: () => Promise<Result>) => Promise<Result>

/**
 * Bounds the tasks that run at a time, in all and for one caller. The others wait; the first one whose caller
 * has room is next.
 */
export function createSemaphore(mostInAll: number, mostOfCaller: number): Semaphore {
  const waiting: { readonly caller: string; readonly begin: () => void }[] = []
  const running: string[] = []
  const hasRoom = (caller: string): boolean =>
    running.length < mostInAll && running.filter((one) => one === caller).length < mostOfCaller
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
