// The scripts of `inside/`, which an image runs with its own Node: it has no shell.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GenericContainer } from 'testcontainers'
import { confined, type Confinement, launch } from './pod-container.ts'

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
