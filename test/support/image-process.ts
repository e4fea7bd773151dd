// The program as its image runs it in a pod: JavaScript, the variables of both, and the heap that the pod's limit leaves it. Tests
// that measure memory start it so.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { useBundledProgram } from '../../tools/bundle/bundle.ts'
import { HEAP_PERCENTAGE, IMAGE_VARIABLES } from '../../tools/node-flags.ts'
import type { ServingOptions } from './command-process.ts'

const ROOT = join(import.meta.dirname, '../..')

/**
 * Options that start a process as in the pod of a Deployment.
 *
 * @param manifest path of its manifest in the checkout
 * @throws Error when the manifest has no memory limit in Mi
 */
export async function asInPod(manifest: string): Promise<Required<Pick<ServingOptions, 'env'>>> {
  const text = readFileSync(join(ROOT, manifest), 'utf8')
  const [, limitMiB] = /limits:\s+memory: (\d+)Mi/.exec(text) ?? []
  if (limitMiB === undefined) throw new Error(`${manifest} has no memory limit in Mi`)
  // A whole run of tests has made it already.
  if (!process.env['PROGRAM_FILE']) await useBundledProgram(join(ROOT, '.test/image-program'))
  const heapMiB = Math.floor((Number(limitMiB) * HEAP_PERCENTAGE) / 100)
  const own = [...text.matchAll(/- name: ([A-Z_]+)\n +value: "([^"]*)"/g)]
  const variables = Object.fromEntries(own.map(([, name = '', value = '']) => [name, value]))
  const NODE_OPTIONS = `--max-old-space-size=${heapMiB}`
  return { env: { ...IMAGE_VARIABLES, ...variables, NODE_OPTIONS } }
}
