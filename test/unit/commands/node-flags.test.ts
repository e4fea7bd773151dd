// The Node flags of the program, which restrict what injected code could do.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { HEAP_PERCENTAGE, IMAGE_VARIABLES, NODE_FLAGS } from '../../../tools/node-flags.ts'
import { startCommand } from '../../support/command-process.ts'
import { unreachableKubeconfig } from './unreachable-kubeconfig.ts'

const ROOT = join(import.meta.dirname, '../../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const kubeconfig = unreachableKubeconfig()
afterAll(kubeconfig.remove)

describe('every way to start the program has the flags of Node (threats E15)', () => {
  test('the image', () => {
    const [, entrypoint = ''] = /^ENTRYPOINT (\[[^\]]*\])$/m.exec(read('Dockerfile')) ?? []
    const [node, heap, ...args] = JSON.parse(entrypoint.replaceAll('\\\n', ''))
    expect(node).toBe('/usr/local/bin/node')
    expect(heap).toBe(`--max-old-space-size-percentage=${HEAP_PERCENTAGE}`)
    expect(args).toEqual([...NODE_FLAGS, '/app/src/main.js'])
    const [, variables = ''] = /^ENV (.*)$/m.exec(read('Dockerfile')) ?? []
    const wanted = Object.entries(IMAGE_VARIABLES).map((variable) => variable.join('='))
    expect(variables.split(' ')).toEqual(wanted)
  })

  test('docs/operating.md', () => {
    expect(read('docs/operating.md')).toContain(
      `\nnode ${NODE_FLAGS.join(' ')} src/main.ts manager`,
    )
  })

  test('the program itself, and its npm link', () => {
    const [first] = read('src/main.ts').split('\n')
    expect(first).toBe(`#!/usr/bin/env -S node ${NODE_FLAGS.join(' ')}`)
  })
})

const COMMANDS = [
  { command: 'manager', flags: [] },
  { command: 'gateway', flags: ['--bind-address=127.0.0.1:0'] },
] as const

test.each(COMMANDS)('SIGUSR1 opens no inspector of the $command', async ({ command, flags }) => {
  await using started = await startCommand(command, {
    kubeconfig: kubeconfig.path,
    flags,
    until: 'serving',
  })
  started.kill('SIGUSR1')
  expect(await started.health('/healthz')).toMatchObject({ code: 200 })
  expect(await started.stop()).toEqual({ code: 0, signal: null })
  expect(started.output().stderr).toBe('')
})
