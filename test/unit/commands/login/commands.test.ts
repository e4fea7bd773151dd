/** @module-tag no-retry */
// login, whoami, token and logout as a person runs them, with a browser that is a program.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runHere } from '../../../support/command-line.ts'
import { type RunResult, cleanEnv, programArgs } from '../../../support/command-process.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  END,
  KEY_PATH,
  type StandInPlatform,
  openPage,
  refuse,
  startPlatform,
} from './stand-in-platform.ts'

/** Reads the page at the address as Ada, and sends its form to the terminal. */
const BROWSER = `
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { get } from 'node:https'
const [, , caFile, address] = process.argv
get(address, { ca: readFileSync(caFile) }, async (response) => {
  let text = ''
  for await (const chunk of response) text += chunk
  const { code, state, port } = JSON.parse(text)
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'null' }
  const sent = request({ host: '127.0.0.1', port, path: '/callback', method: 'POST', headers })
  sent.end(String(new URLSearchParams({ code, state })))
})
`

/** A person; the browser signs in at that platform. @param home absent = a new one */
function personAt({ caFile }: Pick<StandInPlatform, 'caFile'>, home = newHome()) {
  const browser = join(home, 'browser.mjs')
  writeFileSync(browser, BROWSER)
  const env = cleanEnv({
    XDG_CONFIG_HOME: join(home, 'config'),
    BROWSER: `${process.execPath} ${browser} ${caFile} %s`,
  })
  const file = join(home, 'config/management-operator/sign-ins.json')
  const start = (line: string): ChildProcess =>
    spawn(process.execPath, [...programArgs(), ...line.split(' ')], { env })
  return {
    env,
    file,
    start,
    /** The same person with a browser for another platform. */
    withBrowserAt: (other: Pick<StandInPlatform, 'caFile'>): { readonly run: Run } =>
      personAt(other, home),
    /** Runs a command line in this process; standard input is not a terminal. */
    run: (line: string): Promise<RunResult> => {
      for (const name of ['XDG_CONFIG_HOME', 'BROWSER']) vi.stubEnv(name, env[name])
      onTestFinished(() => void vi.unstubAllEnvs())
      return runHere(line.split(' '))
    },
  }
}

type Run = (line: string) => Promise<RunResult>

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'person-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  return home
}

/** The platforms that whoami names. */
const platformsOf = ({ stdout }: RunResult): readonly string[] => stdout.match(/https:\S+/g) ?? []

async function resultOf(child: ChildProcess): Promise<RunResult> {
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout: stdout(), stderr: stderr() }
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = ''
  stream?.on('data', (piece: Buffer) => {
    text += String(piece)
  })
  return () => text
}

const credentialIn = (stdout: string) =>
  JSON.parse(stdout) as { status: { token: string; expirationTimestamp?: string } }

describe('the commands of a sign-in (27.2)', () => {
  test('sign in, show who it is, print the key for kubectl, and end it', async () => {
    const platform = await startPlatform({ refusesNewKey: 2 })
    const { run, file } = personAt(platform)
    const login = await run(`login --url ${platform.url}/ --ca-file ${platform.caFile}`)
    expect(login.code).toBe(0)
    expect(login.stdout).toBe(`Signed in at ${platform.url} as ada until ${END}.\n`)
    expect(login.stderr).toContain(`  ${platform.url}/login?cli=true&port=`)
    for (const secret of platform.secrets)
      expect(`${login.stdout}${login.stderr}`).not.toContain(secret)

    const whoami = await run('whoami')
    expect(whoami).toEqual({
      code: 0,
      stdout: `user:     ada\nteams:    sre, dev\nplatform: ${platform.url}\nuntil:    ${END}\n`,
      stderr: '',
    })

    const token = await run('token')
    expect({ code: token.code, stderr: token.stderr }).toEqual({ code: 0, stderr: '' })
    const credential = credentialIn(token.stdout)
    expect(credential).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: credential.status.token, expirationTimestamp: END },
    })
    expect(platform.isGood(credential.status.token)).toBe(true)

    const logout = await run(`logout --url ${platform.url}`)
    expect(logout).toEqual({ code: 0, stdout: `Signed out at ${platform.url}.\n`, stderr: '' })
    expect(platform.isGood(credential.status.token)).toBe(false)
    expect(readFileSync(file, 'utf8')).not.toContain(credential.status.token)
    expect(await run('logout')).toMatchObject({ code: 0, stdout: 'There is no sign-in.\n' })
    expect(await run('whoami')).toMatchObject({ code: 1, stdout: '' })
    expect(await run('token')).toEqual({
      code: 4,
      stdout: '',
      stderr:
        'management-operator token: there is no sign-in: management-operator login --url <url> begins one\n',
    })
  })

  test('read a pasted code from standard input with --no-browser', async () => {
    const platform = await startPlatform()
    const { start, run } = personAt(platform)
    const child = start(`login --no-browser --url ${platform.url} --ca-file ${platform.caFile}`)
    const result = resultOf(child)
    const shown = textOf(child.stderr)
    const address = await eventually('the address is shown', () => /https:\S+/.exec(shown())?.[0], {
      withinMs: 5000,
    })
    expect(address).not.toContain('port=')
    child.stdin?.end(`${(await openPage(platform, address)).code}\n`)
    expect(await result).toMatchObject({ code: 0 })
    expect((await run('whoami')).stdout).toContain('ada')
  })

  test('end with 1 and keep nothing when Ctrl-C is pressed', async () => {
    const platform = await startPlatform()
    const { start, file } = personAt(platform)
    const child = start(`login --no-browser --url ${platform.url}`)
    const result = resultOf(child)
    const shown = textOf(child.stderr)
    await eventually('the address is shown', () => shown().includes('Paste') || undefined, {
      withinMs: 5000,
    })
    child.kill('SIGINT')
    const { code, stdout, stderr } = await result
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/\nmanagement-operator login: the sign-in was given up\n$/)
    expect(existsSync(file)).toBe(false)
  })

  test('want --url where there are sign-ins at several platforms', async () => {
    const one = await startPlatform()
    const other = await startPlatform({ expirationTimestamp: null })
    const { run, withBrowserAt } = personAt(one)
    await run(`login --url ${one.url} --ca-file ${one.caFile}`)
    await withBrowserAt(other).run(`login --url ${other.url} --ca-file ${other.caFile}`)
    const { code, stderr } = await run('whoami')
    expect(code).toBe(1)
    expect(stderr).toContain(`name one by --url: ${one.url}, ${other.url}`)
    expect((await run(`whoami --url ${other.url}`)).stdout).toContain('until:    -\n')
    const { status } = credentialIn((await run(`token --url ${other.url}`)).stdout)
    expect(Object.keys(status)).toEqual(['token'])
    expect((await run(`logout --url ${other.url}`)).code).toBe(0)
    expect(platformsOf(await run('whoami'))).toEqual([one.url])
  })
})

describe('a key that has ended (27.2)', () => {
  test('is not printed: without a terminal the command says what to do, and exits with 4', async () => {
    const platform = await startPlatform({ expirationTimestamp: '2026-01-01T00:00:00Z' })
    const { run } = personAt(platform)
    await run(`login --url ${platform.url} --ca-file ${platform.caFile}`)
    expect(await run('token')).toEqual({
      code: 4,
      stdout: '',
      stderr: `management-operator token: sign in first: management-operator login --url ${platform.url}\n`,
    })
    expect(platform.asked.filter((what) => what === 'GET /login')).toHaveLength(1)
  })

  test('is replaced where there is a terminal, which shows no key', async ({ skip }) => {
    const hasScript = spawnSync('script', ['--version']).status === 0
    skip(!hasScript, 'this machine has no program `script`, which makes a terminal')
    const platform = await startPlatform({ expirationTimestamp: '2026-01-01T00:00:00Z' })
    const { run, env, file } = personAt(platform)
    await run(`login --url ${platform.url} --ca-file ${platform.caFile}`)
    const before = readFileSync(file, 'utf8')
    const output = `${file}.credential`
    const words = [process.execPath, ...programArgs(), 'token']
    const quoted = words.map((word) => `'${word}'`).join(' ')
    const child = spawn('script', ['-qec', `${quoted} > '${output}'`, '/dev/null'], { env })
    const shown = await resultOf(child)
    expect(shown.code).toBe(0)
    const { token } = credentialIn(readFileSync(output, 'utf8')).status
    expect(platform.isGood(token)).toBe(true)
    expect(before).not.toContain(token)
    expect(readFileSync(file, 'utf8')).toContain(token)
    expect(shown.stdout).toContain('/login?cli=true')
    for (const secret of platform.secrets) expect(shown.stdout).not.toContain(secret)
  })

  test('was ended by an administrator: whoami says so, and logout only forgets it', async () => {
    const platform = await startPlatform()
    const { run, file } = personAt(platform)
    await run(`login --url ${platform.url} --ca-file ${platform.caFile}`)
    platform.endKeys()
    expect(await run('whoami')).toEqual({
      code: 1,
      stdout: '',
      stderr: `management-operator whoami: the key has ended at ${platform.url}: sign in again\n`,
    })
    expect(await run('logout')).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).not.toContain('pak_')
    expect(platform.asked).not.toContain(`DELETE ${KEY_PATH}`)
  })

  test('is kept here as long as the platform does not delete it', async () => {
    const platform = await startPlatform({
      remove: (response) => refuse(response, 503, 'try again'),
    })
    const { run, file } = personAt(platform)
    await run(`login --url ${platform.url} --ca-file ${platform.caFile}`)
    const before = readFileSync(file, 'utf8')
    expect(await run('logout')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'management-operator logout: try again\n',
    })
    expect(readFileSync(file, 'utf8')).toBe(before)
  })
})

test.each(['login', 'logout', 'whoami', 'token'])(
  '%s does not use a file that others can read (27.2)',
  async (command) => {
    const platform = await startPlatform()
    const { run, file } = personAt(platform)
    await run(`login --url ${platform.url} --ca-file ${platform.caFile}`)
    const asked = platform.asked.length
    chmodSync(file, 0o644)
    const { code, stdout, stderr } = await run(`${command} --url ${platform.url}`)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      `management-operator ${command}: ${file} is open to other users: end the sign-ins in it, then run chmod 600 ${file}\n`,
    )
    expect(platform.asked).toHaveLength(asked)
  },
)

test.each([
  { line: 'login --url http://platform.example.com', says: 'an https URL without a path' },
  { line: 'login --url https://platform.example.com/x', says: 'an https URL without a path' },
  { line: 'login --ca-file /dev/null', says: '/dev/null has no certificate in PEM' },
  { line: 'login --no-browser=maybe', says: 'true or false' },
  { line: 'logout --all', says: '"--all" is not a flag, accepted are --url, --help' },
  { line: 'whoami ada', says: '"ada" is not a flag' },
  { line: 'token --url platform.example.com', says: 'an https URL without a path' },
  { line: 'password correct-horse', says: '"correct-horse" is not a flag' },
])('$line is refused in one line that names the valid form (8.1)', async ({ line, says }) => {
  const { code, stdout, stderr } = await runHere(line.split(' '))
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^management-operator [a-z]+: [^\n]+\n$/)
  expect(stderr).toContain(says)
})
