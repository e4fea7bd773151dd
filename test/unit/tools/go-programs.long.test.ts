// The programs of ours in Go. `make verify` checks their format; Go's own check for mistakes needs their modules, which
// are there once the programs are built.
import { execFile, spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { goEnvironment } from '../../../tools/control-plane/build.ts'

const ROOT = join(import.meta.dirname, '../../..')
const files = globSync('{tools,bench}/**/*.go', { cwd: ROOT })
const folders = [...new Set(files.map((file) => dirname(file)))]
const hasGo = spawnSync('go', ['version']).status === 0

beforeEach(({ skip }) => {
  if (!hasGo) skip('Go is not installed')
})

test.each(folders.toSorted().map((folder) => ({ folder })))(
  'go vet finds nothing in $folder',
  // Without what a build leaves in Go's cache it takes minutes.
  { timeout: 600_000 },
  async ({ folder }) => {
    const env = goEnvironment(folder)
    const vet = promisify(execFile)('go', ['vet', '-trimpath', '.'], {
      cwd: join(ROOT, folder),
      env,
    })
    const { stderr, ...rest } = await vet.catch((error: { readonly stderr: string }) => ({
      stderr: error.stderr,
    }))
    // A fresh machine gets the modules first.
    const found = stderr.split('\n').filter((line) => !line.startsWith('go: downloading '))
    expect({ ...rest, stderr: found.join('\n') }).toEqual({ stdout: '', stderr: '' })
  },
)
