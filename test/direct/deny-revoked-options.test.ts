/** @module-tag no-retry */
// What the script is told besides where list and file are: to change the file in any case, how many tokens it
// may deny, and how much of a list is read. See deny-revoked.test.ts.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Ran, deniedIn, runScript, shipped } from './deny-revoked-script.ts'
import { AS_OF, type ListAnswer, listServer, revokedTokens } from './list-server.ts'

const FILE = shipped('authentication')
const LATER = '2099-11-21T11:00:00Z'
const A = '0f6c4f2e-5d0b-4d8e-9a51-3c6f1f0e7b2a'

let answer: ListAnswer
const { issuer, caPem } = await listServer(() => answer)

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'deny-revoked-'))
  file = join(folder, 'authentication.yaml')
  writeFileSync(file, FILE)
  writeFileSync(join(folder, 'ca.crt'), caPem)
  answer = revokedTokens({ [A]: LATER })
})
afterEach(() => rmSync(folder, { recursive: true }))

function run(more: readonly string[] = []): Promise<Ran> {
  const caFile = join(folder, 'ca.crt')
  return runScript(['--issuer', issuer, '--file', file, '--ca-file', caFile, ...more])
}

describe('--reload (7.2, 7.4)', () => {
  const reload = () => run(['--reload'])

  test('changes the file each time, when nothing is new on the list, and denies no less', async () => {
    await run()
    const texts = [readFileSync(file, 'utf8')]
    for (const _ of [1, 2]) {
      expect(await reload()).toEqual({
        code: 0,
        stdout: expect.stringMatching(/1 .* 0 of them new.*; reloaded/),
        stderr: '',
      })
      texts.push(readFileSync(file, 'utf8'))
      expect(deniedIn(file)).toEqual([A])
    }
    expect(new Set(texts).size).toBe(3)
    const withoutComment = texts.map((text) => text.replace(/^ *# reloaded at .*Z by \d+\n/m, ''))
    expect(new Set(withoutComment)).toEqual(new Set([texts[0]]))
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing new') })
    expect(readFileSync(file, 'utf8')).toBe(texts[2])
  })

  test('changes one that denies nobody, with a list that is empty', async () => {
    answer = revokedTokens({})
    expect(await reload()).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).not.toBe(FILE)
    expect(parse(readFileSync(file, 'utf8'))).toEqual(parse(FILE))
  })

  test('adds what is new on the list in the same write', async () => {
    await reload()
    expect(deniedIn(file)).toEqual([A])
  })

  test('without a list says so, by exit 1, and leaves the file as it is', async () => {
    answer = { code: 503, body: '' }
    expect(await reload()).toMatchObject({ code: 1, stderr: expect.stringContaining('no list') })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })
})

/** So many revoked tokens, the later in the list the sooner their end, a minute apart. */
const ending = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      randomUUID(),
      new Date(Date.parse(LATER) - at * 60_000).toISOString().replace('.000Z', 'Z'),
    ]),
  )

describe('--max-tokens (7.4, threat X8)', () => {
  test('of more than the file may deny it takes those that end last, says how many not, and exits with 1', async () => {
    const tokens = ending(100)
    answer = revokedTokens(Object.fromEntries(Object.entries(tokens).toReversed()))
    expect(await run(['--max-tokens', '60'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `deny-revoked: 60 tokens denied, 60 of them new on the list of ${AS_OF}; 40 that end sooner are not: 60 tokens are all that it may deny\n`,
    })
    expect(deniedIn(file)).toEqual(Object.keys(tokens).slice(0, 60).toSorted())
  })

  test('it says so until there is room, and writes nothing meanwhile', async () => {
    answer = revokedTokens(ending(100))
    await run(['--max-tokens', '60'])
    const { ino } = statSync(file)
    expect(await run(['--max-tokens', '60'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing new on the list'),
    })
    expect(statSync(file).ino).toBe(ino)
    expect(await run(['--max-tokens', '100'])).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toHaveLength(100)
  })

  test('one that ends last comes in, and the one that ends first goes', async () => {
    const tokens = ending(10)
    answer = revokedTokens(tokens)
    await run(['--max-tokens', '10'])
    answer = revokedTokens({ ...tokens, [A]: '2099-11-22T11:00:00Z' })
    expect(await run(['--max-tokens', '10'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('10 tokens denied, 1 of them new'),
    })
    expect(deniedIn(file)).toEqual([A, ...Object.keys(tokens).slice(0, 9)].toSorted())
  })

  test('what has ended is not counted among those left out', async () => {
    answer = revokedTokens({ [A]: LATER, [randomUUID()]: '2026-01-01T00:00:00Z' })
    expect(await run(['--max-tokens', '1'])).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toEqual([A])
  })

  test('is 20,000 unless it is set: a flood of 130,000 denies that many', async () => {
    const LAST = '2099-11-22T11:00:00Z'
    const flood = Array.from({ length: 130_000 }, () => [randomUUID(), LATER] as const)
    answer = revokedTokens(Object.fromEntries([...flood, [A, LAST]]))
    expect(await run()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('20000 tokens denied'),
    })
    const denied = deniedIn(file)
    expect(denied).toHaveLength(20_000)
    expect(denied).toContain(A)
  })
})

describe('--max-list-bytes (7.4, threat X8)', () => {
  const tokens = ending(10)
  const B = Object.keys(tokens)[0]
  const list = revokedTokens(tokens).body
  /** Up to the end of the first, within the second, up to the end of it, and all but its own end. */
  const cuts = [
    list.indexOf(',', list.indexOf(':{')),
    list.indexOf(':{') + 70,
    list.indexOf('Z"', list.indexOf(':{') + 80) + 2,
    list.length - 2,
  ]

  test.each(cuts)('of a longer list the beginning is read: %i bytes, exit 1', async (bytes) => {
    answer = revokedTokens(tokens)
    const whole = (list.slice(0, bytes).match(/[0-9a-f-]{36}":"[^"]*"/g) ?? []).length
    const { code, stderr } = await run(['--max-list-bytes', String(bytes)])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/; 1 or more that end sooner are not: the list is longer than/),
    })
    expect(deniedIn(file)).toEqual(Object.keys(tokens).slice(0, whole).toSorted())
    expect(deniedIn(file)).toContain(B)
  })

  test('one that is exactly as long is read whole', async () => {
    answer = revokedTokens(tokens)
    expect(await run(['--max-list-bytes', String(list.length)])).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toHaveLength(10)
  })

  test('holds for an answer that does not begin with its length', async () => {
    answer = { ...revokedTokens(ending(2000)), headers: { 'transfer-encoding': 'chunked' } }
    expect(await run(['--max-list-bytes', '1000'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('longer than 1000 bytes'),
    })
    expect(deniedIn(file).length).toBeGreaterThan(10)
  })

  test('a list that is something else is none, however it is cut', async () => {
    answer = { code: 200, body: `${list.slice(0, 200)}]) || true${list.slice(200)}` }
    expect(await run(['--max-list-bytes', '400'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('answers something else'),
    })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })
})

test.each(
  ['--max-tokens', '--max-list-bytes'].flatMap((flag) =>
    ['', '0', '-1', '8M', '1e6', '08'].map((number) => ({ flag, number })),
  ),
)("$flag can't be '$number': exit 2", async ({ flag, number }) => {
  expect(await run([flag, number])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${flag} must be a number above 0`),
  })
  expect(readFileSync(file, 'utf8')).toBe(FILE)
})
