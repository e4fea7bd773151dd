/** @module-tag no-retry */
// The optional flags of deny-revoked.sh: --reload, --max-tokens and --max-list-bytes. See deny-revoked.test.ts.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type ScriptResult, deniedIn, runDenyRevoked, shippedFile } from './authentication-file.ts'
import { AS_OF, type ListAnswer, startListServer, revocationList } from './issuer-servers.ts'

const FILE = shippedFile('authentication')
const LATER = '2099-11-21T11:00:00Z'
const A = '0f6c4f2e-5d0b-4d8e-9a51-3c6f1f0e7b2a'

let answer: ListAnswer
const { issuer, caPem } = await startListServer(() => answer)

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'deny-revoked-'))
  file = join(folder, 'authentication.yaml')
  writeFileSync(file, FILE)
  writeFileSync(join(folder, 'ca.crt'), caPem)
  answer = revocationList({ [A]: LATER })
})
afterEach(() => rmSync(folder, { recursive: true }))

function run(more: readonly string[] = []): Promise<ScriptResult> {
  const caFile = join(folder, 'ca.crt')
  return runDenyRevoked(['--issuer', issuer, '--file', file, '--ca-file', caFile, ...more])
}

describe('--reload (7.2, 7.4)', () => {
  const reload = () => run(['--reload'])

  test('changes the file on every run and keeps its deny rules when the list has no new token', async () => {
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

  test('changes a file without deny rules when the list is empty', async () => {
    answer = revocationList({})
    expect(await reload()).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).not.toBe(FILE)
    expect(parse(readFileSync(file, 'utf8'))).toEqual(parse(FILE))
  })

  test('adds new tokens in the same write', async () => {
    await reload()
    expect(deniedIn(file)).toEqual([A])
  })

  test('exits with 1 and leaves the file unchanged when the list is unavailable', async () => {
    answer = { code: 503, body: '' }
    expect(await reload()).toMatchObject({ code: 1, stderr: expect.stringContaining('no list') })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })
})

/** `count` revoked tokens that expire a minute apart, the last to expire first. */
const tokensByExpiry = (count: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      randomUUID(),
      new Date(Date.parse(LATER) - at * 60_000).toISOString().replace('.000Z', 'Z'),
    ]),
  )

describe('--max-tokens (7.4, threat X8)', () => {
  test('denies the tokens that expire last, reports how many are left out, and exits with 1', async () => {
    const tokens = tokensByExpiry(100)
    answer = revocationList(Object.fromEntries(Object.entries(tokens).toReversed()))
    expect(await run(['--max-tokens', '60'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `deny-revoked: 60 tokens denied, 60 of them new on the list of ${AS_OF}; 40 that end sooner are not: 60 tokens are all that it may deny\n`,
    })
    expect(deniedIn(file)).toEqual(Object.keys(tokens).slice(0, 60).toSorted())
  })

  test('reports tokens left out on every run, and does not rewrite the file, until the limit is raised', async () => {
    answer = revocationList(tokensByExpiry(100))
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

  test('replaces the token that expires first by a new one that expires last', async () => {
    const tokens = tokensByExpiry(10)
    answer = revocationList(tokens)
    await run(['--max-tokens', '10'])
    answer = revocationList({ ...tokens, [A]: '2099-11-22T11:00:00Z' })
    expect(await run(['--max-tokens', '10'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('10 tokens denied, 1 of them new'),
    })
    expect(deniedIn(file)).toEqual([A, ...Object.keys(tokens).slice(0, 9)].toSorted())
  })

  test('does not count expired tokens as left out', async () => {
    answer = revocationList({ [A]: LATER, [randomUUID()]: '2026-01-01T00:00:00Z' })
    expect(await run(['--max-tokens', '1'])).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toEqual([A])
  })

  test('defaults to 20,000, which a list of 130,000 tokens does not exceed', async () => {
    const LAST = '2099-11-22T11:00:00Z'
    const flood = Array.from({ length: 130_000 }, () => [randomUUID(), LATER] as const)
    answer = revocationList(Object.fromEntries([...flood, [A, LAST]]))
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
  const tokens = tokensByExpiry(10)
  const B = Object.keys(tokens)[0]
  const list = revocationList(tokens).body
  /** After the first entry, within the second, after the second, and before the end of the list. */
  const limits = [
    list.indexOf(',', list.indexOf(':{')),
    list.indexOf(':{') + 70,
    list.indexOf('Z"', list.indexOf(':{') + 80) + 2,
    list.length - 2,
  ]

  test.each(limits)(
    'reads the complete entries in the first %i bytes of a longer list, and exits with 1',
    async (bytes) => {
      answer = revocationList(tokens)
      const complete = (list.slice(0, bytes).match(/[0-9a-f-]{36}":"[^"]*"/g) ?? []).length
      const { code, stderr } = await run(['--max-list-bytes', String(bytes)])
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(
          /; 1 or more that end sooner are not: the list is longer than/,
        ),
      })
      expect(deniedIn(file)).toEqual(Object.keys(tokens).slice(0, complete).toSorted())
      expect(deniedIn(file)).toContain(B)
    },
  )

  test('reads the whole of a list of exactly that length', async () => {
    answer = revocationList(tokens)
    expect(await run(['--max-list-bytes', String(list.length)])).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toHaveLength(10)
  })

  test('limits a chunked answer too', async () => {
    answer = {
      ...revocationList(tokensByExpiry(2000)),
      headers: { 'transfer-encoding': 'chunked' },
    }
    expect(await run(['--max-list-bytes', '1000'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('longer than 1000 bytes'),
    })
    expect(deniedIn(file).length).toBeGreaterThan(10)
  })

  test('rejects a malformed list although its malformed part is beyond the limit', async () => {
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
)("the program rejects $flag '$number' with exit code 2", async ({ flag, number }) => {
  expect(await run([flag, number])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${flag} must be a number above 0`),
  })
  expect(readFileSync(file, 'utf8')).toBe(FILE)
})
