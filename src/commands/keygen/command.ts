import { createHash } from 'node:crypto'
import { generateKey } from '../../issuance/new-object.ts'
import {
  choiceValue,
  type Flag,
  flagsMarkdown,
  helpFlag,
  helpText,
  printText,
  readFlags,
  usageError,
} from '../../runtime/flags.ts'

const FLAGS = {
  output: {
    value: choiceValue(['text', 'json']),
    fallback: 'text',
    help: 'Output format: text or json.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const HELP = helpText({
  usage: 'keygen',
  summary: `Print a new access key and its digest.
Give the key to its holder, and put the digest into spec.key of an OwnedAccessKey: the digest grants no
access, so it may be in Git. The command needs no cluster and stores nothing.`,
  flags: FLAGS,
  exitCodes: { 0: 'The key and its digest are printed.' },
})

/** The flags of `keygen` as a Markdown table, for the docs. */
export const keygenFlagsTable = (): string => flagsMarkdown(FLAGS)

/**
 * `management-operator keygen` (contract 3.6).
 *
 * @returns the exit code
 */
export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return printText({ kind: 'print', text: HELP })
  if (faults.length > 0) return printText(usageError('keygen', faults))
  const key = generateKey()
  const digest = `sha256:${createHash('sha256').update(key).digest('hex')}`
  const text =
    values.output === 'json' ? JSON.stringify({ key, digest }) : `key:    ${key}\ndigest: ${digest}`
  return printText({ kind: 'print', text: `${text}\n` })
}
