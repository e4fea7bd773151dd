// The CPU time that this thread uses in each turn of its event loop. CPU time, as other programs on the machine
// add nothing to it.

function cpuMs(): number {
  // Reading the process's time first makes Linux update the thread's time; otherwise it is up to a tick (4 ms) old.
  process.cpuUsage()
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Measures from now on. `stop` returns the longest turn, in milliseconds of CPU time. */
export function meterOfTurns(): { readonly stop: () => number } {
  let longestMs = 0
  let beforeMs = cpuMs()
  let probe = setImmediate(function next() {
    const nowMs = cpuMs()
    longestMs = Math.max(longestMs, nowMs - beforeMs)
    beforeMs = nowMs
    probe = setImmediate(next)
  })
  return {
    stop: () => {
      clearImmediate(probe)
      return longestMs
    },
  }
}
