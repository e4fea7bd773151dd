// A backtracking regular expression would block the event loop of a replica (threat X1). So every expression of the
// program is timed against text that it almost matches, whether clients can reach it today or not.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { codeOf } from '../../tools/structure/imports.ts'
import { repeated } from '../support/tier.ts'

const ROOT = join(import.meta.dirname, '../..')
/** So long that a quadratic expression takes a thousand times as long as a linear one, and more. */
const LENGTH = repeated(20_000, 60_000)
/** The limit, as a multiple of the time of a plain expression on the same text. */
const TIMES_A_PLAIN_ONE = 1000
const PLAIN = '/^(?:a|b)*$/'

/** How often a text is tried, as other load may slow a try down; and the total time limit. */
interface Patience {
  readonly tries: number
  readonly limitMs: number
}
const PATIENT: Patience = { tries: 8, limitMs: 20_000 }

/** Where a value may begin, a slash starts a literal. */
const LITERAL =
  /(?<=(?:[=(,:;!&|?[{}]|\breturn)\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n[])+)\/([dgimsuvy]*)/g

interface Expression {
  readonly file: string
  readonly literal: string
  readonly source: string
}

function expressionsIn(file: string): readonly Expression[] {
  const code = codeOf(readFileSync(join(ROOT, file), 'utf8'))
  return [...code.matchAll(LITERAL)].map(([literal, source = '']) => ({ file, literal, source }))
}

const FILES = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.gen.ts'))
const EXPRESSIONS = FILES.flatMap(expressionsIn)

/** Expressions built from our own names that parse our own text, so no client reaches them. */
const BUILT: Readonly<Record<string, number>> = {
  'src/domain/token/revocation.ts': 1,
  'src/signing/signing-key-secret.ts': 1,
}

/** Characters that the expression is about, and some for its classes. */
function alphabetOf(source: string): readonly string[] {
  const named =
    source.replaceAll(/\\[a-zA-Z](?:\{[^}]*\})?/g, '').match(/[^\\^$*+?()|{}[\]]/g) ?? []
  return [...new Set([...named.slice(0, 5), 'a', '0', ' ', '/', '\\'])]
}

/** Repeated characters and pairs after a matching beginning, with endings that may not match. */
function hostileTo(source: string): readonly string[] {
  const alphabet = alphabetOf(source)
  const runs = alphabet.flatMap((one) => [one, ...alphabet.map((other) => one + other)])
  const beginning = source.replaceAll(/[\\^$*+?()|{}[\]]/g, '').slice(0, 8)
  return [...new Set(runs)].flatMap((run) => {
    const text = run.repeat(LENGTH / run.length)
    return [`${text}\u0001`, `${beginning}${text}a`, `a://${text}\n`]
  })
}

/** The longest time that the expression takes for any of the texts, in ms; Infinity where all take beyond the limit. */
function slowestMs(
  literal: string,
  texts: readonly string[],
  { tries, limitMs }: Patience,
): number {
  const context = createContext({ texts, tries, now: () => performance.now() })
  const code = `
    const expression = ${literal.replace(/g(?=[a-z]*$)/, '')}
    let slowest = 0
    for (const text of texts) {
      let best = Infinity
      for (let count = 0; count < tries && best > slowest; count += 1) {
        const startMs = now()
        expression.exec(text)
        best = Math.min(best, now() - startMs)
      }
      slowest = Math.max(slowest, best)
    }
    slowest`
  try {
    return runInContext(code, context, { timeout: limitMs }) as number
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return Infinity
    throw error
  }
}

describe('the measurement', () => {
  const floorMs = slowestMs(PLAIN, ['a'.repeat(LENGTH)], PATIENT)

  test.each([
    { name: 'nested repetition', literal: '/^(?:a+)+$/' },
    { name: 'adjacent repetition of the same', literal: String.raw`/^[\w-]*\w*$/` },
    { name: 'optional spaces around commas', literal: '/^a in ?( ?,? ?)*!$/' },
    { name: 'a repetition without an anchor', literal: '/[^a-z]+$/' },
  ])('finds $name', ({ literal }) => {
    const slowMs = slowestMs(literal, hostileTo(literal.slice(1, -1)), { tries: 1, limitMs: 1000 })
    expect(slowMs).toBeGreaterThan(floorMs * TIMES_A_PLAIN_ONE)
  })

  test('finds the expressions of the program', () => {
    expect(EXPRESSIONS.length).toBeGreaterThan(40)
    const counts = FILES.map((file) => [
      file,
      readFileSync(join(ROOT, file), 'utf8').split('new RegExp(').length - 1,
    ])
    expect(Object.fromEntries(counts.filter(([, count]) => count !== 0))).toEqual(BUILT)
  })

  test.each(EXPRESSIONS)('$file: $literal takes no longer than its text is long (13.3)', (one) => {
    const texts = hostileTo(one.source)
    expect(slowestMs(one.literal, texts, PATIENT)).toBeLessThan(floorMs * TIMES_A_PLAIN_ONE)
  })
})
