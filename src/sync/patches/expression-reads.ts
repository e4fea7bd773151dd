// Which parts of `context` an expression can read, by its syntax alone (contract 19.4).
import type { Node } from 'acorn'

/** The parts of `context` that an expression may read; false = it certainly does not. */
export interface ExpressionReads {
  /** `context.virtualCluster.config`, whose values can be secret. */
  readonly config: boolean
  readonly hostObject: boolean
  readonly virtualObject: boolean
}

/** Members of `context`, and the part that each holds; null = name, namespace and path, which belong to no part. */
const PARTS: ReadonlyMap<string, keyof ExpressionReads | null> = new Map([
  ['path', null],
  ['virtualCluster.name', null],
  ['virtualCluster.namespace', null],
  ['virtualCluster.config', 'config'],
  ['hostObject', 'hostObject'],
  ['virtualObject', 'virtualObject'],
])

const EVERYTHING: ExpressionReads = { config: true, hostObject: true, virtualObject: true }

/** Names by which a function finds arguments and globals without writing their names. */
const REFLECTS: ReadonlySet<string> = new Set(['arguments', 'eval', 'Function', 'globalThis'])

/** Fails closed: an expression that uses `context` in another way than by these members may read all of it. */
export function readsOf(root: Node): ExpressionReads {
  const nodes = nodesIn(root)
  if (nodes.some((node) => REFLECTS.has(nameOf(node) ?? ''))) return EVERYTHING
  // `context.path = f, context.path()` calls f with all of `context` as its `this`.
  const written = new Set(nodes.flatMap(targetsOf).flatMap(nodesIn))
  const members = nodes
    .filter((node) => !written.has(node))
    .map((node) => memberOfContext(node) ?? '')
    .filter((member) => PARTS.has(member))
  const uses = nodes.filter((node) => nameOf(node) === 'context').length
  if (uses > members.length) return EVERYTHING
  const parts = new Set(members.map((member) => PARTS.get(member)))
  return {
    config: parts.has('config'),
    hostObject: parts.has('hostObject'),
    virtualObject: parts.has('virtualObject'),
  }
}

/** The node and all nodes below it. */
export function nodesIn(root: Node): readonly Node[] {
  const found: Node[] = []
  const open: unknown[] = [root]
  while (open.length > 0) {
    const one = open.pop()
    if (Array.isArray(one)) open.push(...(one as unknown[]))
    else if (isNode(one)) {
      found.push(one)
      open.push(...Object.values(one))
    }
  }
  return found
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

const nameOf = (node: Node): string | undefined =>
  node.type === 'Identifier' && 'name' in node ? String(node.name) : undefined

/** What the node assigns to, or deletes. */
function targetsOf(node: Node): readonly Node[] {
  if ('left' in node && isNode(node.left) && ASSIGNS.has(node.type)) return [node.left]
  const isArgument =
    node.type === 'UpdateExpression' || ('operator' in node && node.operator === 'delete')
  return isArgument && 'argument' in node && isNode(node.argument) ? [node.argument] : []
}

/** Nodes that assign to their left side, which may be a pattern. */
const ASSIGNS: ReadonlySet<string> = new Set([
  'AssignmentExpression',
  'ForInStatement',
  'ForOfStatement',
])

/** The path of `context.a.b` without `context`; undefined for other nodes and computed members. */
function memberOfContext(node: Node): string | undefined {
  if (node.type !== 'MemberExpression' || !('object' in node) || !('property' in node))
    return undefined
  const { object, property } = node
  if (('computed' in node && node.computed === true) || !isNode(object) || !isNode(property))
    return undefined
  if (nameOf(object) === 'context') return nameOf(property)
  const outer = memberOfContext(object)
  return outer === undefined ? undefined : `${outer}.${nameOf(property)}`
}
