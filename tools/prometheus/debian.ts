// Debian packages, unpacked into a folder without installing them: no root is needed. apt-get gets its own
// lists, because the machine's may be missing, or as old as its image.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { withLock } from '../control-plane/lock.ts'

/** Packages to unpack. */
interface DebianPackages {
  /** The first is what they are for; the others are what it needs. */
  readonly names: readonly [string, ...string[]]
  /** Also unpacks every package that these need and that the machine lacks; absent = these alone. */
  readonly withNeeded?: boolean
  /** The folder that gets all their files; it appears when it is complete. */
  readonly into: string
  /** Whether the folder holds what is needed; asked again once the lock is held. */
  readonly isThere: () => boolean
  readonly log: (line: string) => void
}

const run = promisify(execFile)
const LIMIT_MS = 300_000

/**
 * Fetches and unpacks the packages unless they are there; one process at a time per folder.
 *
 * @throws Error with what apt-get or dpkg-deb printed
 */
export async function unpackFromDebian({
  names,
  withNeeded = false,
  into,
  isThere,
  log,
}: DebianPackages): Promise<void> {
  const [name] = names
  if (isThere()) return
  await mkdir(dirname(into), { recursive: true })
  const waiting = (pid: number): void =>
    log(`process ${pid} is fetching ${name} already: waiting for it`)
  await withLock(`${into}.lock`, waiting, async () => {
    if (isThere()) return
    await removeUnfinished(into)
    const draft = await mkdtemp(`${into}.unfinished-`)
    try {
      await fetchInto(draft, { names, withNeeded }, log)
      await rm(into, { recursive: true, force: true })
      await rename(join(draft, 'files'), into)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
    if (!isThere()) throw new Error(`the Debian package ${name} does not hold what it should`)
  })
}

async function fetchInto(
  draft: string,
  { names, withNeeded }: Pick<DebianPackages, 'names' | 'withNeeded'>,
  log: (line: string) => void,
): Promise<void> {
  const all = names.join(', ')
  const startMs = performance.now()
  const apt = join(draft, 'apt')
  for (const folder of ['lists/partial', 'archives/partial'])
    await mkdir(join(apt, folder), { recursive: true })
  const options = [
    `Dir::State=${apt}`,
    'Dir::State::status=/var/lib/dpkg/status',
    `Dir::Cache=${apt}`,
    // As root it would become another user, who may not write here.
    'APT::Sandbox::User=',
  ].flatMap((option) => ['-o', option])
  log(`fetching ${all} with apt-get once, about half a minute, into the user's cache`)
  // Go on when a source of packages does not answer: another may have ours.
  const update = await attempt('apt-get', [...options, 'update'], draft)
  const needed = withNeeded ? await neededBy(names, options) : []
  const download = await attempt('apt-get', [...options, 'download', ...names, ...needed], draft)
  if (download !== null)
    throw new Error(`apt-get can't fetch ${all}:\n${[update, download].join('\n').trim()}`)
  for (const archive of (await readdir(draft)).filter((file) => file.endsWith('.deb'))) {
    const unpacked = await attempt('dpkg-deb', ['-x', archive, 'files'], draft)
    if (unpacked !== null) throw new Error(`dpkg-deb can't unpack ${archive}:\n${unpacked}`)
  }
  log(`fetched ${all} in ${Math.round((performance.now() - startMs) / 1000)} s`)
}

/** What apt-get would install with these; none when it can't say, as the download then says why. */
async function neededBy(
  names: DebianPackages['names'],
  options: readonly string[],
): Promise<readonly string[]> {
  const install = [...options, '--simulate', '--no-install-recommends', 'install', ...names]
  const { stdout } = await run('apt-get', install, { timeout: LIMIT_MS }).catch(() => NOTHING)
  return Array.from(stdout.matchAll(/^Inst (\S+)/gm), ([, name = '']) => name).filter(
    (name) => !names.includes(name),
  )
}

const NOTHING = { stdout: '' }

/** The output of the program when it failed; null when it did not. */
async function attempt(
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<string | null> {
  try {
    await run(program, [...args], { cwd, timeout: LIMIT_MS })
    return null
  } catch (error) {
    const { stderr = '', message } = error as Error & { readonly stderr?: string }
    return stderr.trim() || message
  }
}

/** Removes the drafts of killed processes. */
async function removeUnfinished(into: string): Promise<void> {
  const folder = dirname(into)
  const left = (await readdir(folder)).filter((one) =>
    one.startsWith(`${basename(into)}.unfinished-`),
  )
  for (const one of left) await rm(join(folder, one), { recursive: true, force: true })
}
