// The SBOM of a release: the packages that the image installs, as CycloneDX 1.6.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory } from '../control-plane/cache.ts'
import { withLock } from '../control-plane/lock.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGE = join(import.meta.dirname, 'sbom')
const PINS = ['package.json', 'package-lock.json'].map((name) => join(PACKAGE, name))
const run = promisify(execFile)

/**
 * The SBOM, the same bytes for the same lock file.
 *
 * @throws Error when npm or the program fails
 */
export async function writeSbom(log: (line: string) => void): Promise<Buffer> {
  const program = await ensureProgram(log)
  const work = await mkdtemp(join(tmpdir(), 'sbom-'))
  try {
    const file = join(work, 'sbom.json')
    const what = ['--package-lock-only', '--omit=dev', '--spec-version=1.6']
    const how = ['--output-reproducible', `--output-file=${file}`]
    await run(process.execPath, [program, ...what, ...how], { cwd: ROOT })
    return await readFile(file)
  } finally {
    await rm(work, { recursive: true })
  }
}

/** The folder appears when it is complete; one process at a time fills it. */
async function install(into: string, log: (line: string) => void): Promise<void> {
  if (existsSync(into)) return
  await mkdir(dirname(into), { recursive: true })
  const waiting = (pid: number): void =>
    log(`process ${pid} is installing the program for the SBOM already: waiting for it`)
  await withLock(`${into}.lock`, waiting, async () => {
    if (existsSync(into)) return
    log('installing the program for the SBOM (once, a minute)')
    const draft = await mkdtemp(`${into}.unfinished-`)
    try {
      for (const path of PINS) await cp(path, join(draft, basename(path)))
      await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: draft })
      await rename(draft, into)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  })
}

/** The program, from the user's cache or installed into it. */
async function ensureProgram(log: (line: string) => void): Promise<string> {
  const pins = PINS.map((path) => readFileSync(path))
  const into = cacheDirectory('sbom', process.env, homedir(), pins)
  await install(into, log)
  return join(into, 'node_modules/@cyclonedx/cyclonedx-npm/bin/cyclonedx-npm-cli.js')
}
