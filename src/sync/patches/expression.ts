// The syntax of expressions in patches (contract 19.1, 19.4): one ES expression, checked before it ever runs.
import { type Node, type Options, parse, parseExpressionAt, tokenizer } from 'acorn'
import { type ExpressionReads, nodesIn, readsOf } from './expression-reads.ts'
import { type ResultKind, resultKindOf } from './expression-result.ts'

/** A fault of an expression: a clause, and the character that is wrong, counted from 0. */
interface ExpressionFault {
  readonly because: string
  readonly at: number
}

/** A valid expression. */
export interface Expression {
  readonly source: string
  readonly reads: ExpressionReads
  /** The kind of each result; null = the syntax does not determine it. */
  readonly gives: ResultKind | null
}

/** The checked expression, or its fault. */
type CheckedExpression =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly fault: ExpressionFault }

/** What the sandbox's engine understands, in strict mode, which acorn has for modules only. */
const SYNTAX: Options = {
  ecmaVersion: 2023,
  sourceType: 'module',
  allowAwaitOutsideFunction: false,
  // Otherwise the node of `(a)` ends before its last character.
  preserveParens: true,
}

/** Checks that the text is one expression. */
export function checkExpression(source: string): CheckedExpression {
  if (source.trim() === '') return fault('it is empty', 0)
  let root: Node
  try {
    root = parseExpressionAt(source, 0, SYNTAX)
  } catch (error) {
    return { ok: false, fault: syntaxFault(source, error) }
  }
  const rest = nextToken(source, root.end)
  if (rest !== null) return { ok: false, fault: restFault(source, rest) }
  const comment = htmlComment(source)
  if (comment !== null) return fault('comments are written as // or /* */', comment)
  const nodes = nodesIn(root)
  const forbidden = nodes.find(({ type }) => Object.hasOwn(FORBIDDEN, type))
  if (forbidden) return fault(`${FORBIDDEN[forbidden.type]} is not available`, forbidden.start)
  return { ok: true, expression: { source, reads: readsOf(root), gives: resultKindOf(root) } }
}

const fault = (because: string, at: number): CheckedExpression => ({
  ok: false,
  fault: { because, at },
})

const FORBIDDEN: Readonly<Record<string, string>> = {
  AwaitExpression: 'await',
  ImportExpression: 'a dynamic import',
  MetaProperty: 'import.meta',
}

/** Where an HTML comment begins, which the engine skips and a module does not have; null = none. */
function htmlComment(source: string): number | null {
  const found: number[] = []
  const onComment = (_: boolean, __: string, start: number): void => {
    if (source[start] !== '/') found.push(start)
  }
  try {
    parseExpressionAt(source, 0, { ...SYNTAX, sourceType: 'script', onComment })
  } catch {
    // It parses as a module but not as a script, so no HTML comment hides a part of it.
  }
  return found[0] ?? null
}

/** Where the first token after the expression begins, or fails to; null = only blanks and comments follow. */
function nextToken(source: string, from: number): number | null {
  const tail = source.slice(from)
  try {
    const token = tokenizer(tail, SYNTAX).getToken()
    return token.type.label === 'eof' ? null : from + token.start
  } catch (error) {
    return from + placeOf(error, tail)
  }
}

function restFault(source: string, at: number): ExpressionFault {
  if (source[at] !== ';') {
    const statement = statementFault(source)
    return statement ?? { because: 'unexpected token, the expression has ended before it', at }
  }
  if (nextToken(source, at + 1) === null) return { because: 'remove the semicolon', at }
  const parts = statementsOf(source)
  const because = 'is a statement, one expression is needed'
  const hint = parts === null ? '' : `: join the parts with commas, (${parts.join(', ')})`
  return { because: `what ends here ${because}${hint}`, at }
}

/** The texts of the statements, where all of them are expressions; null otherwise. */
function statementsOf(source: string): readonly string[] | null {
  try {
    const { body } = parse(source, SYNTAX)
    if (!body.every(({ type }) => type === 'ExpressionStatement')) return null
    return body.map(({ start, end }) => source.slice(start, end).replace(/;$/, '').trim())
  } catch {
    return null
  }
}

/** What to write in place of a statement. */
const INSTEAD: Readonly<Record<string, string>> = {
  if: 'write condition ? a : b',
  switch: 'write condition ? a : b',
  try: 'an error of the expression is reported by itself',
  throw: 'an error of the expression is reported by itself',
  return: 'leave out the word, the value of the expression is the result',
  for: 'use map, filter or reduce',
  while: 'use map, filter or reduce',
  do: 'use map, filter or reduce',
  let: 'write ((name) => expression)(value)',
  const: 'write ((name) => expression)(value)',
  var: 'write ((name) => expression)(value)',
  import: 'nothing can be imported',
  export: 'nothing can be exported',
}

function statementFault(source: string): ExpressionFault | null {
  const [, blanks = '', word = ''] = /^(\s*)([a-z]+)\b/.exec(source) ?? []
  if (!Object.hasOwn(INSTEAD, word)) return null
  const because = `${word} is a statement, one expression is needed: ${INSTEAD[word]}`
  return { because, at: blanks.length }
}

function syntaxFault(source: string, error: unknown): ExpressionFault {
  const statement = statementFault(source)
  if (statement) return statement
  const at = placeOf(error, source)
  const text = error instanceof Error ? error.message.replace(/ \(\d+:\d+\)$/, '') : ''
  const because = at >= source.length ? 'the expression is incomplete' : text.toLowerCase()
  return { because: because === '' ? 'it cannot be parsed' : because, at }
}

const placeOf = (error: unknown, source: string): number =>
  error instanceof SyntaxError && 'pos' in error && typeof error.pos === 'number'
    ? Math.min(error.pos, source.length)
    : 0

/** The place of a character as `line:column`, both counted from 1, and its line with a mark below it. */
export function placeInSource(source: string, at: number): { place: string; excerpt: string } {
  const before = source.slice(0, at).split('\n')
  const line = source.split('\n')[before.length - 1] ?? ''
  const column = before.at(-1)?.length ?? 0
  const from = Math.max(column - 60, 0)
  const excerpt = `${line.slice(from, from + 100)}\n${' '.repeat(column - from)}^`
  return { place: `${before.length}:${column + 1}`, excerpt }
}
