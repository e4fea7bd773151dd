// The resources that a process uses, as the kernel of Linux accounts for them: a noisy machine changes when work is
// done, not how much.
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The unit in which the kernel reports CPU time, whatever its own tick is. */
const MS_PER_TICK = 10
const UTIME = 11
const STIME = 12

/** CPU time of all threads of a process since its start, in milliseconds, to 10 ms. @throws Error once it has ended */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program may contain spaces and parentheses; the state follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[UTIME]) + Number(fields[STIME])) * MS_PER_TICK
}

/** Resident memory of a process in MB (1,000,000 bytes). @throws Error once it has ended */
export function residentMb(pid: number): number {
  return kilobytesOf(pid, 'VmRSS') * 0.001_024
}

/** Peak resident memory of a process in MB. @throws Error once the process has ended */
export function peakMb(pid: number): number {
  return kilobytesOf(pid, 'VmHWM') * 0.001_024
}

/** Open file descriptors of a process. @throws Error once it has ended */
export const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

function kilobytesOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(
    readFileSync(`/proc/${pid}/status`, 'utf8'),
  )
  if (!found) throw new Error(`/proc/${pid}/status has no ${field}`)
  return Number(found[1])
}

const LOOK_EVERY_MS = 100
const QUIET_LOOKS = 4

/** Waits until a process has used no CPU time for 400 ms, for ten seconds at most. @returns whether it has */
export async function settled(pid: number): Promise<boolean> {
  let before = cpuMs(pid)
  let quiet = 0
  for (let looks = 0; looks < 100 && quiet < QUIET_LOOKS; looks += 1) {
    await sleep(LOOK_EVERY_MS)
    const now = cpuMs(pid)
    quiet = now === before ? quiet + 1 : 0
    before = now
  }
  return quiet === QUIET_LOOKS
}

const LONGEST_WORK_MS = 600_000

/** As `settled`, for ten minutes. @throws Error when it still works then */
export async function untilRest(pid: number): Promise<void> {
  const deadlineMs = performance.now() + LONGEST_WORK_MS
  while (!(await settled(pid)))
    if (performance.now() > deadlineMs) throw new Error('the process does not come to rest')
}
