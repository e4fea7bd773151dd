/** @module-tag no-retry */
// What the script is told besides where list and file are: to change the file in any case, and how long a
// list may be. See deny-revoked.test.ts.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type ListAnswer, listServer, revokedTokens } from './list-server.ts'
import { deniedIn, type Ran, runScript } from './script.ts'
import { shipped } from './shipped.ts'

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
        stdout: expect.stringMatching(/1 .* 0 of them new.*; read anew/),
        stderr: '',
      })
      texts.push(readFileSync(file, 'utf8'))
      expect(deniedIn(file)).toEqual([A])
    }
    expect(new Set(texts).size).toBe(3)
    const withoutComment = texts.map((text) => text.replace(/^ *# read anew at .*Z by \d+\n/m, ''))
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

describe('--max-list-bytes', () => {
  const tooLong = {
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^deny-revoked: the list .* is longer than .*\n$/),
  }
  test('is the longest list that is taken: exit 1 for a longer one', async () => {
    const { length } = answer.body
    expect(await run(['--max-list-bytes', `${length - 1}`])).toEqual(tooLong)
    expect(readFileSync(file, 'utf8')).toBe(FILE)
    expect(await run(['--max-list-bytes', `${length}`])).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toEqual([A])
  })

  test('holds for an answer that does not begin with its length', async () => {
    answer = { ...revokedTokens({ [A]: LATER }), headers: { 'transfer-encoding': 'chunked' } }
    expect(await run(['--max-list-bytes', '10'])).toEqual(tooLong)
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })

  test('is 8 MiB unless it is set, and may be more', async () => {
    const many = Array.from({ length: 140_000 }, () => [randomUUID(), LATER] as const)
    answer = revokedTokens(Object.fromEntries(many))
    expect(answer.body.length).toBeGreaterThan(2 ** 23)
    expect(await run()).toEqual(tooLong)
    expect(readFileSync(file, 'utf8')).toBe(FILE)
    expect(await run(['--max-list-bytes', `${2 ** 24}`])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('140000 tokens denied'),
    })
  })

  test.each(['', '0', '-1', '8M', '1e6', '08'])("can't be '%s': exit 2", async (number) => {
    expect(await run(['--max-list-bytes', number])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--max-list-bytes must be a number above 0'),
    })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })
})
