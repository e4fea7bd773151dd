// A pod that is deleted while it starts: what process 1 of a container does not listen to is lost.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, expect, test } from 'vitest'
import { PROGRAM, cleanEnv } from '../../support/command-process.ts'
import { eventually } from '../../support/eventually.ts'
import { kubeconfigOfNone } from './no-cluster.ts'

/** Prints a line when the program begins to listen. */
const REPORTER = "process.on('newListener', (name) => name === 'SIGTERM' && console.log('listens'))"
const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(REPORTER)}`

const kubeconfig = kubeconfigOfNone()
afterAll(kubeconfig.remove)

test('SIGTERM while the program is loading ends it with exit code 0 (8.3)', async () => {
  const env = cleanEnv({ NODE_OPTIONS })
  const args = [
    ...PROGRAM,
    'manager',
    `--kubeconfig=${kubeconfig.path}`,
    '--metrics-bind-address=0',
  ]
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
  // It came before the manager listened for itself, if it ever did.
  expect(output).toMatch(/^listens\n(listens\n|$)/)
})
