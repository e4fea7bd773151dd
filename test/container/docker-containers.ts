// Docker in tests: the product's image as `make image` builds it, and containers with restrictions.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  GenericContainer,
  ImageName,
  StartupCheckStrategy,
  type StartedTestContainer,
  getContainerRuntimeClient,
} from 'testcontainers'
import { beforeEach, inject } from 'vitest'
import { type Engine, ended } from '../../tools/docker/engine.ts'
import type { Containers } from './global-setup.ts'

/** The default base image of the Dockerfile. */
export const BASE_IMAGE = process.env['NODE_IMAGE'] ?? 'node:24-bookworm-slim'

/** The repository that labels of the image name. */
export const REPOSITORY = 'https://git.example.com/management-operator'

const ROOT = join(import.meta.dirname, '../..')
const BUILDS_WITHIN_MS = 300_000

/**
 * Runs `make image`.
 *
 * @param folder the product's sources; the repository by default
 * @throws Error with the end of its output
 */
export async function buildImage(
  { docker, host, isOurs }: Pick<Engine, 'docker' | 'host' | 'isOurs'>,
  tag: string,
  folder = ROOT,
): Promise<void> {
  const ca = process.env['NODE_EXTRA_CA_CERTS'] ?? ''
  const flags = [
    `--build-arg NODE_IMAGE=${BASE_IMAGE}`,
    // Containers of our own daemon have no other network to the outside.
    ...(isOurs ? ['--network host'] : []),
    ...(ca === '' ? [] : [`--secret id=ca,src=${ca}`]),
    process.env['DOCKER_BUILD_FLAGS'] ?? '',
  ]
  const variables = [
    `IMG=${tag}`,
    `DOCKER=${docker}`,
    `REPOSITORY=${REPOSITORY}`,
    `DOCKER_BUILD_FLAGS=${flags.join(' ')}`,
  ]
  const { ok, stdout, stderr } = await ended('make', ['-C', folder, 'image', ...variables], {
    env: { DOCKER_HOST: host },
    withinMs: BUILDS_WITHIN_MS,
  })
  if (!ok) throw new Error(`make image failed:\n${`${stdout}${stderr}`.slice(-4000)}`)
}

/** The Docker daemon and the product's image. */
export type ContainersReady = Extract<Containers, { readonly kind: 'ready' }>

/** The daemon and image of the run; null = there is none, and the tests of the file are skipped with the reason. */
export function containersOrSkip(): ContainersReady | null {
  const containers = inject('containers')
  if (containers.kind === 'ready') return containers
  beforeEach(({ skip }) => skip(containers.because))
  return null
}

/** Whether an image exists. */
export async function imageExists(image: string): Promise<boolean> {
  const client = await getContainerRuntimeClient()
  return client.image.exists(ImageName.fromString(image))
}

/** Restrictions of a container as Docker has them; null = the default of Docker. */
export interface Restrictions {
  readonly user: string | null
  readonly isReadOnly: boolean
  readonly droppedCapabilities: readonly string[]
  readonly noNewPrivileges: boolean
  readonly memoryBytes: number | null
  readonly cpus: number | null
}

/** More restrictions than any of our manifests has. */
export const MOST_RESTRICTED: Restrictions = {
  user: null,
  isReadOnly: true,
  droppedCapabilities: ['ALL'],
  noNewPrivileges: true,
  memoryBytes: 256 * 2 ** 20,
  cpus: 1,
}

/** Adds options that testcontainers does not have. */
class RestrictedContainer extends GenericContainer {
  restrict(how: Restrictions): this {
    this.createOpts = { ...this.createOpts, ...(how.user === null ? {} : { User: how.user }) }
    this.hostConfig = {
      ...this.hostConfig,
      ReadonlyRootfs: how.isReadOnly,
      CapDrop: [...how.droppedCapabilities],
      SecurityOpt: how.noNewPrivileges ? ['no-new-privileges'] : [],
      ...(how.memoryBytes === null ? {} : { Memory: how.memoryBytes, MemorySwap: how.memoryBytes }),
      ...(how.cpus === null ? {} : { NanoCpus: how.cpus * 1e9 }),
    }
    return this
  }

  withNameServer(nameServer: string): this {
    this.hostConfig = { ...this.hostConfig, Dns: [nameServer] }
    return this
  }

  /** Shares the processes of another container, like `kubectl debug --target`. */
  withProcessesOf(containerId: string): this {
    this.hostConfig = { ...this.hostConfig, PidMode: `container:${containerId}` }
    return this
  }
}

/** Does not wait for readiness, which probes check. */
class NoStartupCheck extends StartupCheckStrategy {
  override async checkStartupState(): Promise<'SUCCESS'> {
    return 'SUCCESS'
  }
}

/** A container with restrictions, not started yet. */
export const restrictedContainer = (image: string, how: Restrictions): RestrictedContainer =>
  new RestrictedContainer(image).restrict(how).withWaitStrategy(new NoStartupCheck())

/** A started container, which may have exited. */
export interface RunningContainer {
  readonly container: StartedTestContainer
  /** Its output so far. */
  readonly log: () => string
  /** Its exit code, once it has exited and `log` is complete. */
  readonly exited: Promise<number>
  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<void>
  /** Sends SIGTERM, and SIGKILL after `withinMs`; removes it and returns its exit code. */
  end(withinMs: number): Promise<number>
}

/** Starts a container and follows its output. */
export async function launch(container: GenericContainer): Promise<RunningContainer> {
  let log = ''
  const { promise: logEnded, resolve: endLog } = Promise.withResolvers<void>()
  const started = await container
    .withLogConsumer((stream) => {
      stream.on('data', (text: Buffer | string) => (log += String(text))).once('close', endLog)
    })
    .start()
  const client = await getContainerRuntimeClient()
  const handle = client.container.getById(started.getId())
  const exited = Promise.all([handle.wait(), logEnded]).then(
    ([{ StatusCode }]: [{ StatusCode: number }, void]) => StatusCode,
  )
  return {
    container: started,
    log: () => log,
    exited,
    signal: async (name) => void (await handle.kill({ signal: name })),
    end: async (withinMs) => {
      await started.stop({ remove: false, timeout: withinMs })
      const code = await exited
      await handle.remove({ v: true, force: true })
      return code
    },
  }
}

/** The path of Node in the image. */
export const NODE = '/usr/local/bin/node'

/** Exit code and output of a container that has exited. */
export interface EndedContainer {
  readonly code: number
  readonly log: string
}

/** Runs a container until it exits. */
export async function runToEnd(container: GenericContainer): Promise<EndedContainer> {
  const running = await launch(container)
  const code = await running.exited
  await running.end(0)
  return { code, log: running.log() }
}

/** A container of an image that runs a script of `inside/`, or a line of JavaScript, with its Node: it has no shell. */
export function withScript(
  image: string,
  how: Restrictions,
  script: { readonly file: string } | { readonly line: string },
  args: readonly string[] = [],
) {
  const code =
    'line' in script
      ? ['-e', script.line]
      : ['--input-type=module-typescript', '-e', source(script.file)]
  return restrictedContainer(image, how)
    .withEntrypoint([NODE])
    .withCommand([...code, '--', ...args])
}

const source = (file: string): string =>
  readFileSync(join(import.meta.dirname, 'inside', file), 'utf8')
