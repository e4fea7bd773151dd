import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { withLock } from './lock.ts'

/**
 * The folder where programs that were built here are kept, `set` being what they are together: below
 * XDG_CACHE_HOME, or ~/.cache when that is absent or relative (the XDG specification says to ignore it
 * then). Its last part changes with whatever changes the programs: the pinned modules, the operating
 * system, the processor.
 */
export function cacheDirectory(
  set: string,
  env: Readonly<NodeJS.ProcessEnv>,
  home: string,
  pins: readonly (string | Buffer)[],
): string {
  const xdg = env['XDG_CACHE_HOME'] ?? ''
  const hash = createHash('sha256')
  for (const pin of [...pins, process.platform, process.arch]) hash.update(pin).update('\0')
  const root = isAbsolute(xdg) ? xdg : join(home, '.cache')
  const key = hash.digest('hex').slice(0, 16)
  return join(root, 'management-operator', set, key)
}

/** This user's folder for what the go.mod in a folder pins. */
export function cacheOf(set: string, moduleDir: string): string {
  const pins = ['go.mod', 'go.sum'].map((file) => readFileSync(join(moduleDir, file)))
  return cacheDirectory(set, process.env, homedir(), pins)
}

/** The programs that the folder does not hold as executable files; all of them without a folder. */
export function missingIn<Name extends string>(
  directory: string,
  names: readonly Name[],
): readonly Name[] {
  return names.filter((name) => !isExecutable(join(directory, name)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/**
 * Fills a folder of the cache unless it is there. It appears when it is complete; one process at a time fills it.
 *
 * @param content what it holds, in words, for the log
 * @param fill puts the content into the folder that it gets
 * @throws whatever `fill` throws; nothing of its work is left then
 */
export async function fillOnce(
  into: string,
  content: string,
  log: (line: string) => void,
  fill: (draft: string) => Promise<unknown>,
): Promise<void> {
  if (existsSync(into)) return
  await mkdir(dirname(into), { recursive: true })
  const waiting = (pid: number): void =>
    log(`process ${pid} is installing ${content} already: waiting for it`)
  await withLock(`${into}.lock`, waiting, async () => {
    if (existsSync(into)) return
    const draft = await mkdtemp(`${into}.unfinished-`)
    try {
      await fill(draft)
      await rename(draft, into)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  })
}
