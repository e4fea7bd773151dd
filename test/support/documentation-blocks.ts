// Blocks of documentation that begin with ```sh: a test runs them, where `make run` can't.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import type { Scope } from '../../src/api/scope.gen.ts'
import { ensureBinaries } from '../../tools/control-plane/binaries.ts'
import type { Coordinates } from './installed-control-plane.ts'

const SHELL_BLOCK = /^( *)```sh\n([^]*?)^ *```$/gm

/** The text of each `sh` block of a page, in order, without the indentation of a list. */
export const shellBlocksOf = (markdown: string): readonly string[] =>
  [...markdown.matchAll(SHELL_BLOCK)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )

/** The folder, variables and control plane with which a block runs. */
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

// Blocks of documentation that begin with `$`: commands and their output.

/** One command and the output that stands under it. */
export interface Step {
  readonly command: string
  readonly output: string
}

const CONSOLE_BLOCK = /^```console\n([^]*?)^```$/gm

/** The steps of a page, in order. */
export function stepsOf(markdown: string): readonly Step[] {
  return [...markdown.matchAll(CONSOLE_BLOCK)].flatMap(([, block]) => stepsIn(block ?? ''))
}

function stepsIn(block: string): readonly Step[] {
  const [, ...parts] = `\n${block}`.split(/\n\$ /)
  return parts.map((part) => {
    const [command = '', ...output] = part.split('\n')
    return { command, output: output.join('\n') }
  })
}

const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>'],
  // The host and the uid of a leader.
  [/[\w.-]+_<uid>/g, '<replica>'],
  // As pages write them, so that no secret scanner takes them for keys.
  [/pak_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g, 'pak_<secret>'],
  [/sha256:[0-9a-f]{64}/g, 'sha256:<hex>'],
  // The id of a signing key.
  [/(?<![\w-])[\w-]{43}(?![\w-])/g, '<kid>'],
  // A port that another program has is replaced by one that is free.
  [/(https:\/\/127\.0\.0\.1:)\d+/g, '$1<port>'],
  [/(Resource Version: +)\d+/g, '$1<number>'],
  [/\b[0-9a-f]{16}\b/g, '<id>'],
  [/\b(\d+[dhms])+\b/g, '<age>'],
  [/[ \t]+/g, ' '],
]

/**
 * The text with what differs from run to run, ages, uids, times and keys, in masks. The API server
 * lists faults in no certain order: lines that begin with `* ` are sorted.
 */
export function masked(text: string): string {
  const once = MASKS.reduce((masking, [what, mask]) => masking.replace(what, mask), text)
  const lines = once.split('\n').map((line) => line.trimEnd())
  const faults = lines.filter(isFault).toSorted()
  return lines
    .map((line) => (isFault(line) ? faults.shift() : line))
    .join('\n')
    .trim()
}

const isFault = (line: string): boolean => line.startsWith('* ')

// docs/scopes.md as a table: each scope of the page with the requests below it. The page is the data.

/** A line of the page: the decision of the scope on a request. */
export interface Recipe {
  readonly scope: Scope
  readonly method: string
  /** URL path from the root of the gateway, with the query. */
  readonly path: string
  readonly answer: 'passes' | '403'
}

const PAGE = join(import.meta.dirname, '../../docs/scopes.md')
/** A scope, and the table of requests that is its, up to the next block. */
const EXAMPLE = /^```yaml\n([^]*?)^```\n((?:(?!^```)[^])*)/gm
const ROW = /^\| `([A-Z]+) ([^`]+)` \| (\S+) \|$/gm

/** The scopes of the page, those without requests included. */
export const cookbookScopes = (): readonly Scope[] => examples().map(({ scope }) => scope)

/** The lines of the page. @throws Error for a decision that is neither */
export function cookbook(): readonly Recipe[] {
  return examples().flatMap(({ scope, below }) =>
    [...below.matchAll(ROW)].map(([line, method = '', path = '', answer]) => {
      if (answer !== 'passes' && answer !== '403') throw new Error(`no answer: ${line}`)
      return { scope, method, path, answer }
    }),
  )
}

function examples(): readonly { readonly scope: Scope; readonly below: string }[] {
  return [...readFileSync(PAGE, 'utf8').matchAll(EXAMPLE)].map(([, yaml = '', below = '']) => {
    const { scope } = parse(yaml) as { readonly scope: Scope }
    return { scope, below }
  })
}
