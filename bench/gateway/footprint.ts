// The memory of the processes.
import type { Measured } from '../measure/rounds.ts'
import { peakMb, residentMb, settled } from '../measure/usage.ts'
import type { Way } from './way.ts'

/**
 * Waits until the processes of the ways rest, and notes their memory.
 *
 * The function that it returns waits again and returns by way, as one round: idleMb, afterMb, and peakMb since the
 * process began.
 */
export async function watchMemory(ways: readonly Way[]): Promise<() => Promise<Measured>> {
  const idle = await Promise.all(ways.map(restingMb))
  return async () => {
    const after = await Promise.all(ways.map(restingMb))
    const figures = ways.flatMap(({ name, pid }, at) => {
      const [idleMb, afterMb] = [idle[at], after[at]]
      if (pid === null || typeof idleMb !== 'number' || typeof afterMb !== 'number') return []
      return [[name, [{ idleMb, afterMb, peakMb: peakMb(pid) }]] as const]
    })
    return Object.fromEntries(figures)
  }
}

/** The memory of the way's process once it rests, in MB; null without a process. */
export async function restingMb({ pid }: Way): Promise<number | null> {
  if (pid === null) return null
  await settled(pid)
  return residentMb(pid)
}
