// CPU time against CPU time in one run: the only way in which tests bound how long something takes.

const LEAST_ROUNDS = 3
const MOST_ROUNDS = 20
/** The clock of a thread is no finer. */
const LEAST_MS = 2

/** The CPU time of this thread during an act, in milliseconds. */
export async function cpuMsOf(act: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await act()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/**
 * How many times as long as the floor an act takes, by the least CPU time of each: beside other processes, which take the
 * caches for seconds, both grow. They run in turn, and again while the ratio is not below `most`.
 */
export async function cpuRatio(
  act: () => unknown,
  floor: () => unknown,
  most: number,
): Promise<number> {
  let [actMs, floorMs] = [Infinity, Infinity]
  for (
    let round = 0;
    round < LEAST_ROUNDS || (round < MOST_ROUNDS && actMs >= most * floorMs);
    round += 1
  ) {
    actMs = Math.min(actMs, await cpuMsOf(act))
    floorMs = Math.min(floorMs, await cpuMsOf(floor))
  }
  return actMs / Math.max(floorMs, LEAST_MS)
}
