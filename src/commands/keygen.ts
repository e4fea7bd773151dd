import { createHash, randomBytes } from 'node:crypto'
import { formatKey } from '../domain/key.ts'
import { type Flag, helpFlag, helpText, readFlags, refusal, wordKind } from '../runtime/flags.ts'
import { answer } from './answer.ts'

const FLAGS = {
  output: {
    kind: wordKind(['text', 'json']),
    fallback: 'text',
    help: 'Form of the output: text, json.',
  },
  help: helpFlag,
} satisfies Readonly<Record<string, Flag<unknown>>>

const SUMMARY = `Prints a new access key and its digest. Hand the key to its holder, and put the digest into
spec.key of an OwnedAccessKey: a digest opens nothing, so Git may hold it.`

/**
 * `management-operator keygen` (contract 3.6).
 *
 * @returns the exit code
 */
export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readFlags(FLAGS, argv)
  if (values.help) return answer({ kind: 'print', text: helpText('keygen', SUMMARY, FLAGS) })
  if (faults.length > 0) return answer(refusal('keygen', faults))
  const key = formatKey(randomBytes(32))
  const digest = `sha256:${createHash('sha256').update(key).digest('hex')}`
  const text =
    values.output === 'json' ? JSON.stringify({ key, digest }) : `key:    ${key}\ndigest: ${digest}`
  return answer({ kind: 'print', text: `${text}\n` })
}
