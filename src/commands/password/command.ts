// `management-operator password`: the hash of a password, for the Secret that a User names (contract 25.5, 27.2).
import { randomBytes } from 'node:crypto'
import {
  type Flag,
  flagsMarkdown,
  helpFlag,
  helpText,
  printText,
  readFlags,
  usageError,
} from '../../runtime/flags.ts'
import {
  SALT_BYTES,
  hashPassword,
  passwordFault,
  passwordHashText,
} from '../../signin/password/hash.ts'
import { hiddenLines } from './hidden-lines.ts'

const FLAGS = { help: helpFlag } satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'password',
  summary: `Print the hash of a password, for the Secret that spec.passwordRef of a User names.
The password is read twice from a terminal, which does not show it, or once from standard input: 12 to 256
characters in one line. The command needs no cluster and stores nothing.`,
  flags: FLAGS,
  exitCodes: {
    0: 'The hash is printed.',
    1: 'The password is too short or too long, has a control character, or the two differ.',
  },
})

/** The flags of `password` as a Markdown table, for the docs. */
export const passwordFlagsTable = (): string => flagsMarkdown(FLAGS)

/**
 * `management-operator password` (contract 27.2).
 *
 * @returns the exit code
 */
export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return printText({ kind: 'print', text: HELP })
  if (faults.length > 0) return printText(usageError('password', faults))
  const { stdin, stderr } = process
  const given = stdin.isTTY
    ? await hiddenLines(stdin, stderr, ['Password: ', 'Once more: '])
    : [await lineOf(stdin)]
  if (given === null) return refused('no password was given')
  const [password = '', again = password] = given
  if (password !== again) return refused('the two passwords differ')
  const fault = passwordFault(password)
  if (fault !== null) return refused(`the password ${fault}`)
  const hash = await hashPassword(password, randomBytes(SALT_BYTES))
  process.stdout.write(`${passwordHashText(hash)}\n`)
  return 0
}

function refused(fault: string): number {
  process.stderr.write(`management-operator password: ${fault}\n`)
  return 1
}

/** More bytes than a password may have; the rest is not read. */
const MOST_BYTES = 4096

/** Standard input without the line break at its end. Another line break is a control character, which is refused. */
async function lineOf(input: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk)
    chunks.push(bytes)
    size += bytes.length
    if (size > MOST_BYTES) break
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}
