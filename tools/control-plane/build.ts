import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { tether } from '../tether.ts'
import { withLock } from './build-lock.ts'
import { PROGRAMS, type ProgramName } from './programs.ts'

const PROGRESS_MS = 15_000
const UNFINISHED = '.unfinished'

/** Where each program's main package is, and how long its build took on two cores, nothing cached. */
const SOURCES: Readonly<Record<ProgramName, { readonly pkg: string; readonly about: string }>> = {
  etcd: { pkg: 'go.etcd.io/etcd/server/v3', about: '1 minute' },
  'kube-apiserver': { pkg: 'k8s.io/kubernetes/cmd/kube-apiserver', about: '3 minutes' },
  'kube-controller-manager': {
    pkg: 'k8s.io/kubernetes/cmd/kube-controller-manager',
    about: '1 minute',
  },
  kubectl: { pkg: 'k8s.io/kubernetes/cmd/kubectl', about: '20 seconds' },
}

const GOOS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin' }
const GOARCH: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** A request to build. */
export interface Build {
  /** The folder of the go.mod that pins the programs. */
  readonly moduleDir: string
  /** The folder that gets the programs; created when absent. */
  readonly into: string
  /** Which programs a folder lacks; asked again once the lock is held. */
  readonly missing: (directory: string) => readonly ProgramName[]
  readonly log: (line: string) => void
}

/**
 * Builds the programs that the folder lacks, one process at a time per folder. Every file appears
 * under its name only when it is complete.
 *
 * @throws Error when Go is missing, too old or fails; it names the ways out
 */
export async function buildMissing({ moduleDir, into, missing, log }: Build): Promise<void> {
  await mkdir(dirname(into), { recursive: true })
  const waiting = ({ pid }: { readonly pid: number }) =>
    log(`process ${pid} is building the control plane already: waiting for it`)
  await withLock(`${into}.lock`, waiting, async () => {
    const names = missing(into)
    if (names.length === 0) return
    await mkdir(into, { recursive: true })
    await removeUnfinished(into)
    const goMod = readFileSync(join(moduleDir, 'go.mod'), 'utf8')
    const env = goEnvironment()
    await requireGo(requiredGo(goMod), moduleDir, env)
    log(`building the control plane once, about 5 minutes on two cores, into ${into}`)
    for (const name of names) {
      const step = `${name} (${PROGRAMS.indexOf(name) + 1} of ${PROGRAMS.length})`
      const ldflags = linkerFlags(kubernetesVersion(goMod))
      const draft = join(into, `${name}.${process.pid}${UNFINISHED}`)
      const args = ['build', '-trimpath', '-ldflags', ldflags, '-o', draft, SOURCES[name].pkg]
      await withProgress(log, step, SOURCES[name].about, () => go(args, moduleDir, env))
      await rename(draft, join(into, name))
    }
  })
}

/** What a killed build left; a Go command that outlived it writes to a name of its own. */
async function removeUnfinished(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.endsWith(UNFINISHED)) await rm(join(directory, name), { force: true })
  }
}

/** The version of Kubernetes that a go.mod pins, such as "v1.36.3". @throws Error when it pins none */
export function kubernetesVersion(goMod: string): string {
  const version = /^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)/m.exec(goMod)?.[1]
  if (version === undefined) throw new Error('go.mod does not require k8s.io/kubernetes')
  return version
}

/** The lowest version of Go that a go.mod asks for, such as "1.26.0". @throws Error without one */
export function requiredGo(goMod: string): string {
  const version = /^go (\d+\.\d+(?:\.\d+)?)/m.exec(goMod)?.[1]
  if (version === undefined) throw new Error('go.mod has no go directive')
  return version
}

/** Without these the server calls itself v0.0.0 and kubectl warns about the skew. */
function linkerFlags(version: string): string {
  const [major, minor] = version.slice(1).split('.')
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor }
  const set = Object.entries(values).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  )
  return ['-s -w', ...set].join(' ')
}

/** What a developer has set for other projects must not decide what is built here. */
function goEnvironment(): NodeJS.ProcessEnv {
  const os = GOOS[process.platform]
  const arch = GOARCH[process.arch]
  if (os === undefined || arch === undefined) {
    throw new Error(
      `no control plane for ${process.platform} on ${process.arch}: use Linux or macOS`,
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

async function requireGo(required: string, cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const waysOut = `Either install Go ${required} or newer (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder that holds ${PROGRAMS.join(', ')}.`
  let version: string
  try {
    version = (await promisify(execFile)('go', ['env', 'GOVERSION'], { cwd, env })).stdout.trim()
  } catch (cause) {
    const absent = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const why = absent ? 'Go is not on PATH' : 'Go does not run here'
    throw new Error(`The control plane has to be built once, and ${why}. ${waysOut}`, { cause })
  }
  if (!isNewEnough(version, required)) {
    throw new Error(
      `The control plane has to be built once, and ${version} is too old for it. ${waysOut}`,
    )
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
