import { rm, stat, utimes } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { createExclusively, readIfThere, removeUnchanged } from './exclusive-file.ts'
import { pidExists } from './process.ts'

/** How often the holder of a lock shows that it lives. */
const HEARTBEAT_MS = 5_000
/** Silence after which a holder is taken for dead although its process id exists: it was reused. */
const SILENCE_MS = 60_000
/** How often somebody who waits looks again. */
const LOOK_MS = 500

/** What is known of a lock's holder. */
export interface Holder {
  readonly pid: number
  readonly pidExists: boolean
  /** Milliseconds since the holder last showed that it lives. */
  readonly silentMs: number
}

/** Whether the lock may be taken from its holder. Never throws. */
export function isAbandoned(holder: Holder): boolean {
  return !holder.pidExists || holder.silentMs > SILENCE_MS
}

/**
 * Runs `work` while holding the lock file; waits for another holder first. A holder that was killed
 * does not block: its lock is taken over. `waiting` is called once, when there is somebody to wait for.
 *
 * @throws whatever `work` throws, after the lock was released
 */
export async function withLock<T>(
  path: string,
  waiting: (holder: Holder) => void,
  work: () => Promise<T>,
): Promise<T> {
  await acquire(path, waiting)
  const heartbeat = setInterval(() => {
    const now = new Date()
    // A beat that fails changes nothing: at worst the lock looks abandoned, and two builds
    // that run side by side disturb nobody, since each file is renamed into place.
    utimes(path, now, now).catch(() => undefined)
  }, HEARTBEAT_MS)
  try {
    return await work()
  } finally {
    clearInterval(heartbeat)
    await rm(path, { force: true })
  }
}

async function acquire(path: string, waiting: (holder: Holder) => void): Promise<void> {
  let told = false
  while (!(await createExclusively(path, `${process.pid}\n`))) {
    const found = await readHolder(path)
    if (found === null) continue
    if (isAbandoned(found.holder)) {
      await removeUnchanged(path, found.text)
      continue
    }
    if (!told) waiting(found.holder)
    told = true
    await delay(LOOK_MS)
  }
}

/** Null when the file has gone in the meantime. */
async function readHolder(path: string): Promise<{ holder: Holder; text: string } | null> {
  const text = await readIfThere(path)
  const seen = await stat(path).catch(() => null)
  if (text === null || seen === null) return null
  const pid = Number(text)
  const silentMs = Date.now() - seen.mtimeMs
  return { holder: { pid, pidExists: pid > 0 && pidExists(pid), silentMs }, text }
}
