// The product's image, as `make image` builds it.
import { join } from 'node:path'
import { ended, type Engine } from '../../tools/docker/engine.ts'

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
