// `management-operator audit --path`: what is printed, and the exit codes of the process (contract 22.4).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { auditLine, numberedEvent, numberedLines } from '../../../support/audit-event-builder.ts'
import { runHere } from '../../../support/command-line.ts'
import { cleanEnv, programArgs, runProgram } from '../../../support/command-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'audit-command-'))
afterAll(() => rmSync(folder, { recursive: true }))

function directory(name: string, lines: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  writeFileSync(join(path, 'audit.log'), lines)
  return path
}

const whole = directory('whole', numberedLines(0, 5))
const torn = directory('torn', `${numberedLines(0, 2)}{"kind"\n`)
const empty = join(folder, 'none')
mkdirSync(empty)

describe('the exit code (22.4)', () => {
  // biome-ignore format: a table
  const CASES = [
    { code: 0, name: 'events were found', args: ['--path', whole], stdout: /^TIME .*\n(2026-.*\n){5}$/, stderr: /^$/ },
    { code: 1, name: 'no event was found', args: ['--path', whole, '--user=bob'], stdout: /^$/, stderr: /^No event was found\.\n$/ },
    { code: 2, name: 'a flag is wrong', args: ['--path', whole, '--usr=bob'], stdout: /^$/, stderr: /^management-operator audit: "--usr=bob" is not a flag/ },
    { code: 3, name: 'a line could not be read', args: ['--path', torn], stdout: /^TIME .*\n(2026-.*\n){2}$/, stderr: /^1 line of .*audit\.log could not be read, the first is line 3\n$/ },
    { code: 3, name: 'a line could not be read, and no other is meant', args: ['--path', torn, '--user=bob'], stdout: /^$/, stderr: /^1 line of/ },
    { code: 3, name: 'there is no such file', args: ['--path', join(folder, 'x')], stdout: /^$/, stderr: /^error: ENOENT/ },
    { code: 3, name: 'there is no audit log in the directory', args: ['--path', empty], stdout: /^$/, stderr: /^error: .* has no file of an audit log, such as audit\.log\n$/ },
  ]

  test.each(CASES)('is $code when $name', async ({ code, args, stdout, stderr }) => {
    expect(await runHere(['audit', ...args])).toEqual({
      code,
      stdout: expect.stringMatching(stdout),
      stderr: expect.stringMatching(stderr),
    })
  })

  test.each(CASES.slice(0, 4))('of the process is $code when $name', async ({ code, args }) => {
    const line = ['audit', ...args]
    // No cluster is needed, and no kubeconfig is read.
    const own = await runProgram(line, { KUBECONFIG: join(folder, 'x') })
    expect(own).toEqual({ ...(await runHere(line)), code })
  })
})

describe('-o json (22.4)', () => {
  test('is an EventList, the newest event first', async () => {
    const { code, stdout, stderr } = await runHere(['audit', '--path', whole, '-o', 'json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      kind: 'EventList',
      apiVersion: 'audit.k8s.io/v1',
      metadata: {},
      items: [4, 3, 2, 1, 0].map((number) => numberedEvent(number)),
    })
  })

  test('is an empty EventList where nothing was found', async () => {
    const line = ['audit', '--path', whole, '-o', 'json', '--user=bob']
    const { code, stdout } = await runHere(line)
    expect({ code, items: (JSON.parse(stdout) as { items: unknown }).items }).toEqual({
      code: 1,
      items: [],
    })
  })

  test('has bodies digit for digit, unless --body=false', async () => {
    const path = join(folder, 'bodies.log')
    writeFileSync(path, `${auditLine({ requestObject: 'N' }).replace('"N"', '{"n":1.00e9}')}\n`)
    const withBodies = await runHere(['audit', '--path', path, '-o', 'json'])
    expect(withBodies.stdout).toContain('"requestObject":{"n":1.00e9}')
    const without = await runHere(['audit', '--path', path, '-o', 'json', '--body=false'])
    expect(without.stdout).not.toContain('requestObject')
    expect(without.stdout).toContain('"auditID"')
  })
})

test('the flag that shows older events is named, and shows them (22.4)', async () => {
  const first = await runHere(['audit', '--path', whole, '--limit=2'])
  expect(first.code).toBe(0)
  const [, until = ''] = /go on with --until (\S+),/.exec(first.stderr) ?? []
  const next = await runHere([
    'audit',
    '--path',
    whole,
    '--limit=2',
    '--until',
    until,
    '-o',
    'json',
  ])
  expect(JSON.parse(next.stdout)).toMatchObject({
    items: [{ auditID: 'id-3' }, { auditID: 'id-2' }],
  })
})

test('text of clients does not reach the terminal unescaped, in no form of the output (22.4)', async () => {
  const text = '\u001b[2J\u009b31m\u202e'
  const path = join(folder, 'hostile.log')
  // Valid JSON may hold these characters as they are, but for the first.
  const line = auditLine({ user: { username: text } }).replaceAll(
    /\\u(009b|202e)/g,
    (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)),
  )
  writeFileSync(path, `${line}\n`)
  for (const output of ['table', 'json']) {
    const { code, stdout } = await runHere(['audit', '--path', path, '-o', output])
    expect(code).toBe(0)
    expect(stdout).toContain('\\u001b[2J\\u009b31m\\u202e')
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{C}/u)
  }
})

test('a reader that leaves, such as head, ends it without a word (22.4)', async () => {
  const path = join(folder, 'many.log')
  writeFileSync(path, numberedLines(0, 1000))
  const args = [...programArgs(), 'audit', '--path', path, '--limit=1000', '-o', 'json']
  const child = spawn(process.execPath, args, { env: cleanEnv() })
  let stderr = ''
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
  child.stdout.once('data', () => child.stdout.destroy())
  const [code] = (await once(child, 'exit')) as [number]
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

test('an output that could not be written is no success (22.4)', async () => {
  for (const output of ['table', 'json']) {
    const args = [...programArgs(), 'audit', '--path', whole, '-o', output]
    const child = spawn('sh', ['-c', 'exec "$@" > /dev/full', 'sh', process.execPath, ...args], {
      env: cleanEnv(),
    })
    const [stderr, [code]] = await Promise.all([textOf(child.stderr), once(child, 'exit')])
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^error: the output could not be written: ENOSPC/),
    })
  }
})
