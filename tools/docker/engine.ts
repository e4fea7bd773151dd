// Where containers run: a Docker daemon that answers, or one of our own where root and apt can bring it up.
import { execFile, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'

/** A Docker daemon and the command line that builds on it. */
export interface Engine {
  /** Value of DOCKER_HOST. */
  readonly host: string
  /** Whether it was started for us, and ends with us: whatever is on it goes with it. */
  readonly isOurs: boolean
  /** Path of a docker command that has BuildKit. */
  readonly docker: string
  /** Ends our own daemon with whatever runs on it; leaves another as it is. */
  stop(): Promise<void>
}

/** The reason why there is no Docker daemon, with the remedy. */
export interface NoEngine {
  readonly because: string
}

/** How a command ended. */
export interface Ended {
  readonly ok: boolean
  readonly stdout: string
  readonly stderr: string
}

const ANSWERS_WITHIN_MS = 10_000

/** Runs a program to its end; killed after `withinMs`. Never throws: what can't be run has failed. */
export function ended(
  program: string,
  args: readonly string[],
  { env = {}, withinMs }: { readonly env?: NodeJS.ProcessEnv; readonly withinMs: number },
): Promise<Ended> {
  const options = {
    env: { ...process.env, ...env },
    timeout: withinMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: 64 * 2 ** 20,
  }
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ ok: error === null, stdout, stderr: stderr || (error?.message ?? '') }),
    )
  })
}

/**
 * Finds the daemon that docker would use (DOCKER_HOST, its context, the default socket), else starts one of
 * our own, which root can where there is apt.
 */
export async function findEngine(log: (line: string) => void): Promise<Engine | NoEngine> {
  const host = await answeringHost()
  if (host !== null) return withBuilder({ host, isOurs: false, stop: async () => undefined })
  const canInstall = process.getuid?.() === 0 && isOnPath('apt-get')
  if (!canInstall) return { because: `no Docker daemon answers: start Docker, or set DOCKER_HOST` }
  log('no Docker daemon answers: starting one for the tests')
  try {
    return await withBuilder(await startOurs())
  } catch (error) {
    return { because: `no Docker daemon answers, and none could be started: ${messageOf(error)}` }
  }
}

async function answeringHost(): Promise<string | null> {
  const bound = { withinMs: ANSWERS_WITHIN_MS }
  const version = await ended('docker', ['version', '--format', '{{.Server.Version}}'], bound)
  if (!version.ok) return null
  const fromEnv = process.env['DOCKER_HOST'] ?? ''
  if (fromEnv !== '') return fromEnv
  const format = ['--format', '{{.Endpoints.docker.Host}}']
  const context = await ended('docker', ['context', 'inspect', ...format], bound)
  return context.ok ? context.stdout.trim() : null
}

type Found = Omit<Engine, 'docker'>

/** A newer docker builds only with its plugin buildx; Debian's own, which is older, needs none. */
async function withBuilder(found: Found): Promise<Engine | NoEngine> {
  for (const docker of ['docker', '/usr/bin/docker']) {
    const bound = { withinMs: ANSWERS_WITHIN_MS }
    const { stdout } = await ended(docker, ['--version'], bound)
    const major = Number(/version (\d+)\./.exec(stdout)?.[1] ?? Number.NaN)
    if (major < 23) return { ...found, docker }
    if ((await ended(docker, ['buildx', 'version'], bound)).ok) return { ...found, docker }
  }
  await found.stop()
  return { because: 'docker has no BuildKit: install its plugin buildx' }
}

async function startOurs(): Promise<Found> {
  const daemon = spawn(join(import.meta.dirname, 'daemon.sh'), {
    // In a session of its own: Ctrl-C is for us, and it ends when its input does, which is when we do.
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(daemon, 'exit')
  const first = once(createInterface(daemon.stdout), 'line') as Promise<[string]>
  const line = await Promise.race([first.then(([text]) => text), exited.then(() => '')])
  const host = /^ready (\S+)$/.exec(line)?.[1]
  if (host === undefined) throw new Error('tools/docker/daemon.sh says why, above')
  const stop = async (): Promise<void> => {
    daemon.stdin.end()
    await exited
  }
  return { host, isOurs: true, stop }
}

const PULL_ASKS_MS = 5000
const PULL_MS = 600_000

/**
 * Sees to the base image: there, or pulled where a registry answers at once, or made of Debian's packages
 * and `node`, which root can where there is apt.
 *
 * @returns why there is none; null when there is
 */
export async function ensureBaseImage(
  { docker, host }: Engine,
  image: string,
  node: string,
): Promise<string | null> {
  const env = { DOCKER_HOST: host }
  const run = (withinMs: number, ...args: readonly string[]): Promise<Ended> =>
    ended(docker, args, { env, withinMs })
  if ((await run(ANSWERS_WITHIN_MS, 'image', 'inspect', image)).ok) return null
  const isOffered = (await run(PULL_ASKS_MS, 'manifest', 'inspect', image)).ok
  if (isOffered && (await run(PULL_MS, 'pull', '--quiet', image)).ok) return null
  if (process.getuid?.() !== 0 || !isOnPath('apt-get'))
    return `image ${image} is not there and can't be pulled: docker pull or load it`
  const script = join(import.meta.dirname, 'base-image.sh')
  const making = spawn(script, [image, node], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = (await once(making, 'exit')) as [number | null]
  return code === 0 ? null : `image ${image} can't be pulled, and tools/docker/base-image.sh failed`
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
