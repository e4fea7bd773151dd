// The SBOM of a release: the packages that the image installs, as CycloneDX 1.6.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory } from '../control-plane/cache.ts'

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

/** The program, from the user's cache or installed into it. */
async function ensureProgram(log: (line: string) => void): Promise<string> {
  const pins = PINS.map((path) => readFileSync(path))
  const into = cacheDirectory('sbom', process.env, homedir(), pins)
  if (!existsSync(into)) {
    log('installing the program for the SBOM (once, a minute)')
    await mkdir(dirname(into), { recursive: true })
    const work = await mkdtemp(`${into}-`)
    for (const path of PINS) await cp(path, join(work, path.slice(PACKAGE.length + 1)))
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: work })
    await rename(work, into)
  }
  return join(into, 'node_modules/@cyclonedx/cyclonedx-npm/bin/cyclonedx-npm-cli.js')
}
