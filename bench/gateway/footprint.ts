// The memory of the processes, and the CPU time of their start.
import type { OwnGateway } from '../../test/support/gateway-process.ts'
import { type Figures, type Measured, shortNumber } from '../measure/rounds.ts'
import { cpuMs, peakMb, residentMb, settled } from '../measure/usage.ts'
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

/** null without a process. */
async function restingMb({ pid }: Way): Promise<number | null> {
  if (pid === null) return null
  await settled(pid)
  return residentMb(pid)
}

const STARTS = 3

/** Starts gateways one after the other. @returns startCpuMs of each of three: CPU time until it is ready */
export async function measureStarts(
  start: () => Promise<OwnGateway>,
  log: (line: string) => void,
): Promise<readonly Figures[]> {
  const starts: Figures[] = []
  while (starts.length < STARTS) {
    await using gateway = await start()
    const startCpuMs = cpuMs(gateway.pid)
    log(`gateway-start, ${starts.length + 1} of ${STARTS}: startCpuMs ${shortNumber(startCpuMs)}`)
    starts.push({ startCpuMs })
  }
  return starts
}
