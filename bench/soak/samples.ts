// Memory and file descriptors of a process over time, and whether they grow.
import { descriptorsOf, residentMb } from '../measure/usage.ts'

/** The state of a process at a moment. */
export interface Sample {
  /** Since the start of the run, in minutes. */
  readonly minute: number
  readonly mb: number
  readonly descriptors: number
}

/** Takes a sample of a process. @throws Error once it has ended */
export const sampleOf = (pid: number, minute: number): Sample => ({
  minute,
  mb: residentMb(pid),
  descriptors: descriptorsOf(pid),
})

/**
 * How much the least memory of each minute grows in ten minutes, in MB: garbage that is not collected yet is no growth.
 * The first third is left out, in which caches and pools fill. null for less than three minutes.
 */
export function growthMb(samples: readonly Sample[]): number | null {
  const least = new Map<number, number>()
  for (const { minute, mb } of samples) {
    const whole = Math.floor(minute)
    least.set(whole, Math.min(mb, least.get(whole) ?? mb))
  }
  const points = [...least].slice(Math.floor(least.size / 3))
  if (points.length < 3) return null
  const [meanX, meanY] = [0, 1].map(
    (axis) => points.reduce((sum, point) => sum + (point[axis] ?? 0), 0) / points.length,
  ) as [number, number]
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const variance = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return (covariance / variance) * 10
}

/** How many more file descriptors there were at most in the last third than in the second. */
export function descriptorGrowth(samples: readonly Sample[]): number {
  const third = Math.floor(samples.length / 3)
  const most = (part: readonly Sample[]): number =>
    Math.max(...part.map(({ descriptors }) => descriptors))
  return most(samples.slice(2 * third)) - most(samples.slice(third, 2 * third))
}
