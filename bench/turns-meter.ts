// The CPU time that this thread uses in each turn of its event loop. CPU time, as other programs on the machine
// add nothing to it.

/** Of the turns that were measured. */
export interface TurnFigures {
  readonly longestMs: number
  /** Of those in which anything was done. */
  readonly p99Ms: number
}

/** A turn in which nothing but the measuring was done takes less. */
const IDLE_MS = 0.1

function cpuMs(): number {
  // Asked for the process first, Linux brings the thread's time up to now; else it is that of the last tick, 4 ms ago.
  process.cpuUsage()
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Measures from now on until it is stopped. */
export function meterOfTurns(): { readonly stop: () => TurnFigures } {
  const turns: number[] = []
  let beforeMs = cpuMs()
  let probe = setImmediate(function next() {
    const nowMs = cpuMs()
    const tookMs = nowMs - beforeMs
    if (tookMs > IDLE_MS) turns.push(tookMs)
    beforeMs = nowMs
    probe = setImmediate(next)
  })
  return {
    stop: () => {
      clearImmediate(probe)
      const sorted = Float64Array.from(turns).sort()
      return {
        longestMs: sorted.at(-1) ?? 0,
        p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      }
    },
  }
}
