// The memory of this process, for tests that show what is kept and what is not.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects all garbage, at once. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}

/** The heap in use, without garbage; mebibytes. */
export function usedHeapMiB(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed / 1024 / 1024
}
