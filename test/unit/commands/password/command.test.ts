// `management-operator password` prints the hash of a password that it never shows.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { hiddenLines } from '../../../../src/commands/password/hidden-lines.ts'
import { hasHash, passwordHashIn } from '../../../../src/signin/password/hash.ts'
import { cleanEnv, programArgs } from '../../../support/command-process.ts'
import { eventually } from '../../../support/eventually.ts'

const PASSWORD = 'correct horse ✓ battery'

const run = (input: string) =>
  spawnSync(process.execPath, [...programArgs(), 'password'], {
    input,
    encoding: 'utf8',
    env: cleanEnv(),
  })

describe('management-operator password (25.5, 27.2)', () => {
  test('prints another hash each time, of the line on standard input', async () => {
    const texts = [PASSWORD, `${PASSWORD}\r\n`].map((input) => {
      const { status, stdout, stderr } = run(input)
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      expect(stdout).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$\S+\n$/)
      return stdout
    })
    expect(new Set(texts).size).toBe(2)
    const hash = passwordHashIn(texts.at(-1) ?? '')
    expect(hash !== null && (await hasHash(PASSWORD, hash))).toBe(true)
  })

  test.each([
    { name: 'nothing', input: '', says: 'has fewer than 12 characters' },
    { name: '11 characters', input: 'eleven char\n', says: 'has fewer than 12 characters' },
    { name: '257 characters', input: 'p'.repeat(257), says: 'has more than 256 characters' },
    { name: 'a megabyte', input: 'p'.repeat(1e6), says: 'has more than 256 characters' },
    { name: 'two lines', input: `${PASSWORD}\n${PASSWORD}\n`, says: 'has a control character' },
  ])('$name on standard input is refused, and not shown', ({ input, says }) => {
    const { status, stdout, stderr } = run(input)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toBe(`management-operator password: the password ${says}\n`)
  })
})

/** A terminal: what it shows, and whether it shows what is typed. */
function terminal() {
  const modes: boolean[] = []
  let shown = ''
  const input = Object.assign(new PassThrough(), {
    setRawMode: (isRaw: boolean) => void modes.push(isRaw),
  })
  const lines = hiddenLines(
    input as unknown as Parameters<typeof hiddenLines>[0],
    { write: (text) => void (shown += text) },
    ['Password: ', 'Once more: '],
  )
  return { input, modes, shown: () => shown, lines }
}

describe('a terminal that hides what is typed (27.2)', () => {
  test.each([
    { name: 'two lines', keys: ['one', '\r', 'two', '\r'], lines: ['one', 'two'] },
    { name: 'two lines at once', keys: ['one\ntwo\nthree'], lines: ['one', 'two'] },
    { name: 'a mistake', keys: ['onx\u007fe\r', 'tw\bwo\r'], lines: ['one', 'two'] },
    { name: 'a mistake of two units', keys: ['one😀\u007f\r', 'two\r'], lines: ['one', 'two'] },
    { name: 'a new beginning', keys: ['once\u0015one\r', 'two\r'], lines: ['one', 'two'] },
    { name: 'too many mistakes', keys: ['\u007f\u007fone\r', 'two\r'], lines: ['one', 'two'] },
    { name: 'an empty line', keys: ['\r', '\r'], lines: ['', ''] },
    { name: 'an arrow', keys: ['one\u001b[D\r', 'two\r'], lines: ['one\u001b[D', 'two'] },
    { name: 'Ctrl-D in a line', keys: ['on\u0004e\r', 'two\r'], lines: ['one', 'two'] },
    { name: 'Ctrl-D in an empty line', keys: ['one\r', '\u0004'], lines: null },
    { name: 'Ctrl-C', keys: ['one\r', 'tw\u0003o\r'], lines: null },
    { name: 'a long line', keys: [`${'x'.repeat(5000)}\r`, '\r'], lines: ['x'.repeat(1024), ''] },
  ])('reads $name', async ({ keys, lines }) => {
    const { input, modes, shown, lines: read } = terminal()
    for (const key of keys) input.write(key)
    expect(await read).toEqual(lines)
    expect(modes).toEqual([true, false])
    expect(shown()).toMatch(/^Password: \n(?:Once more: \n)?$/)
    expect(input.listenerCount('data')).toBe(0)
  })

  test('reads half of a character with the rest', async () => {
    const { input, lines } = terminal()
    const bytes = Buffer.from('é\r✓\r')
    for (const byte of bytes) input.write(Buffer.of(byte))
    expect(await lines).toEqual(['é', '✓'])
  })

  test('is gone in the middle: no password was given', async () => {
    const { input, lines, modes } = terminal()
    input.end('one\r')
    expect(await lines).toBeNull()
    expect(modes).toEqual([true, false])
  })
})

test('a terminal shows neither of the two passwords, and both must be equal (27.2)', async ({
  skip,
}) => {
  const hasScript = spawnSync('script', ['--version']).status === 0
  skip(!hasScript, 'this machine has no program `script`, which makes a terminal')
  const words = [process.execPath, ...programArgs(), 'password']
  const command = words.map((word) => `'${word}'`).join(' ')
  const type = async (lines: readonly string[]) => {
    const child = spawn('script', ['-qec', command, '/dev/null'], { env: cleanEnv() })
    let shown = ''
    child.stdout.on('data', (piece: Buffer) => {
      shown += String(piece)
    })
    const closed = once(child, 'close')
    for (const [at, prompt] of ['Password: ', 'Once more: '].entries()) {
      // Before the prompt the terminal still shows what is typed.
      await eventually(prompt, () => shown.endsWith(prompt) || undefined, { withinMs: 5000 })
      child.stdin.write(lines[at])
    }
    const [code] = (await closed) as [number]
    return { code, shown }
  }
  const same = await type([`${PASSWORD}\r`, `${PASSWORD}\r`])
  expect(same.code).toBe(0)
  expect(same.shown).toMatch(/^Password: \r\nOnce more: \r\n\$scrypt\$\S+\r\n$/)
  const other = await type([`${PASSWORD}\r`, `${PASSWORD}!\r`])
  expect(other.code).toBe(1)
  expect(other.shown).toMatch(/^Password: \r\nOnce more: \r\n.*the two passwords differ\r\n$/)
})
