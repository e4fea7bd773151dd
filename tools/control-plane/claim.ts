import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { join } from 'node:path'
import { createExclusively, readIfThere, removeUnchanged, replaceFile } from './exclusive-file.ts'
import { commandOf, killIfThere } from './process.ts'
import { type DaemonName, STOP_ORDER } from './programs.ts'

/** Which processes work on a data folder. Written by the guard, into the folder itself. */
export interface Claim {
  /** The guard's process id. */
  readonly guard: number
  /** The process id of whoever started the control plane. */
  readonly starter: number
  /** True from when the guard has begun to stop everything. */
  readonly stopping: boolean
  /** The process ids of the daemons that run. */
  readonly daemons: Readonly<Partial<Record<DaemonName, number>>>
}

/** What stands in the way of a new control plane on a data folder. */
export type Obstacle =
  | { readonly kind: 'none' }
  /** A control plane uses the folder. */
  | { readonly kind: 'inUse'; readonly starter: number }
  /** Its guard is ending everything, or about to: the starter is gone. */
  | { readonly kind: 'stopping' }
  /** Daemons that lost their guard, in the order in which to end them. */
  | { readonly kind: 'orphans'; readonly pids: readonly number[] }

const CLAIM_FILE = 'claim.json'
/** Longer than a guard takes to stop the daemons even when each has to be killed. */
const STOPPING_LIMIT_MS = 60_000
const LOOK_MS = 100

/**
 * Judges the last claim on a folder; `isThere` tells whether a process id still belongs to the
 * process that the claim means, since ids are reused.
 */
export function obstacleIn(last: Claim | null, isThere: (pid: number) => boolean): Obstacle {
  if (last === null) return { kind: 'none' }
  if (isThere(last.guard)) {
    if (last.stopping || !isThere(last.starter)) return { kind: 'stopping' }
    return { kind: 'inUse', starter: last.starter }
  }
  const pids = STOP_ORDER.map((name) => last.daemons[name]).filter(
    (pid): pid is number => pid !== undefined && isThere(pid),
  )
  return pids.length === 0 ? { kind: 'none' } : { kind: 'orphans', pids }
}

/**
 * Claims a data folder for this guard; waits for a predecessor that is stopping and ends daemons
 * that lost theirs.
 *
 * @returns null, or the process id of the starter whose control plane holds the folder
 */
export async function claimFolder(
  dataDir: string,
  guard: number,
  starter: number,
): Promise<number | null> {
  const path = join(dataDir, CLAIM_FILE)
  const firstClaim: Claim = { guard, starter, stopping: false, daemons: {} }
  const deadlineMs = performance.now() + STOPPING_LIMIT_MS
  for (;;) {
    const text = await readIfThere(path)
    const last = text === null ? null : parseClaim(path, text)
    const obstacle = obstacleIn(last, await whoIsThere(dataDir, last))
    switch (obstacle.kind) {
      case 'inUse':
        return obstacle.starter
      case 'orphans':
        for (const pid of obstacle.pids) killIfThere(pid)
        break
      case 'stopping':
        if (performance.now() > deadlineMs) return last?.starter ?? null
        break
      case 'none':
        if (text !== null) await removeUnchanged(path, text)
        if (await createExclusively(path, JSON.stringify(firstClaim))) return null
    }
    await delay(LOOK_MS)
  }
}

/** Writes what this guard runs now. */
export async function updateClaim(dataDir: string, now: Claim): Promise<void> {
  await replaceFile(join(dataDir, CLAIM_FILE), JSON.stringify(now))
}

/** Gives the folder free. */
export async function releaseClaim(dataDir: string): Promise<void> {
  await rm(join(dataDir, CLAIM_FILE), { force: true })
}

function parseClaim(path: string, text: string): Claim {
  try {
    return JSON.parse(text) as Claim
  } catch (cause) {
    const message = `${path} is unreadable: remove it when no control plane runs there`
    throw new Error(message, { cause })
  }
}

async function whoIsThere(dataDir: string, last: Claim | null): Promise<(pid: number) => boolean> {
  if (last === null) return () => false
  const there = new Set<number>()
  for (const pid of [last.guard, ...Object.values(last.daemons)]) {
    if ((await commandOf(pid)).includes(dataDir)) there.add(pid)
  }
  if ((await commandOf(last.starter)) !== '') there.add(last.starter)
  return (pid) => there.has(pid)
}
