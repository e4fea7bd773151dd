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
  /** True from when the guard has begun to stop everything. */
  readonly stopping: boolean
  /** The process ids of the daemons that run. */
  readonly daemons: Readonly<Partial<Record<DaemonName, number>>>
}

/** What stands in the way of a new control plane on a data folder. */
export type Obstacle =
  | { readonly kind: 'none' }
  /** A control plane uses the folder. */
  | { readonly kind: 'inUse'; readonly guard: number }
  /** The guard of a dead starter is about to end everything. */
  | { readonly kind: 'stopping' }
  /** Daemons that lost their guard, in the order in which to end them. */
  | { readonly kind: 'orphans'; readonly pids: readonly number[] }

const CLAIM_FILE = 'claim.json'
/** Longer than a guard takes to stop the daemons even when each has to be killed. */
const STOPPING_LIMIT_MS = 60_000
const LOOK_MS = 100

/**
 * Judges the last claim on a folder; `isOurs` tells whether a process id still belongs to a process
 * that works on this folder, since ids are reused.
 */
export function obstacleIn(last: Claim | null, isOurs: (pid: number) => boolean): Obstacle {
  if (last === null) return { kind: 'none' }
  if (isOurs(last.guard)) {
    return last.stopping ? { kind: 'stopping' } : { kind: 'inUse', guard: last.guard }
  }
  const pids = STOP_ORDER.map((name) => last.daemons[name]).filter(
    (pid): pid is number => pid !== undefined && isOurs(pid),
  )
  return pids.length === 0 ? { kind: 'none' } : { kind: 'orphans', pids }
}

/**
 * Claims a data folder for this guard; waits for a predecessor that is stopping and ends daemons
 * that lost theirs.
 *
 * @returns null, or the process id of the guard that holds the folder
 */
export async function claimFolder(dataDir: string): Promise<number | null> {
  const path = join(dataDir, CLAIM_FILE)
  const firstClaim: Claim = { guard: process.pid, stopping: false, daemons: {} }
  const deadlineMs = performance.now() + STOPPING_LIMIT_MS
  for (;;) {
    const text = await readIfThere(path)
    const last = text === null ? null : parseClaim(path, text)
    const obstacle = obstacleIn(last, await ownership(dataDir, last))
    switch (obstacle.kind) {
      case 'inUse':
        return obstacle.guard
      case 'orphans':
        for (const pid of obstacle.pids) killIfThere(pid)
        break
      case 'stopping':
        if (performance.now() > deadlineMs) return last?.guard ?? null
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

async function ownership(dataDir: string, last: Claim | null): Promise<(pid: number) => boolean> {
  const pids = last === null ? [] : [last.guard, ...Object.values(last.daemons)]
  const ours = new Set<number>()
  for (const pid of pids) {
    const command = await commandOf(pid)
    if (pid !== process.pid && command.includes(dataDir)) ours.add(pid)
  }
  return (pid) => ours.has(pid)
}
