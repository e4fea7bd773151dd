// The program as the image has it: JavaScript in few files, without packages beside it.
import { spawnSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleProgram } from '../../../tools/bundle/bundle.ts'
import { NODE_FLAGS } from '../../../tools/node-flags.ts'
import { sharedSamlKey } from '../../support/saml/keys.ts'
import { forged } from '../../support/saml/sign-in.ts'

const ROOT = join(import.meta.dirname, '../../..')
const SOURCES = join(ROOT, 'src')
const home = mkdtempSync(join(tmpdir(), 'bundle-'))
const PROGRAM = join(home, 'src')

beforeAll(async () => {
  await bundleProgram(SOURCES, PROGRAM)
  copyFileSync(join(ROOT, 'package.json'), join(home, 'package.json'))
}, 60_000)
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Runs the program without Node's own compiler of types, in a folder without packages. */
function run(...argv: readonly string[]): string {
  const args = ['--no-strip-types', ...NODE_FLAGS, join(PROGRAM, 'main.js'), ...argv]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return stdout + stderr
}

const write = (name: string, content: object): string => {
  const path = join(home, name)
  writeFileSync(path, JSON.stringify(content))
  return path
}

test.each([
  'manager',
  'gateway',
  'direct',
  'syncer',
  'target',
  'kubeconfig',
  'check',
  'keygen',
  'audit',
  'revoke',
  'sessions',
  'login',
  'logout',
  'whoami',
  'token',
  'password',
])('the command %s is loaded', (command) => {
  expect(run(command, '--help')).toContain(`Usage: management-operator ${command}`)
})

test('the program of the worker thread and its WebAssembly are loaded', () => {
  const patches = [{ path: 'metadata.labels.app', expression: '"host-" + value' }]
  const config = write('config.yaml', { sync: { toHost: { endpoints: { patches } } } })
  const metadata = { name: 'web', namespace: 'shop', labels: { app: 'web' } }
  const object = write('object.yaml', { apiVersion: 'v1', kind: 'Endpoints', metadata })
  expect(run('syncer', 'try', '--config', config, '--object', object)).toContain('app: host-web')
})

test('the thread that verifies signatures is beside its command, and verifies', async () => {
  const command = readFileSync(join(PROGRAM, 'commands-sign-in-command.js'), 'utf8')
  expect(command).toMatch(/new URL\(["']\.\/signature-worker\.js["'], import\.meta\.url\)/)
  await using worker = new Worker(join(PROGRAM, 'signature-worker.js'), { env: {}, execArgv: [] })
  await once(worker, 'message')
  const keys = [createPublicKey(sharedSamlKey('P-256').privateKey)]
  const answered = once(worker, 'message')
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
  worker.postMessage({ xml: forged(), parts: ['Assertion'], keys })
  expect(await answered).toEqual([[expect.stringMatching(/^<saml:Assertion /)]])
})

test('a credential plugin is asked, by the library that is loaded only then', () => {
  const asked = join(home, 'asked')
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: ['-e', `require('node:fs').writeFileSync(${JSON.stringify(asked)}, '')`],
    interactiveMode: 'Never',
  }
  const kubeconfig = write('kubeconfig.yaml', {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { exec } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })
  expect(run('check', '--kubeconfig', kubeconfig)).toContain('credentials')
  expect(existsSync(asked)).toBe(true)
})

test('the same sources give the same bytes, without a path of this machine', async () => {
  const again = join(home, 'again')
  await bundleProgram(SOURCES, again)
  const filesOf = (folder: string) =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))
  expect(filesOf(again)).toEqual(filesOf(PROGRAM))
  const naming = readdirSync(PROGRAM).filter((name) =>
    readFileSync(join(PROGRAM, name)).includes(ROOT),
  )
  expect(naming).toEqual([])
})

test('each part is named by its source, and functions keep their names', () => {
  const command = readFileSync(join(PROGRAM, 'commands-manager-command.js'), 'utf8')
  expect(command).toContain('// src/controllers/directclusterendpointtoken/publish.ts\n')
  expect(command).toMatch(/^async function publish\(/m)
})

test('the image is built with the bundler of the tests', () => {
  const versionIn = (lock: string): unknown =>
    JSON.parse(readFileSync(join(ROOT, lock), 'utf8')).packages['node_modules/rolldown'].version
  expect(versionIn('tools/bundle/package-lock.json')).toBe(versionIn('package-lock.json'))
})
