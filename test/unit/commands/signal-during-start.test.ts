// A pod that is deleted while it starts: process 1 of a container ignores signals that it has no handler for.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, expect, test } from 'vitest'
import { programArgs, cleanEnv } from '../../support/command-process.ts'
import { eventually } from '../../support/eventually.ts'
import { unreachableKubeconfig } from './unreachable-kubeconfig.ts'

/** Prints a line when the program installs its signal handler. */
const REPORTER = "process.on('newListener', (name) => name === 'SIGTERM' && console.log('listens'))"
const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(REPORTER)}`

const kubeconfig = unreachableKubeconfig()
afterAll(kubeconfig.remove)

test('SIGTERM while the program is loading ends it with exit code 0 (8.3)', async () => {
  const env = cleanEnv({ NODE_OPTIONS })
  const args = [
    ...programArgs(),
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
  // The signal came before the manager installed its own handler.
  expect(output).toMatch(/^listens\n(listens\n|$)/)
})
