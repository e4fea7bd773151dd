import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { tether } from '../tether.ts'
import { withLock } from './lock.ts'
import { missingIn } from './cache.ts'

const PROGRESS_MS = 15_000
const UNFINISHED = '.unfinished'

const GOOS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin' }
const GOARCH: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** A program that Go builds. */
export interface Source {
  /** The path of its main package. */
  readonly pkg: string
  /** How long its build takes on two cores, nothing cached. */
  readonly about: string
}

/** A request to build what one go.mod pins. */
export interface Build<Name extends string> {
  /** Its name in messages, such as `the control plane`. */
  readonly title: string
  /** How long all of it takes on two cores, nothing cached. */
  readonly about: string
  /** The folder of the go.mod that pins the programs. */
  readonly moduleDir: string
  /** The folder that gets the programs; created when absent. */
  readonly into: string
  /** Every program, in build order. */
  readonly sources: Readonly<Record<Name, Source>>
  /** Flags of the linker, for a go.mod of this text. */
  readonly linkerFlags: (goMod: string) => string
  /** The way out without Go, such as `set VARIABLE to a folder`. */
  readonly otherwise: string
  readonly log: (line: string) => void
}

/**
 * Builds the programs that the folder lacks, one process at a time per folder. Every file appears
 * under its name only when it is complete.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function buildMissing<Name extends string>(build: Build<Name>): Promise<void> {
  const { title, into, sources, log } = build
  const programs = Object.keys(sources) as Name[]
  if (missingIn(into, programs).length === 0) return
  await mkdir(dirname(into), { recursive: true })
  const waiting = (pid: number) =>
    log(`process ${pid} is building ${title} already: waiting for it`)
  await withLock(`${into}.lock`, waiting, async () => {
    const names = missingIn(into, programs)
    if (names.length > 0) await buildAll(build, names)
  })
}

async function buildAll<Name extends string>(
  build: Build<Name>,
  names: readonly Name[],
): Promise<void> {
  const { title, about, moduleDir, into, sources, log } = build
  await mkdir(into, { recursive: true })
  await removeUnfinished(into)
  const goMod = readFileSync(join(moduleDir, 'go.mod'), 'utf8')
  const env = goEnvironment(title)
  await requireGo(requiredGo(goMod), build, env)
  log(`building ${title} once, about ${about} on two cores, into ${into}`)
  const order = Object.keys(sources)
  for (const name of names) {
    const step = `${name} (${order.indexOf(name) + 1} of ${order.length})`
    const draft = join(into, `${name}.${process.pid}${UNFINISHED}`)
    const flags = ['-trimpath', '-ldflags', build.linkerFlags(goMod), '-o', draft]
    const args = ['build', ...flags, sources[name].pkg]
    await withProgress(log, step, sources[name].about, () => go(args, moduleDir, env)).catch(
      (cause: Error) => {
        throw new Error(unbuildable(build, cause.message), { cause })
      },
    )
    await rename(draft, join(into, name))
  }
}

/** The first line has the ways out: a skipped test shows no other. */
const unbuildable = ({ title, otherwise }: Build<string>, why: string): string =>
  `${capital(title)} has to be built once, and Go fails here. Either mend what it says, such as its way to the Go modules (GOPROXY), or ${otherwise}.\n${why}`

const capital = (title: string): string => `${title.charAt(0).toUpperCase()}${title.slice(1)}`

/** Removes the files of a killed build; a Go command that outlived it writes to a name of its own. */
async function removeUnfinished(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.endsWith(UNFINISHED)) await rm(join(directory, name), { force: true })
  }
}

/** The lowest version of Go that a go.mod asks for, such as "1.26.0". @throws Error without one */
export function requiredGo(goMod: string): string {
  const version = /^go (\d+\.\d+(?:\.\d+)?)/m.exec(goMod)?.[1]
  if (version === undefined) throw new Error('go.mod has no go directive')
  return version
}

/** Variables for Go, without the settings that a developer has for other projects. @throws Error on other systems */
export function goEnvironment(title: string): NodeJS.ProcessEnv {
  const os = GOOS[process.platform]
  const arch = GOARCH[process.arch]
  if (os === undefined || arch === undefined) {
    throw new Error(
      `${process.platform} on ${process.arch} can't build ${title}: use Linux or macOS`,
    )
  }
  return { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOOS: os, GOARCH: arch }
}

function numbers(text: string): readonly number[] {
  return (text.match(/\d+/g) ?? []).map(Number)
}

/** Whether a Go of version `found` ("go1.26.8") may build a module that asks for `required` ("1.26.0"). */
export function isNewEnough(found: string, required: string): boolean {
  const have = numbers(found)
  for (const [i, need] of numbers(required).entries()) {
    const part = have[i] ?? 0
    if (part !== need) return part > need
  }
  return true
}

async function requireGo(
  required: string,
  { title, moduleDir: cwd, otherwise }: Omit<Build<string>, 'sources'>,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const waysOut = `Either install Go ${required} or newer (https://go.dev/dl), or ${otherwise}.`
  const must = `${capital(title)} has to be built once`
  let version: string
  try {
    version = (await promisify(execFile)('go', ['env', 'GOVERSION'], { cwd, env })).stdout.trim()
  } catch (cause) {
    const absent = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const why = absent ? 'Go is not on PATH' : 'Go does not run here'
    throw new Error(`${must}, and ${why}. ${waysOut}`, { cause })
  }
  if (!isNewEnough(version, required)) {
    throw new Error(`${must}, and ${version} is too old for it. ${waysOut}`)
  }
}

async function withProgress(
  log: (line: string) => void,
  step: string,
  about: string,
  work: () => Promise<void>,
): Promise<void> {
  const startMs = performance.now()
  const seconds = () => Math.round((performance.now() - startMs) / 1000)
  log(`building ${step}, about ${about} on two cores`)
  const ticker = setInterval(
    () => log(`building ${step}, about ${about} on two cores ... ${seconds()} s`),
    PROGRESS_MS,
  )
  try {
    await work()
  } finally {
    clearInterval(ticker)
  }
  log(`built ${step} in ${seconds()} s`)
}

/** @throws Error with the end of what Go printed */
function go(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
    if (child.pid !== undefined) tether(child)
    let printed = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(-4_000)
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) return resolve()
      const target = basename(args.at(-1) ?? '')
      reject(new Error(`go build of ${target} failed (${signal ?? code}):\n${printed.trim()}`))
    })
  })
}
