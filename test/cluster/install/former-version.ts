// A former version in a folder of its own: the last tag, or before the first one the commit before the last change of src/.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../../..')

/** Files of a former version. */
export interface FormerVersion {
  readonly commit: string
  readonly folder: string
  /** The file that runs the program. */
  readonly programFile: string
  /** Its chart; null = it has none, and is installed by `config/default`. */
  readonly chart: string | null
}

const run = async (program: string, args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(program, args, { cwd: ROOT })).stdout.trim()

/** Writes a former version below the folder. @throws Error in a checkout without history */
export async function formerVersion(within: string): Promise<FormerVersion> {
  const commit = await formerCommit()
  const folder = join(within, 'former')
  mkdirSync(folder)
  const archive = join(within, 'former.tar')
  await run('git', ['archive', `--output=${archive}`, commit])
  await run('tar', ['-xf', archive, '-C', folder])
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const chart = join(folder, 'charts/management-operator')
  return {
    commit,
    folder,
    programFile: join(folder, 'src/main.ts'),
    chart: existsSync(chart) ? chart : null,
  }
}

async function formerCommit(): Promise<string> {
  // Exit code 128 = there is no tag.
  const tag = await run('git', ['describe', '--tags', '--abbrev=0', 'HEAD^']).catch(() => '')
  if (tag !== '') return run('git', ['rev-parse', `${tag}^{commit}`])
  const commits = await run('git', ['rev-list', '--max-count=2', 'HEAD', '--', 'src'])
  const [, former = ''] = commits.split('\n')
  if (former === '') throw new Error('no former version: this checkout has no history of src/')
  return former
}
