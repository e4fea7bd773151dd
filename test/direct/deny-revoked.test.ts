/** @module-tag no-retry */
// deny-revoked.sh alone: which lists and files it accepts and what it writes. revocation.long.test.ts shows that an
// API server refuses the tokens.
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
  type ScriptResult,
  deniedIn,
  denyRules,
  runDenyRevoked,
  shippedFile,
} from './authentication-file.ts'
import { AS_OF, type ListAnswer, startListServer, revocationList } from './issuer-servers.ts'

const FILE = shippedFile('authentication')

const LATER = '2099-11-21T11:00:00Z'
const A = '0f6c4f2e-5d0b-4d8e-9a51-3c6f1f0e7b2a'
const B = '1a6c4f2e-5d0b-4d8e-9a51-3c6f1f0e7b2a'

/** The answer of the issuer, and how many requests it got. */
let answer: ListAnswer
let requestCount = 0
const { issuer, caPem } = await startListServer(() => {
  requestCount += 1
  return answer
})

let folder: string
let file: string
let caFile: string
beforeEach(() => {
  requestCount = 0
  folder = mkdtempSync(join(tmpdir(), 'deny-revoked-'))
  file = join(folder, 'authentication.yaml')
  writeFileSync(file, FILE)
  caFile = join(folder, 'ca.crt')
  writeFileSync(caFile, caPem)
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the revocation list', () => {
  test('is written as deny rules, and not again without new tokens (7.4)', async () => {
    answer = revocationList({ [B]: LATER, [A]: LATER })
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

  test('changes nothing when it is empty', async () => {
    answer = revocationList({})
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing new') })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })

  test('keeps denying tokens that are no longer listed until they expire', async () => {
    const ended = '2026-11-20T10:00:00Z'
    answer = revocationList({ [A]: LATER, [B]: ended })
    await run()
    expect(deniedIn(file)).toEqual([A, B])
    answer = revocationList({})
    await run()
    expect(deniedIn(file)).toEqual([A, B])
    const other = randomUUID()
    answer = revocationList({ [other]: LATER })
    await run()
    expect(deniedIn(file)).toEqual([A, other].toSorted())
  })

  test('of 2,000 tokens is written as rules of 50 tokens each', async () => {
    const uids = Array.from({ length: 2000 }, () => randomUUID())
    answer = revocationList(Object.fromEntries(uids.map((uid) => [uid, LATER])))
    expect(await run()).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toEqual(uids.toSorted())
    const lengths = denyRules(file).map(({ expression }) => expression.length)
    expect(lengths).toHaveLength(40)
    expect(Math.max(...lengths)).toBeLessThan(5000)
  })

  test('is accepted with whitespace, line breaks and fractions of seconds', async () => {
    const { body } = revocationList({ [A]: '2099-11-21T11:00:00.123Z' })
    answer = { code: 200, body: `${JSON.stringify(JSON.parse(body), null, 2)}\r\n` }
    await run()
    expect(deniedIn(file)).toEqual([A])
  })

  test('is accepted with ids that no token can have, which are left out', async () => {
    const others = ['uid-1', A.toUpperCase(), `${A}0`, 'x'.repeat(253)]
    const entries = [...others, A].map((name) => [name, LATER] as const)
    answer = revocationList(Object.fromEntries(entries))
    expect(await run()).toMatchObject({ code: 0 })
    expect(deniedIn(file)).toEqual([A])
  })

  const tokens = { [A]: LATER }
  const injected = `']) || true || id in ['`
  test.each([
    { name: 'an empty body', body: '' },
    { name: 'a JSON object without members', body: '{}' },
    { name: 'an HTML page', body: '<html><body>Sign in</body></html>' },
    { name: 'a truncated list', body: revocationList(tokens).body.slice(0, -8) },
    { name: 'a list with trailing text', body: `${revocationList(tokens).body}x` },
    { name: 'two lists in one body', body: revocationList(tokens).body.repeat(2) },
    { name: 'a list without asOf', body: JSON.stringify({ tokens }) },
    { name: 'a list with an asOf that is no time', body: JSON.stringify({ asOf: 'now', tokens }) },
    { name: 'a list with tokens: null', body: JSON.stringify({ asOf: AS_OF, tokens: null }) },
    { name: 'a list with an array of tokens', body: JSON.stringify({ asOf: AS_OF, tokens: [A] }) },
    {
      name: 'a list with an unknown member',
      body: JSON.stringify({ asOf: AS_OF, tokens, more: {} }),
    },
    {
      name: 'a jti that injects a CEL expression',
      body: revocationList({ ...tokens, [injected]: LATER }).body,
    },
    {
      name: 'a jti that injects a YAML line',
      body: revocationList({ ...tokens, [`${A}\n  - x`]: LATER }).body,
    },
    { name: 'a jti with a NUL', body: `{"asOf":"${AS_OF}","tokens":{"${A}\0":"${LATER}"}}` },
    {
      name: 'an expiry that injects a YAML line',
      body: revocationList({ [A]: `${LATER}\n  - x` }).body,
    },
    { name: 'an expiry that is a number', body: `{"asOf":"${AS_OF}","tokens":{"${A}":5}}` },
    { name: 'a trailing comma', body: `{"asOf":"${AS_OF}","tokens":{"${A}":"${LATER}",}}` },
    { name: 'nested tokens', body: JSON.stringify({ asOf: AS_OF, tokens: { x: tokens } }) },
  ])('is rejected as $name: exit code 1, and the file is unchanged', async ({ body }) => {
    answer = { code: 200, body }
    expect(await run()).toEqual({
      code: 1,
      stdout: '',
      stderr: `deny-revoked: ${issuer}/revoked answers something else than a list of revoked tokens\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(FILE)
  })
})

describe('an unavailable list leaves the file unchanged and exits with 1', () => {
  const good = revocationList({ [A]: LATER })
  test.each([
    { name: 'HTTP 404', code: 404, says: '404' },
    { name: 'HTTP 503 with a valid list as its body', code: 503, says: '503' },
    { name: 'a redirect', code: 302, says: 'something else' },
  ])('$name', async ({ code, says }) => {
    answer = code === 302 ? { code, body: '', headers: { location: '/' } } : { ...good, code }
    expect(await outcome(['--issuer', issuer, '--file', file, '--ca-file', caFile])).toEqual(
      refusal(1, says),
    )
  })

  test.each([
    { name: 'connection refused', from: () => 'https://127.0.0.1:1/oidc', says: 'connect' },
    {
      name: 'a certificate for another host',
      from: () => issuer.replace('127.0.0.1', 'localhost'),
      says: 'certificate',
    },
  ])('$name', async ({ from, says }) => {
    answer = good
    expect(await outcome(['--issuer', from(), '--file', file, '--ca-file', caFile])).toEqual(
      refusal(1, says),
    )
  })

  test('a certificate of an unknown CA', async () => {
    answer = good
    expect(await outcome(['--issuer', issuer, '--file', file])).toEqual(refusal(1, 'certificate'))
  })

  test('a certificate of an unknown CA, although .curlrc says insecure', async () => {
    writeFileSync(join(folder, '.curlrc'), 'insecure\n')
    answer = good
    expect(await outcome(['--issuer', issuer, '--file', file])).toEqual(refusal(1, 'certificate'))
  })
})

describe('the authentication file', () => {
  test('keeps its owner, its mode and all other lines', async () => {
    const { uid, gid } = statSync(folder)
    const owner = process.getuid?.() === 0 ? { uid: 1234, gid: 4321 } : { uid, gid }
    chmodSync(file, 0o640)
    chownSync(file, owner.uid, owner.gid)
    answer = revocationList({ [A]: LATER })
    await run()
    const { mode, ...now } = statSync(file)
    expect({ mode: mode & 0o777, uid: now.uid, gid: now.gid }).toEqual({ mode: 0o640, ...owner })
    const block = / *- message: the token is revoked\n[^]*?\n *\]\)\n/
    expect(readFileSync(file, 'utf8').replace(block, '')).toBe(FILE)
    expect(readdirSync(folder).toSorted()).toEqual(['authentication.yaml', 'ca.crt'])
  })

  test('is updated with another indentation too', async () => {
    const indented = FILE.replaceAll(/^(?=[ -])/gm, '    ')
    writeFileSync(file, indented)
    answer = revocationList({ [A]: LATER })
    await run()
    expect(deniedIn(file)).toEqual([A])
    expect(readFileSync(file, 'utf8')).toContain('\n      # END revoked tokens')
  })

  const markers = /^ *# (BEGIN|END) revoked tokens.*\n/gm
  test.each([
    { name: 'without markers', text: FILE.replaceAll(markers, '') },
    { name: 'without the BEGIN marker', text: FILE.replace(/^ *# BEGIN.*\n/m, '') },
    { name: 'without the END marker', text: FILE.replace(/^ *# END.*\n/m, '') },
    { name: 'with two pairs of markers', text: FILE + FILE },
    {
      name: 'with END before BEGIN',
      text: FILE.replaceAll(/BEGIN|END/g, (word) => (word === 'END' ? 'BEGIN' : 'END')),
    },
    { name: 'without content', text: '' },
  ])('$name is rejected with exit code 2, before any request', async ({ text }) => {
    writeFileSync(file, text)
    answer = revocationList({ [A]: LATER })
    const { code, stderr } = await run()
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `deny-revoked: ${file} needs one line '# BEGIN revoked tokens' and after it one '# END revoked tokens'\n`,
    })
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(requestCount).toBe(0)
  })

  test('is rejected with exit code 2 when it is a symbolic link', async () => {
    const link = join(folder, 'link.yaml')
    symlinkSync(file, link)
    expect(await outcome(['--issuer', issuer, '--file', link])).toEqual(
      refusal(2, 'is a symbolic link'),
    )
  })

  test.each(['cp', 'mv'])('is unchanged when %s fails: exit code 1', async (tool) => {
    writeFileSync(join(folder, tool), '#!/bin/sh\necho no room >&2\nexit 1\n', { mode: 0o755 })
    const before = readdirSync(folder)
    answer = revocationList({ [A]: LATER })
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
  { name: 'a missing --issuer', args: [], says: '--issuer must be an https URL' },
  {
    name: 'an issuer with http',
    args: ['--issuer', 'http://x/oidc'],
    says: '--issuer must be an https URL',
  },
  {
    name: 'an issuer with a trailing slash',
    args: ['--issuer', 'https://x/oidc/'],
    says: 'without a slash',
  },
  { name: 'a missing --file', args: ['--issuer', 'https://x/oidc'], says: '--file must be' },
  { name: 'an unknown argument', args: ['--insecure'], says: 'unknown argument --insecure' },
  { name: 'an argument without a value', args: ['--issuer'], says: '--issuer needs a value' },
])('the program exits with 2 for $name', async ({ args, says }) => {
  expect(await outcome(args)).toEqual(refusal(2, says))
})

test('--help prints the usage', async () => {
  const { code, stdout } = await exec(['--help'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^usage: deny-revoked.sh --issuer <url> --file <file>/)
})

test('the two shipped files differ in their audiences only (7.1)', () => {
  const config = parse(FILE) as Authentication
  const issuerUrl = config.jwt[0].issuer.url
  const scoped = ['scoped', 'scoped/clusters/my-cluster'].map((path) => `${issuerUrl}/${path}`)
  config.jwt[0].issuer.audiences.push(...scoped)
  expect(parse(shippedFile('authentication-with-webhook'))).toEqual(config)
})

function run(env: NodeJS.ProcessEnv = {}): Promise<ScriptResult> {
  return exec(['--issuer', issuer, '--file', file, '--ca-file', caFile], env)
}

function exec(args: readonly string[], added: NodeJS.ProcessEnv = {}): Promise<ScriptResult> {
  return runDenyRevoked(args, { HOME: folder, ...added })
}

async function outcome(args: readonly string[]): Promise<object> {
  return { ...(await exec(args)), isUntouched: readFileSync(file, 'utf8') === FILE }
}

/** One line on standard error that contains `says`, and the file unchanged. */
function refusal(code: number, says: string): object {
  const stderr = expect.stringMatching(new RegExp(`^deny-revoked: .*${says}.*\n$`))
  return { code, stdout: '', stderr, isUntouched: true }
}
