import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { tether } from '../../../../tools/tether.ts'
import { temporaryFolder } from '../files/sink-folder.ts'
import type { AgentProcessOptions } from './agent-process.ts'
import { keyFile } from './sender-folder.ts'
import { platformAnswer, until } from './test-agent.ts'
import { status, TestPlatform } from './test-platform.ts'

const FILE = join(import.meta.dirname, 'agent-process.ts')

/** An agent that is killed at the end of the test. */
function startProcess(options: AgentProcessOptions) {
  const child = spawn(process.execPath, [FILE, JSON.stringify(options)], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  })
  tether(child)
  let said = ''
  const channel = child.stdio[3] as Readable
  channel.setEncoding('utf8').on('data', (part: string) => (said += part))
  const exited = once(child, 'close')
  const kill = (): void => void child.kill('SIGKILL')
  onTestFinished(kill)
  const lines = (): readonly string[] => said.split('\n').slice(0, -1)
  const numbers = (): readonly number[] =>
    lines().flatMap((line) => (line.startsWith('written ') ? Number(line.split(' ')[1]) : []))
  return { lines, numbers, kill, exited }
}

test('agents that are killed before, between and behind the answers of the platform lose no event (23.1)', async () => {
  const settings = { enabled: true, level: 2, maxSize: 1, maxBackups: 1, compress: true }
  const accepted = platformAnswer(settings, status(200))
  const platform = await TestPlatform.start(accepted)
  const { url, ca } = platform
  const place = { url, ca, accessKeyFile: keyFile().path, path: temporaryFolder() }
  const written: number[] = []
  let first = 0
  const start = (from: number | null) =>
    startProcess({ ...place, stateDir: place.path, first: from })
  for (const batches of [1, 2, 4]) {
    const agent = start(first)
    const before = platform.batches.length
    // It is killed when the platform has a batch, before the answer: it can't know.
    platform.answer = platformAnswer(settings, (request, response) => {
      if (platform.batches.length < before + batches) return status(200)(request, response)
      agent.kill()
      return response.destroy()
    })
    await agent.exited
    platform.answer = accepted
    written.push(...agent.numbers())
    first = (written.at(-1) ?? 0) + 2
  }
  // The last one records nothing, and sends what is left.
  const last = start(null)
  const newest = `id-${written.at(-1)}`
  await until('the last one is there', () => platform.batches.at(-1)?.includes(newest) === true)
  last.kill()
  expect(last.lines()).toEqual([])
  const sent = platform.batches.flat()
  const inOrder = [...new Set(sent)].map((id) => Number(id.slice(3)))
  expect(sent.length).toBeGreaterThan(inOrder.length)
  expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b))
  const found = new Set(inOrder)
  expect(written.length).toBeGreaterThan(20)
  expect(written.filter((number) => !found.has(number))).toEqual([])
})
