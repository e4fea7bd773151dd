// The SBOM of a release: the packages that the image installs, as CycloneDX 1.6.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory, fillOnce } from '../control-plane/cache.ts'

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
  await fillOnce(into, 'the program for the SBOM', log, async (draft) => {
    log('installing the program for the SBOM (once, a minute)')
    for (const path of PINS) await cp(path, join(draft, basename(path)))
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: draft })
  })
  return join(into, 'node_modules/@cyclonedx/cyclonedx-npm/bin/cyclonedx-npm-cli.js')
}
