// The product's image, as `make image` builds it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type GenericContainer, ImageName, getContainerRuntimeClient } from 'testcontainers'
import { beforeEach, inject } from 'vitest'
import { type Engine, ended } from '../../tools/docker/engine.ts'
import type { Containers } from './global-setup.ts'
import { type Confinement, confined, launch } from './pod-container.ts'

/** The image that the Dockerfile builds on unless it is told another. */
export const BASE_IMAGE = process.env['NODE_IMAGE'] ?? 'node:24-bookworm-slim'

const ROOT = join(import.meta.dirname, '../..')
const BUILDS_WITHIN_MS = 300_000

/**
 * `make image` in a folder with the product's sources; in the repository itself unless told another.
 *
 * @throws Error with the end of what it printed
 */
export async function buildImage(
  { docker, host, isOurs }: Pick<Engine, 'docker' | 'host' | 'isOurs'>,
  tag: string,
  folder = ROOT,
): Promise<void> {
  const ca = process.env['NODE_EXTRA_CA_CERTS'] ?? ''
  const flags = [
    `--build-arg NODE_IMAGE=${BASE_IMAGE}`,
    // Containers of our own daemon reach nothing outside in any other way.
    ...(isOurs ? ['--network host'] : []),
    ...(ca === '' ? [] : [`--secret id=ca,src=${ca}`]),
    process.env['DOCKER_BUILD_FLAGS'] ?? '',
  ]
  const variables = [`IMG=${tag}`, `DOCKER=${docker}`, `DOCKER_BUILD_FLAGS=${flags.join(' ')}`]
  const { ok, stdout, stderr } = await ended('make', ['-C', folder, 'image', ...variables], {
    env: { DOCKER_HOST: host },
    withinMs: BUILDS_WITHIN_MS,
  })
  if (!ok) throw new Error(`make image failed:\n${`${stdout}${stderr}`.slice(-4000)}`)
}

// What the tests ask of Docker beyond what testcontainers offers.

/** Where containers run, and the product's image. */
export type ContainersReady = Extract<Containers, { readonly kind: 'ready' }>

/** What the tests of a file run on; null where they can't: they are skipped, with the reason. */
export function containersOrSkip(): ContainersReady | null {
  const containers = inject('containers')
  if (containers.kind === 'ready') return containers
  beforeEach(({ skip }) => skip(containers.because))
  return null
}

/** Whether an image is there. */
export async function imageExists(image: string): Promise<boolean> {
  const client = await getContainerRuntimeClient()
  return client.image.exists(ImageName.fromString(image))
}

// The scripts of `inside/`, which an image runs with its own Node: it has no shell.

/** Where Node is in the image. */
export const NODE = '/usr/local/bin/node'

/** How a container ended that was run to its end. */
export interface EndedContainer {
  readonly code: number
  readonly log: string
}

/** Runs a container to its end. */
export async function runToEnd(container: GenericContainer): Promise<EndedContainer> {
  const running = await launch(container)
  const code = await running.exited
  await running.end(0)
  return { code, log: running.log() }
}

/** A container of the image that runs a script of `inside/`, or a line of JavaScript, instead of its program. */
export function withScript(
  image: string,
  how: Confinement,
  script: { readonly file: string } | { readonly line: string },
  args: readonly string[] = [],
) {
  const code =
    'line' in script
      ? ['-e', script.line]
      : ['--input-type=module-typescript', '-e', source(script.file)]
  return confined(image, how)
    .withEntrypoint([NODE])
    .withCommand([...code, '--', ...args])
}

const source = (file: string): string =>
  readFileSync(join(import.meta.dirname, 'inside', file), 'utf8')
