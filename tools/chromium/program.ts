// Chromium as Debian ships it, for the tests of the pages of signing in: unpacked, not installed.
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { cacheDirectory, missingIn } from '../control-plane/cache.ts'
import { unpackFromDebian } from '../prometheus/debian.ts'

/** The launcher is a script that reads /etc: the program itself is in a folder of libraries. */
const PROGRAM = 'usr/lib/chromium/chromium'
const NAMES = ['chromium', 'fontconfig-config', 'fonts-dejavu-core'] as const
const WAYS_OUT = 'install chromium, and set CHROMIUM to the path of its program'

/**
 * The path of Chromium: what CHROMIUM names, else one that apt-get fetches once into the user's cache.
 *
 * @throws Error when there is no apt-get, or it can't fetch; the first line has the ways out
 */
export async function ensureChromium(log: (line: string) => void): Promise<string> {
  const named = process.env['CHROMIUM'] ?? ''
  if (named !== '') return named
  if (missingIn('/usr/bin', ['apt-get', 'dpkg-deb']).length > 0)
    throw new Error(`no Chromium here, and no apt-get to fetch it with: ${WAYS_OUT}`)
  const into = cacheDirectory('chromium', process.env, homedir(), [
    readFileSync('/etc/os-release'),
    NAMES.join(),
  ])
  const isThere = (): boolean => existsSync(join(into, PROGRAM))
  try {
    await unpackFromDebian({ names: [...NAMES], withNeeded: true, into, isThere, log })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`no Chromium here: ${WAYS_OUT}\n${why}`, { cause })
  }
  return join(into, PROGRAM)
}

/** What the program needs in its environment to find libraries and fonts that were unpacked with it. */
export function chromiumEnv(program: string): Readonly<Record<string, string>> {
  if (!program.endsWith(PROGRAM)) return {}
  const root = program.slice(0, -PROGRAM.length)
  const folders = ['x86_64', 'aarch64'].flatMap((machine) => {
    const folder = join(root, 'usr/lib', `${machine}-linux-gnu`)
    return [folder, join(folder, 'pulseaudio')]
  })
  // One font on every machine, so that pictures of one page are alike.
  return { LD_LIBRARY_PATH: folders.join(':'), FONTCONFIG_SYSROOT: root.slice(0, -1) }
}
