// A Docker daemon with the base image and the product's image, for all files of project `container`. Without one the
// tests are skipped with the reason, or fail under CONTAINER_TESTS=required.
import { randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { type Engine, ended, ensureBaseImage, findEngine } from '../../tools/docker/engine.ts'
import { BASE_IMAGE, buildImage } from './docker-containers.ts'

/** The daemon and image that test files get by `inject('containers')`. */
export type Containers =
  | { readonly kind: 'none'; readonly because: string }
  | ({
      readonly kind: 'ready'
      /** The product's image. */
      readonly image: string
    } & Pick<Engine, 'docker' | 'host' | 'isOurs'>)

declare module 'vitest' {
  interface ProvidedContext {
    readonly containers: Containers
  }
}

/** Called by vitest before the first file; the result is called after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const engine = await findEngine(console.log)
  if ('because' in engine) return without(project, engine.because)
  try {
    const lacks = await ensureBaseImage(engine, BASE_IMAGE, process.execPath)
    if (lacks !== null) return await stopped(engine).then(() => without(project, lacks))
    return await withImage(project, engine)
  } catch (error) {
    await engine.stop()
    throw error
  }
}

const stopped = (engine: Engine): Promise<void> => engine.stop()

function without(project: TestProject, because: string): () => Promise<void> {
  if (process.env['CONTAINER_TESTS'] === 'required') throw new Error(because)
  project.provide('containers', { kind: 'none', because })
  return async () => undefined
}

async function withImage(project: TestProject, engine: Engine): Promise<() => Promise<void>> {
  const { docker, host, isOurs } = engine
  // For testcontainers, here and in the processes of the tests.
  process.env['DOCKER_HOST'] = host
  if (isOurs) {
    // Ryuk would be an image to pull; leftovers are removed with the daemon.
    process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true'
    process.env['TESTCONTAINERS_HOST_OVERRIDE'] = 'localhost'
    // Temporary files are removed with the daemon too, however the tests end.
    process.env['TMPDIR'] = await mkdtemp(join(dirname(new URL(host).pathname), 'tests-'))
  }
  const image = `management-operator:test-${randomUUID().slice(0, 8)}`
  console.log(`building ${image}`)
  await buildImage(engine, image)
  project.provide('containers', { kind: 'ready', image, docker, host, isOurs })
  return async () => {
    if (!isOurs) await removeImages(engine, image)
    await engine.stop()
  }
}

/** Removes the image and those that tests have named after it. */
async function removeImages({ docker, host }: Engine, image: string): Promise<void> {
  const options = { env: { DOCKER_HOST: host }, withinMs: 30_000 }
  const format = ['--format', '{{.Repository}}:{{.Tag}}', '--filter', `reference=${image}*`]
  const { stdout } = await ended(docker, ['image', 'ls', ...format], options)
  const names = stdout.split('\n').filter(Boolean)
  if (names.length > 0) await ended(docker, ['image', 'rm', '--force', ...names], options)
}
