// The state directory: one file for each replica that shares it, read by all at their start (contract 9.2).
import type { Stats } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { mergedMissing, NO_KEYS, withPublished } from '../../domain/token/known-keys.ts'
import { mergedLists } from '../../domain/token/revoked-list.ts'
import type { Clock } from '../../runtime/clock.ts'
import { readKeptFile, replaceKeptFile } from '../../runtime/kept-file.ts'
import type { Log } from '../../runtime/log.ts'
import { throttledWarnings, type Warn } from '../../runtime/log-throttle.ts'
import { EMPTY_STATE, type IssuerState } from './issuer-state.ts'
import { type KeptState, readStateFile, stateFileOf } from './state-format.ts'

/** Options of openStateFiles. */
interface StateFilesOptions {
  readonly directory: string
  /** The name of this replica; a restarted one should have the same. */
  readonly instance: string
  readonly issuer: string
  readonly clock: Clock
  readonly log: Log
  /** Called after each attempt to write. @param isKept whether it succeeded */
  readonly kept: (isKept: boolean) => void
}

/** The files of a state directory. */
export interface StateFiles {
  /** Merges all files. Never rejects: unreadable files are left out, with a warning. */
  readonly load: () => Promise<IssuerState>
  /**
   * Writes the file of this replica: soon, once for all calls during a write. A write that fails is a warning, and the
   * next call tries again.
   *
   * @param failed called after each write that fails
   */
  readonly save: (current: () => IssuerState, failed: () => void) => void
  /** Resolves once all saves have been written or have failed. Never rejects. */
  readonly settled: () => Promise<void>
}

const NAME = /^state-.+\.jsonl(?:\.new)?$/

/** A file that was not written for so long belongs to a replica that is gone; in milliseconds. */
const ABANDONED_AFTER_MS = 86_400_000

/** No list is longer than 64 MiB (issuer-client.ts), and the rest is small: a larger file is foreign. */
const LARGEST_FILE = 65 * 1024 * 1024

/** The files of a directory, which must exist; the first write that succeeds removes abandoned ones. */
export function openStateFiles(options: StateFilesOptions): StateFiles {
  const { directory, instance, issuer, clock, log } = options
  // No two instances have the same name of a file.
  const own = `state-${encodeURIComponent(instance)}.jsonl`
  const warn = throttledWarnings(clock, log)
  let isWriting = false
  let writing = Promise.resolve()
  let isChanged = false
  let isCleaned = false

  const write = async (state: IssuerState, failed: () => void): Promise<void> => {
    if (!hasList(state)) return
    try {
      const chunks = await stateFileOf(issuer, state)
      const size = chunks.reduce((sum, { length }) => sum + length, 0)
      if (size > LARGEST_FILE) throw new Error(`it would have more than ${LARGEST_FILE} bytes`)
      await replaceKeptFile(join(directory, own), chunks)
    } catch (err) {
      options.kept(false)
      failed()
      warn(
        'write',
        { err },
        'cannot write to the state directory: a restart will have an older state',
      )
      return
    }
    options.kept(true)
    if (!isCleaned)
      isCleaned = await removeAbandoned(directory, own, { nowMs: clock.nowMs(), warn })
  }
  const writeWhileChanged = async (...[current, failed]: Parameters<StateFiles['save']>) => {
    isWriting = true
    while (isChanged) {
      isChanged = false
      await write(current(), failed)
    }
    isWriting = false
  }
  return {
    load: async () => mergedState(await readAll(options, own, warn)),
    save: (current, failed) => {
      isChanged = true
      if (!isWriting) writing = writeWhileChanged(current, failed)
    },
    settled: () => writing,
  }
}

const hasList = (state: IssuerState): state is KeptState => state.list !== null

/** The states in the usable files, in the order of their names. */
async function readAll(
  { directory, issuer, log }: StateFilesOptions,
  own: string,
  warn: Warn,
): Promise<readonly KeptState[]> {
  const names = await readdir(directory).catch((err: unknown) => {
    warn('read', { err }, 'cannot read the state directory')
    return []
  })
  const kept: KeptState[] = []
  for (const name of names.filter((one) => NAME.test(one) && one.endsWith('.jsonl')).sort()) {
    try {
      const read = await readStateFile(await contentOf(join(directory, name)), issuer)
      if (read.ok) kept.push(read.kept)
      else log.warn({ file: name, because: read.because }, 'state file ignored')
    } catch (err) {
      log.warn({ file: name, err }, 'state file ignored')
    }
  }
  if (kept.length > 0) log.info({ files: kept.length, own }, 'loaded saved state')
  return kept
}

/** The newest state, with every unexpired revocation and every withdrawn key of the others. */
function mergedState(kept: readonly KeptState[]): IssuerState {
  const [newest] = kept.toSorted((a, b) => b.list.asOfMs - a.list.asOfMs)
  if (!newest) return EMPTY_STATE
  const missingSinceMs = mergedMissing(kept.map(({ keys }) => keys.missingSinceMs))
  const published = [...newest.keys.keys.values()]
  return {
    ...newest,
    keys: withPublished({ ...NO_KEYS, missingSinceMs }, published, newest.list.asOfMs).known,
    list: mergedLists(kept.map(({ list }) => list)),
  }
}

/** The content of a file. @throws Error when it is foreign by its kind or size */
async function contentOf(path: string): Promise<Buffer> {
  const content = await readKeptFile(path, LARGEST_FILE)
  if (content === null)
    throw new Error(`it is gone, not a regular file, or larger than ${LARGEST_FILE} bytes`)
  return content
}

const isOurs = (found: Stats): boolean => found.isFile() && found.size <= LARGEST_FILE

/** Options of removeAbandoned. */
interface Removal {
  readonly nowMs: number
  readonly warn: Warn
}

/** Removes abandoned files. Never rejects. @returns whether there is none left */
async function removeAbandoned(
  directory: string,
  own: string,
  { nowMs, warn }: Removal,
): Promise<boolean> {
  const remove = async (name: string): Promise<boolean> => {
    const path = join(directory, name)
    try {
      const found = await lstat(path)
      const isAbandoned = isOurs(found) && nowMs - found.mtimeMs > ABANDONED_AFTER_MS
      if (isAbandoned) await rm(path, { force: true })
      return true
    } catch (err) {
      // Another replica has renamed or removed it meanwhile.
      if ((err as NodeJS.ErrnoException).code === 'ENOENT') return true
      warn('remove', { file: name, err }, 'cannot remove an old file of the state directory')
      return false
    }
  }
  const names = await readdir(directory).catch(() => null)
  if (names === null) return false
  const others = names.filter((one) => NAME.test(one) && !one.startsWith(own))
  const removed = await Promise.all(others.map(remove))
  return removed.every(Boolean)
}
