// What DEBUG and `make dev` add to `make run`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { NODE_FLAGS } from '../../../tools/node-flags.ts'
import {
  debuggedCommands,
  inspectorFlags,
  onSettledChange,
} from '../../../tools/run/development.ts'
import { eventually, eventuallyPasses, staysTrue } from '../../support/eventually.ts'

describe('DEBUG', () => {
  test.each([
    { debug: undefined, commands: [], unknown: [] },
    { debug: '', commands: [], unknown: [] },
    { debug: 'gateway', commands: ['gateway'], unknown: [] },
    { debug: 'manager, syncer', commands: ['manager', 'syncer'], unknown: [] },
    { debug: 'sign-in', commands: ['sign-in'], unknown: [] },
    { debug: 'express:*,direct', commands: ['direct'], unknown: ['express:*'] },
    { debug: 'constructor', commands: [], unknown: ['constructor'] },
  ])('$debug names the commands $commands', ({ debug, commands, unknown }) =>
    expect(debuggedCommands(debug)).toEqual({ commands, unknown }),
  )

  test('opens an inspector on the loopback address, for the commands that it names', () => {
    expect(inspectorFlags('gateway', 'gateway')).toEqual(['--inspect=127.0.0.1:9230'])
    expect(inspectorFlags('manager', 'gateway')).toEqual([])
  })
})

const WITHIN = { withinMs: 10_000 }

test('a debugger attaches to a process with the flags of the program, and evaluates', async () => {
  // The inspector listens before the program runs: `ready` says that it has.
  const wait = 'globalThis.answer = 41; console.error("ready"); setInterval(() => {}, 1000)'
  const args = [...NODE_FLAGS, '--inspect=127.0.0.1:0', '--eval', wait]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let written = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written += text))
  const addressIn = (): string | undefined =>
    written.includes('ready') ? /ws:\/\/127\.0\.0\.1:\S+/.exec(written)?.[0] : undefined
  const url = await eventually('the inspector listens and the program runs', addressIn, WITHIN)
  const socket = new WebSocket(url)
  await once(socket, 'open')
  const params = { expression: 'answer + 1' }
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params }))
  const signal = AbortSignal.timeout(WITHIN.withinMs)
  const [message] = await once(socket, 'message', { signal })
  expect(JSON.parse(message.data).result.result.value).toBe(42)
  socket.close()
})

describe('a watched folder', () => {
  const watched = (): { readonly folder: string; readonly changes: () => number } => {
    const folder = mkdtempSync(join(tmpdir(), 'watched-'))
    mkdirSync(join(folder, 'deep'))
    let count = 0
    const end = onSettledChange(folder, () => (count += 1))
    onTestFinished(() => {
      end()
      rmSync(folder, { recursive: true })
    })
    return { folder, changes: () => count }
  }

  test('reports changes of its sources once they have settled, however many', async () => {
    const { folder, changes } = watched()
    for (const name of ['a.ts', 'b.ts', 'deep/c.ts']) writeFileSync(join(folder, name), 'x')
    await eventuallyPasses('one report', () => expect(changes()).toBe(1), WITHIN)
    writeFileSync(join(folder, 'deep/c.ts'), 'y')
    await eventuallyPasses('a second report', () => expect(changes()).toBe(2), WITHIN)
  })

  test('reports no change of another file', async () => {
    const { folder, changes } = watched()
    writeFileSync(join(folder, 'notes.txt'), 'x')
    await staysTrue('no report', () => expect(changes()).toBe(0), { forMs: 500 })
  })
})
