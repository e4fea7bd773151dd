// Blocks of documentation that begin with ```sh: a test runs them, where `make run` can't.
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { ensureBinaries } from '../../tools/control-plane/binaries.ts'
import type { Coordinates } from './installed.ts'

const BLOCK = /^( *)```sh\n([^]*?)^ *```$/gm

/** The text of each `sh` block of a page, in order, without the indentation of a list. */
export const shellBlocksOf = (markdown: string): readonly string[] =>
  [...markdown.matchAll(BLOCK)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )

/** Where and with what a block is run. */
export interface Surroundings {
  /** The folder that it is run in. */
  readonly cwd: string
  /** More variables; PATH comes before that of the test. */
  readonly env?: Readonly<Record<string, string>>
}

const LIMIT_MS = 60_000

/**
 * Runs a block with kubectl as admin of that control plane, and returns what it printed.
 *
 * @throws Error with what it wrote to standard error, when any of its commands fails
 */
export async function runBlock(
  { adminKubeconfig }: Pick<Coordinates, 'adminKubeconfig'>,
  block: string,
  { cwd, env = {} }: Surroundings,
): Promise<string> {
  const { kubectl } = await ensureBinaries(console.log)
  const path = [env['PATH'], dirname(kubectl), process.env['PATH']].filter(Boolean).join(':')
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', block], {
    cwd,
    env: { ...process.env, KUBECONFIG: adminKubeconfig, ...env, PATH: path },
    timeout: LIMIT_MS,
  })
  return stdout
}
