/** @module-tag no-retry */
// The script by itself: what it makes of lists and files, good and bad. What a server makes of the file
// that it writes is shown in revocation.test.ts.
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  type Authentication,
  type Ran,
  deniedIn,
  denyRules,
  runScript,
  shipped,
} from './deny-revoked-script.ts'
import { AS_OF, type ListAnswer, listServer, revokedTokens } from './list-server.ts'

const FILE = shipped('authentication')

const LATER = '2099-11-21T11:00:00Z'
const A = '0f6c4f2e-5d0b-4d8e-9a51-3c6f1f0e7b2a'
const B = '1a6c4f2e-5d0b-4d8e-9a51-3c6f1f0e7b2a'

/** What the issuer of these tests answers, and how often it was asked. */
let answer: ListAnswer
let asked = 0
const { issuer, caPem } = await listServer(() => {
  asked += 1
  return answer
})

let folder: string
let file: string
let caFile: string
beforeEach(() => {
  asked = 0
  folder = mkdtempSync(join(tmpdir(), 'deny-revoked-'))
  file = join(folder, 'authentication.yaml')
  writeFileSync(file, FILE)
  caFile = join(folder, 'ca.crt')
  writeFileSync(caFile, caPem)
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('a list', () => {
  test('with new tokens is written, once (7.4)', async () => {
    answer = revokedTokens({ [B]: LATER, [A]: LATER })
    expect(await run()).toEqual({
      code: 0,
      stdout: `deny-revoked: 2 tokens denied, 2 of them new on the list of ${AS_OF}\n`,
      stderr: '',
    })
    expect(deniedIn(file)).toEqual([A, B])
    const { ino } = statSync(file)
    expect(await run()).toEqual({
      code: 0,
      stdout: `deny-revoked: nothing new on the list of ${AS_OF}\n`,
      stderr: '',
    })
    expect(statSync(file).ino).toBe(ino)
  })

  test('that is empty changes nothing', async () => {
    answer = revokedTokens({})
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing new') })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })

  test('that has lost tokens gives none back before its end', async () => {
    const ended = '2026-11-20T10:00:00Z'
    answer = revokedTokens({ [A]: LATER, [B]: ended })
    await run()
    expect(deniedIn(file)).toEqual([A, B])
    answer = revokedTokens({})
    await run()
    expect(deniedIn(file)).toEqual([A, B])
    const other = randomUUID()
    answer = revokedTokens({ [other]: LATER })
    await run()
    expect(deniedIn(file)).toEqual([A, other].toSorted())
  })

  test('of 2,000 tokens is written, 50 a rule', async () => {
    const uids = Array.from({ length: 2000 }, () => randomUUID())
    answer = revokedTokens(Object.fromEntries(uids.map((uid) => [uid, LATER])))
    expect(await run()).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toEqual(uids.toSorted())
    const lengths = denyRules(file).map(({ expression }) => expression.length)
    expect(lengths).toHaveLength(40)
    expect(Math.max(...lengths)).toBeLessThan(5000)
  })

  test('may be written with spaces and lines', async () => {
    const { body } = revokedTokens({ [A]: '2099-11-21T11:00:00.123Z' })
    answer = { code: 200, body: `${JSON.stringify(JSON.parse(body), null, 2)}\r\n` }
    await run()
    expect(deniedIn(file)).toEqual([A])
  })

  test('may name what can be no token: that is left out', async () => {
    const others = ['uid-1', A.toUpperCase(), `${A}0`, 'x'.repeat(253)]
    const entries = [...others, A].map((name) => [name, LATER] as const)
    answer = revokedTokens(Object.fromEntries(entries))
    expect(await run()).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toEqual([A])
  })

  const tokens = { [A]: LATER }
  const injected = `']) || true || id in ['`
  test.each([
    { name: 'nothing', body: '' },
    { name: 'another document', body: '{}' },
    { name: 'HTML', body: '<html><body>Sign in</body></html>' },
    { name: 'half a list', body: revokedTokens(tokens).body.slice(0, -8) },
    { name: 'a list with something behind it', body: `${revokedTokens(tokens).body}x` },
    { name: 'two lists', body: revokedTokens(tokens).body.repeat(2) },
    { name: 'no asOf', body: JSON.stringify({ tokens }) },
    { name: 'an odd asOf', body: JSON.stringify({ asOf: 'now', tokens }) },
    { name: 'null for tokens', body: JSON.stringify({ asOf: AS_OF, tokens: null }) },
    { name: 'an array of tokens', body: JSON.stringify({ asOf: AS_OF, tokens: [A] }) },
    { name: 'a member more', body: JSON.stringify({ asOf: AS_OF, tokens, more: {} }) },
    { name: 'a jti that is a rule', body: revokedTokens({ ...tokens, [injected]: LATER }).body },
    { name: 'a jti with a line', body: revokedTokens({ ...tokens, [`${A}\n  - x`]: LATER }).body },
    { name: 'a jti with a NUL', body: `{"asOf":"${AS_OF}","tokens":{"${A}\0":"${LATER}"}}` },
    { name: 'an end that is a line', body: revokedTokens({ [A]: `${LATER}\n  - x` }).body },
    { name: 'an end that is a number', body: `{"asOf":"${AS_OF}","tokens":{"${A}":5}}` },
    { name: 'an empty entry', body: `{"asOf":"${AS_OF}","tokens":{"${A}":"${LATER}",}}` },
    { name: 'tokens within tokens', body: JSON.stringify({ asOf: AS_OF, tokens: { x: tokens } }) },
  ])('that is $name changes nothing: exit 1', async ({ body }) => {
    answer = { code: 200, body }
    expect(await run()).toEqual({
      code: 1,
      stdout: '',
      stderr: `deny-revoked: ${issuer}/revoked answers something else than a list of revoked tokens\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })
})

describe('no list', () => {
  const good = revokedTokens({ [A]: LATER })
  test.each([
    { name: '404', code: 404, says: '404' },
    { name: '503 with a list', code: 503, says: '503' },
    { name: 'a redirect to one', code: 302, says: 'something else' },
  ])('because of $name: exit 1', async ({ code, says }) => {
    answer = code === 302 ? { code, body: '', headers: { location: '/' } } : { ...good, code }
    expect(await outcome(['--issuer', issuer, '--file', file, '--ca-file', caFile])).toEqual(
      refusal(1, says),
    )
  })

  test.each([
    { name: 'nobody is there', from: () => 'https://127.0.0.1:1/oidc', says: 'connect' },
    {
      name: 'the certificate is for another host',
      from: () => issuer.replace('127.0.0.1', 'localhost'),
      says: 'certificate',
    },
  ])('because $name: exit 1', async ({ from, says }) => {
    answer = good
    expect(await outcome(['--issuer', from(), '--file', file, '--ca-file', caFile])).toEqual(
      refusal(1, says),
    )
  })

  test('because the machine does not trust the issuer: exit 1', async () => {
    answer = good
    expect(await outcome(['--issuer', issuer, '--file', file])).toEqual(refusal(1, 'certificate'))
  })

  test('when a curlrc switches the check of certificates off: exit 1', async () => {
    writeFileSync(join(folder, '.curlrc'), 'insecure\n')
    answer = good
    expect(await outcome(['--issuer', issuer, '--file', file])).toEqual(refusal(1, 'certificate'))
  })
})

describe('the file', () => {
  test('keeps owner, mode and every other line', async () => {
    const { uid, gid } = statSync(folder)
    const owner = process.getuid?.() === 0 ? { uid: 1234, gid: 4321 } : { uid, gid }
    chmodSync(file, 0o640)
    chownSync(file, owner.uid, owner.gid)
    answer = revokedTokens({ [A]: LATER })
    await run()
    const { mode, ...now } = statSync(file)
    expect({ mode: mode & 0o777, uid: now.uid, gid: now.gid }).toEqual({ mode: 0o640, ...owner })
    const block = / *- message: the token is revoked\n[^]*?\n *\]\)\n/
    expect(readFileSync(file, 'utf8').replace(block, '')).toBe(FILE)
    expect(readdirSync(folder).toSorted()).toEqual(['authentication.yaml', 'ca.crt'])
  })

  test('may have another indentation, and rules of others around the lines', async () => {
    const indented = FILE.replaceAll(/^(?=[ -])/gm, '    ')
    writeFileSync(file, indented)
    answer = revokedTokens({ [A]: LATER })
    await run()
    expect(deniedIn(file)).toEqual([A])
    expect(readFileSync(file, 'utf8')).toContain('\n      # END revoked tokens')
  })

  const marker = /^ *# (BEGIN|END) revoked tokens.*\n/gm
  test.each([
    { name: 'without the lines', text: FILE.replaceAll(marker, '') },
    { name: 'without the first', text: FILE.replace(/^ *# BEGIN.*\n/m, '') },
    { name: 'without the second', text: FILE.replace(/^ *# END.*\n/m, '') },
    { name: 'with both twice', text: FILE + FILE },
    {
      name: 'with the lines in the wrong order',
      text: FILE.replaceAll(/BEGIN|END/g, (word) => (word === 'END' ? 'BEGIN' : 'END')),
    },
    { name: 'that is empty', text: '' },
  ])('$name: exit 2, and nothing is asked', async ({ text }) => {
    writeFileSync(file, text)
    answer = revokedTokens({ [A]: LATER })
    const { code, stderr } = await run()
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `deny-revoked: ${file} needs one line '# BEGIN revoked tokens' and after it one '# END revoked tokens'\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(asked).toBe(0)
  })

  test('that is a symbolic link: exit 2', async () => {
    const link = join(folder, 'link.yaml')
    symlinkSync(file, link)
    expect(await outcome(['--issuer', issuer, '--file', link])).toEqual(
      refusal(2, 'is a symbolic link'),
    )
  })

  test.each(['cp', 'mv'])('is as it was when %s fails: exit 1', async (tool) => {
    writeFileSync(join(folder, tool), '#!/bin/sh\necho no room >&2\nexit 1\n', { mode: 0o755 })
    const before = readdirSync(folder)
    answer = revokedTokens({ [A]: LATER })
    const { code, stderr } = await run({ PATH: `${folder}:${process.env['PATH']}` })
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `no room\ndeny-revoked: ${file} could not be written\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
    expect(readdirSync(folder)).toEqual(before)
  })
})

test.each([
  { name: 'no arguments', args: [], says: '--issuer must be an https URL' },
  { name: 'http', args: ['--issuer', 'http://x/oidc'], says: '--issuer must be an https URL' },
  { name: 'a slash at the end', args: ['--issuer', 'https://x/oidc/'], says: 'without a slash' },
  { name: 'no file', args: ['--issuer', 'https://x/oidc'], says: '--file must be' },
  { name: 'an unknown argument', args: ['--insecure'], says: 'unknown argument --insecure' },
  { name: 'an argument without a value', args: ['--issuer'], says: '--issuer needs a value' },
])('$name: exit 2', async ({ args, says }) => {
  expect(await outcome(args)).toEqual(refusal(2, says))
})

test('--help names the arguments', async () => {
  const { code, stdout } = await exec(['--help'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^usage: deny-revoked.sh --issuer <url> --file <file>/)
})

test('the two files differ in their audiences only (7.1)', () => {
  const config = parse(FILE) as Authentication
  const issuerUrl = config.jwt[0].issuer.url
  const scoped = ['scoped', 'scoped/clusters/my-cluster'].map((path) => `${issuerUrl}/${path}`)
  config.jwt[0].issuer.audiences.push(...scoped)
  expect(parse(shipped('authentication-with-webhook'))).toEqual(config)
})

function run(env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  return exec(['--issuer', issuer, '--file', file, '--ca-file', caFile], env)
}

function exec(args: readonly string[], added: NodeJS.ProcessEnv = {}): Promise<Ran> {
  return runScript(args, { HOME: folder, ...added })
}

async function outcome(args: readonly string[]): Promise<object> {
  return { ...(await exec(args)), isUntouched: readFileSync(file, 'utf8') === FILE }
}

/** One line that says it, and the file as it was. */
function refusal(code: number, says: string): object {
  const stderr = expect.stringMatching(new RegExp(`^deny-revoked: .*${says}.*\n$`))
  return { code, stdout: '', stderr, isUntouched: true }
}
