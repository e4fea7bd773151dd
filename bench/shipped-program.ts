// The program as the image has it: JavaScript, with its flags and variables. A checkout runs TypeScript, whose compiler takes
// memory and time at each start that no installation pays.
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, '.bench/program')

/** Makes it in .bench, so that it finds the packages. All processes of the program that start from now on run it. */
export function useShippedProgram(): void {
  rmSync(FOLDER, { recursive: true, force: true })
  const stripper = join(ROOT, 'tools/strip-types.ts')
  execFileSync(process.execPath, [
    '--no-warnings',
    stripper,
    join(ROOT, 'src'),
    join(FOLDER, 'src'),
  ])
  cpSync(join(ROOT, 'package.json'), join(FOLDER, 'package.json'))
  // As the Dockerfile has it.
  process.env['MALLOC_TRIM_THRESHOLD_'] = '131072'
  process.env['PROGRAM_FILE'] = join(FOLDER, 'src/main.js')
}
