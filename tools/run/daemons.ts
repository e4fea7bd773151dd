// Keeps the daemons of `make run` running.
import type { Daemon } from '../control-plane/daemon.ts'

const LOOK_EVERY_MS = 1000

/**
 * Restarts daemons that end by themselves, as a cluster would.
 *
 * @param cluster the owner of the daemons, such as `the control plane`
 * @param daemons in the order in which they start
 * @returns `stop` resolves when none is being started any more
 */
export function keepDaemons(
  cluster: string,
  daemons: readonly Daemon[],
  say: (line: string) => void,
): { stop(): Promise<void> } {
  let looking = Promise.resolve()
  const look = async (): Promise<void> => {
    const ended = daemons.filter(({ pid }) => pid === null)
    for (const daemon of ended) await daemon.start()
    if (ended.length > 0) say(`${cluster} is whole again`)
  }
  const timer = setInterval(() => {
    looking = looking
      .then(look)
      .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)))
  }, LOOK_EVERY_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await looking
    },
  }
}
