// --help lists the commands, flags, defaults and exit codes of the program.
import { afterAll, describe, expect, test } from 'vitest'
import { runHere } from '../../support/command-line.ts'
import { type RunResult, runProgram } from '../../support/command-process.ts'
import { unreachableKubeconfig } from './unreachable-kubeconfig.ts'

const results = new Map<string, Promise<RunResult>>()

/** The result of a command line, which is run once: several tests look at one text. */
function run(line: string): Promise<RunResult> {
  const known = results.get(line) ?? runHere(line.split(' '))
  results.set(line, known)
  return known
}

const kubeconfig = unreachableKubeconfig()
afterAll(kubeconfig.remove)

const COMMANDS = [
  'manager',
  'gateway',
  'direct',
  'delivery',
  'sign-in',
  'syncer',
  'target',
  'kubeconfig',
  'check',
  'keygen',
  'audit',
  'revoke',
  'sessions',
  'login',
  'logout',
  'whoami',
  'token',
  'password',
]

/** Commands that take arguments. */
const USAGE: Readonly<Record<string, string>> = {
  revoke: 'revoke <name or uid>',
}

/** The exit codes of commands that have others than most. */
const EXIT_CODES: Readonly<Record<string, readonly string[]>> = {
  keygen: ['0', '2'],
  target: ['0', '2'],
  audit: ['0', '1', '2', '3'],
  token: ['0', '1', '2', '4'],
}

/** The lines below a heading such as `Flags:`: the words on the left, and the text on the right. */
function rowsOf(help: string, heading: string): readonly (readonly [string, string])[] {
  const [, section = ''] = help.split(`\n${heading}:\n`)
  const [rows = ''] = section.split('\n\n')
  return rows
    .trimEnd()
    .split('\n')
    .map((row) => {
      const [, left = '', right = ''] = /^ {2}(\S.*?) {2,}(\S.*)$/.exec(row) ?? []
      return [left, right] as const
    })
}

/** The flags in a text, such as `--help`. */
const flagsIn = (text: string): readonly string[] =>
  [...text.matchAll(/--[a-z-]+/g)].map(([flag]) => flag)

/** The accepted values in an error message. */
const acceptedBy = ({ stderr }: RunResult): string =>
  /accepted are ([^;\n]*)/.exec(stderr)?.[1] ?? ''

describe('management-operator --help (8.1)', () => {
  test('lists all commands and flags, and no other', async () => {
    const { code, stdout, stderr } = await run('--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const commands = rowsOf(stdout, 'Commands').map(([name]) => name)
    expect(commands).toEqual([...COMMANDS, 'help'])
    const flags = rowsOf(stdout, 'Flags').map(([names]) => flagsIn(names).join())
    const accepted = acceptedBy(await run('mangler')).split(/, | and /)
    expect(accepted).toEqual([...commands, ...flags])
  })

  test.each(['help', '-h', 'help help'])('%s prints the same', async (line) => {
    expect(await run(line)).toEqual(await run('--help'))
  })

  test('help of an unknown command is refused', async () => {
    const { code, stderr } = await run('help mangler')
    expect(code).toBe(2)
    expect(stderr).toContain('"mangler" is not a command')
  })
})

test.each(['--help', 'mangler', 'manager --help', 'manager --bogus'])(
  'the process prints the text, and exits with the code: %s (8.1)',
  async (line) => {
    expect(await runProgram(line.split(' '))).toEqual(await run(line))
  },
)

describe.each(COMMANDS)('management-operator %s --help (8.1)', (command) => {
  test('begins with the text in the list of commands', async () => {
    const [list, own] = await Promise.all([run('--help'), run(`${command} --help`)])
    expect({ code: own.code, stderr: own.stderr }).toEqual({ code: 0, stderr: '' })
    const [first] = own.stdout.split('\n')
    expect(rowsOf(list.stdout, 'Commands')).toContainEqual([command, first])
    const words = USAGE[command] ?? command
    expect(own.stdout).toContain(`\nUsage: management-operator ${words} [flags]\n`)
    expect(await run(`help ${command}`)).toEqual(own)
    expect(await run(`${command} -h`)).toEqual(own)
  })

  test('lists each flag that is parsed, and no other', async () => {
    const [help, refused] = await Promise.all([run(`${command} --help`), run(`${command} --bogus`)])
    const listed = rowsOf(help.stdout, 'Flags').flatMap(([names]) => flagsIn(names))
    expect(listed).toEqual(flagsIn(acceptedBy(refused)))
    expect(listed).toContain('--help')
    expect(help.stdout).toContain('\n  -h, --help ')
  })

  test('names the default of each flag', async () => {
    const rows = rowsOf((await run(`${command} --help`)).stdout, 'Flags')
    const without = rows.filter(([, text]) => !/\. \(default .+\)$/.test(text))
    const printing = ['--version', '-h, --help']
    expect(without.map(([names]) => names).filter((names) => !printing.includes(names))).toEqual([])
  })

  test('names its exit codes; 2 means an invalid command line', async () => {
    const [help, refused] = await Promise.all([run(`${command} --help`), run(`${command} --bogus`)])
    const codes = rowsOf(help.stdout, 'Exit codes').map(([code]) => code)
    expect(codes).toEqual(EXIT_CODES[command] ?? ['0', '1', '2'])
    expect(refused).toMatchObject({ code: 2, stdout: '' })
  })
})

test('revoke exits with 1 when the API server does not answer, as its help says (12.2)', async () => {
  const { code, stderr } = await runProgram(
    `revoke leaked --kubeconfig ${kubeconfig.path}`.split(' '),
  )
  expect(code).toBe(1)
  expect(stderr).toMatch(/^management-operator revoke: /)
  const { stdout } = await run('revoke --help')
  expect(Object.fromEntries(rowsOf(stdout, 'Exit codes'))).toMatchObject({
    1: expect.stringContaining('did not answer'),
  })
})
