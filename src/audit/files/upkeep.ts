// Removal and compression of backups beside the writes, one run at a time (contract 22.1). A failure never fails a write.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { abandonedArchives, type BackupRetention, backupUpkeep } from './backups.ts'
import { compressFile } from './compress.ts'
import { fileNames } from './directory.ts'
import type { Spool } from './spool.ts'

/** Dependencies of the upkeep. */
interface UpkeepOptions {
  readonly folder: string
  readonly retention: () => BackupRetention
  /** null = nothing is sent elsewhere. */
  readonly spool: Pick<Spool, 'unsentFiles' | 'makeRoom'> | null
  /** Whether the directory is ours now: otherwise a run does nothing. */
  readonly isOurs: () => boolean
  readonly clock: Clock
  /** Called with the first failure after a run without one. */
  readonly failed: (cause: unknown) => void
}

/** The pause between two runs, in milliseconds, where nothing else asks for one. */
const EVERY_MS = 600_000

/** The upkeep of a directory. */
export class Upkeep {
  readonly #options: UpkeepOptions
  readonly #closing = new AbortController()
  #isStarted = false
  #running: Promise<void> | null = null
  #isAskedAgain = false
  #hasFailed = false

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  /** Runs now, and every ten minutes; a second call has no effect. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    void this.#repeat()
  }

  /** Runs soon: now, or once more after the run under way. */
  request(): void {
    this.#isAskedAgain = true
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
  }

  /** Ends the run under way, and starts none again. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      this.request()
      await sleep(this.#options.clock, EVERY_MS, signal)
    }
  }

  async #run(): Promise<void> {
    while (this.#isAskedAgain && !this.#closing.signal.aborted) {
      this.#isAskedAgain = false
      if (!this.#options.isOurs()) continue
      const failures = await this.#tidy().catch((error: unknown) => [error])
      if (failures.length > 0) this.#fail(failures[0])
      else this.#hasFailed = false
    }
  }

  /** @returns what failed; the rest was done */
  async #tidy(): Promise<readonly unknown[]> {
    const { folder, retention, spool, clock } = this.#options
    const names = await fileNames(folder)
    // Behind the names: what is sent meanwhile may go, what is written meanwhile is not among them.
    const unsent = new Set((await spool?.unsentFiles())?.map(({ atMs }) => atMs))
    const { remove, compress } = backupUpkeep(names, retention(), clock.nowMs(), unsent)
    const failures: unknown[] = []
    const attempt = (deed: Promise<void>): Promise<void> =>
      deed.catch((error: unknown) => void failures.push(error))
    for (const name of [...abandonedArchives(names), ...remove])
      await attempt(rm(join(folder, name), { force: true }))
    for (const name of compress) {
      if (this.#closing.signal.aborted) break
      await attempt(compressFile(join(folder, name), this.#closing.signal))
    }
    // Behind the compression, which may have made room.
    if (spool !== null && !this.#closing.signal.aborted) await attempt(spool.makeRoom())
    return failures
  }

  #fail(cause: unknown): void {
    if (this.#hasFailed || this.#closing.signal.aborted) return
    this.#hasFailed = true
    this.#options.failed(cause)
  }
}
