// A pod that is deleted while it starts: what process 1 of a container does not listen to is lost.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { cleanEnv, MAIN } from '../../support/program.ts'

/** Says when somebody in the program begins to listen. */
const TELLS = "process.on('newListener', (name) => name === 'SIGTERM' && console.log('listens'))"
const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(TELLS)}`

/** Of an API server that is not there: the manager waits for it. */
const KUBECONFIG = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'none', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'none', user: { token: 'x' } }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  'current-context': 'none',
}
const folder = mkdtempSync(join(tmpdir(), 'early-signal-'))
const kubeconfig = join(folder, 'kubeconfig')
writeFileSync(kubeconfig, JSON.stringify(KUBECONFIG))
afterAll(() => rmSync(folder, { recursive: true }))

test('SIGTERM while the program is loading ends it with exit code 0 (8.3)', async () => {
  const env = cleanEnv({ NODE_OPTIONS })
  const args = [MAIN, 'manager', `--kubeconfig=${kubeconfig}`, '--metrics-bind-address=0']
  args.push('--health-probe-bind-address=0')
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const isHeard = () => output.includes('listens') || undefined
  await eventually('it listens', isHeard, { withinMs: 30_000 })
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  // Heard before the manager began to listen for itself, if it came to that at all.
  expect(output).toMatch(/^listens\n(listens\n|$)/)
})
