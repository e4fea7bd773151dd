// The kinds of result that the syntax of an expression determines (contract 19.3).
import type { Node } from 'acorn'

/** A kind of result. */
export type ResultKind = 'text' | 'number' | 'boolean' | 'list' | 'object'

/** The kind of each result of the expression; null = the syntax does not determine it, or the expression fails. */
export function resultKindOf(root: Node): ResultKind | null {
  switch (root.type) {
    case 'ParenthesizedExpression':
      return kindAt(root, 'expression')
    case 'SequenceExpression':
      return 'expressions' in root && Array.isArray(root.expressions)
        ? kindOfNode(root.expressions.at(-1) as unknown)
        : null
    case 'ConditionalExpression': {
      const [yes, no] = [kindAt(root, 'consequent'), kindAt(root, 'alternate')]
      return yes === no ? yes : null
    }
    case 'Literal':
      return 'value' in root ? kindOfLiteral(root.value) : null
    case 'TemplateLiteral':
      return 'text'
    case 'ArrayExpression':
      return 'list'
    case 'ObjectExpression':
      return 'object'
    case 'UnaryExpression':
      return 'operator' in root ? (UNARY.get(String(root.operator)) ?? null) : null
    case 'BinaryExpression':
      return 'operator' in root && COMPARES.has(String(root.operator)) ? 'boolean' : null
    default:
      return null
  }
}

const kindAt = (node: Node, name: string): ResultKind | null =>
  kindOfNode((node as unknown as Readonly<Record<string, unknown>>)[name])

const kindOfNode = (node: unknown): ResultKind | null =>
  typeof node === 'object' && node !== null && 'type' in node ? resultKindOf(node as Node) : null

function kindOfLiteral(value: unknown): ResultKind | null {
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return 'number'
  return typeof value === 'boolean' ? 'boolean' : null
}

/** Operators of one operand; `-` of a BigInt does not give a number. */
const UNARY: ReadonlyMap<string, ResultKind> = new Map([
  ['+', 'number'],
  ['!', 'boolean'],
  ['typeof', 'text'],
  ['delete', 'boolean'],
])

const COMPARES: ReadonlySet<string> = new Set([
  '==',
  '!=',
  '===',
  '!==',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'instanceof',
])
