// The program as the image has it: JavaScript, written by tools/strip-types.ts.
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, globSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NODE_FLAGS } from '../../../tools/node-flags.ts'

const ROOT = join(import.meta.dirname, '../../..')
const home = mkdtempSync(join(tmpdir(), 'stripped-'))

beforeAll(() => {
  const tool = join(ROOT, 'tools/strip-types.ts')
  execFileSync(process.execPath, ['--no-warnings', tool, join(ROOT, 'src'), join(home, 'src')])
  copyFileSync(join(ROOT, 'package.json'), join(home, 'package.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
}, 60_000)
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Runs the program without Node's own compiler of types. */
function run(...argv: readonly string[]): string {
  const args = ['--no-strip-types', ...NODE_FLAGS, join(home, 'src/main.js'), ...argv]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return stdout + stderr
}

test('each source is a file of JavaScript', () => {
  const sources = globSync('**/*.ts', { cwd: join(ROOT, 'src') })
  const written = globSync('**/*.*', { cwd: join(home, 'src') })
  expect(written.toSorted()).toEqual(sources.map((path) => path.replace(/ts$/, 'js')).toSorted())
})

test.each(['manager', 'gateway', 'direct'])('the command %s is loaded', (command) => {
  expect(run(command, '--help')).toContain(`Usage: management-operator ${command}`)
})

test('the program of a worker thread is loaded', () => {
  const write = (name: string, content: object): string => {
    const path = join(home, name)
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  const patches = [{ path: 'metadata.labels.app', expression: '"host-" + value' }]
  const config = write('config.yaml', { sync: { toHost: { endpoints: { patches } } } })
  const metadata = { name: 'web', namespace: 'shop', labels: { app: 'web' } }
  const object = write('object.yaml', { apiVersion: 'v1', kind: 'Endpoints', metadata })
  expect(run('syncer', 'try', '--config', config, '--object', object)).toContain('app: host-web')
})
