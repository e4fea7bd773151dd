// Follows one value through the code: from a function, by its calls, the files that a reader opens one after the other.
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join, posix } from 'node:path'
import { type Node, parse } from 'acorn'

/** A file that the walk enters, and the function by which it does. */
export interface Stop {
  /** From the repository's root. */
  readonly file: string
  readonly by: string
}

/** A node of the syntax tree, read by the fields that its type has. */
interface Syntax {
  readonly type: string
  readonly [field: string]: unknown
}

interface Module {
  /** Functions of the file by name, and lists of functions. */
  readonly definitions: ReadonlyMap<string, Syntax>
  /** The file and the name of each import from another file of src. */
  readonly imports: ReadonlyMap<string, { readonly file: string; readonly name: string }>
}

const ROOT = join(import.meta.dirname, '../..')

/**
 * The stops of the first parameter of a function, in the order of the code: the walk enters, once each, the functions
 * that get it or a value made from it, and those of a list that a loop calls one after the other. It can't follow
 * functions that are fields, such as the methods of a client.
 */
export function walkFrom(file: string, name: string): readonly Stop[] {
  const walk = new CodeWalk()
  const definition = walk.module(file).definitions.get(name)
  if (!definition) throw new Error(`${file} has no function ${name}`)
  walk.enter({ file, name, definition }, [0])
  return walk.stops
}

/** How often a stop of the walk is in a file that it had left. */
export const returnsIn = (stops: readonly Stop[]): number =>
  stops.length - new Set(stops.map(({ file }) => file)).size

interface FunctionPlace {
  readonly file: string
  readonly name: string
  readonly definition: Syntax
}

class CodeWalk {
  readonly stops: Stop[] = []
  readonly #modules = new Map<string, Module>()
  readonly #entered = new Set<Syntax>()

  module(file: string): Module {
    const known = this.#modules.get(file) ?? readModule(file)
    this.#modules.set(file, known)
    return known
  }

  /** @param positions of the parameters that have the value */
  enter({ file, name, definition }: FunctionPlace, positions: readonly number[]): void {
    if (this.#entered.has(definition)) return
    this.#entered.add(definition)
    if (this.stops.at(-1)?.file !== file) this.stops.push({ file, by: name })
    const params = nodesIn(definition, 'params')
    const followed = new Set(positions.flatMap((at) => namesIn(params[at])))
    for (const body of nodesIn(definition, 'body')) this.#visit(body, file, followed)
  }

  /** Visits a part of a function in the order in which it runs: the arguments of a call before the call. */
  #visit(node: Syntax, file: string, followed: Set<string>): void {
    if (node.type === 'CallExpression') {
      for (const part of [...nodesIn(node, 'arguments'), ...nodesIn(node, 'callee')])
        this.#visit(part, file, followed)
      this.#call(node, file, followed)
      return
    }
    for (const child of childrenOf(node)) this.#visit(child, file, followed)
    if (node.type === 'ForOfStatement')
      for (const right of nodesIn(node, 'right'))
        for (const one of this.#listed(right, file)) this.enter(one, [0])
    if (node.type === 'VariableDeclarator')
      for (const init of nodesIn(node, 'init'))
        if (mentions(init, followed))
          for (const name of nodesIn(node, 'id').flatMap(namesIn)) followed.add(name)
  }

  #call(node: Syntax, file: string, followed: ReadonlySet<string>): void {
    const args = nodesIn(node, 'arguments')
    const positions = args.flatMap((arg, at) => (mentions(arg, followed) ? [at] : []))
    if (positions.length === 0) return
    for (const callee of nodesIn(node, 'callee')) {
      const called = this.#find(callee, file)
      if (called && isFunction(called.definition)) this.enter(called, positions)
    }
  }

  /** The functions of the lists that an expression names. */
  #listed(named: Syntax, file: string): readonly FunctionPlace[] {
    const list = this.#find(named, file)
    if (list?.definition.type !== 'ArrayExpression')
      return childrenOf(named).flatMap((child) => this.#listed(child, file))
    const found = nodesIn(list.definition, 'elements').flatMap(
      (element) => this.#find(element, list.file) ?? [],
    )
    return found.filter(({ definition }) => isFunction(definition))
  }

  #find(node: Syntax, file: string): FunctionPlace | null {
    if (node.type !== 'Identifier') return null
    const name = nameIn(node)
    const { definitions, imports } = this.module(file)
    const place = imports.get(name) ?? { file, name }
    const definition = (
      place.file === file ? definitions : this.module(place.file).definitions
    ).get(place.name)
    return definition ? { ...place, definition } : null
  }
}

function readModule(file: string): Module {
  const text = stripTypeScriptTypes(readFileSync(join(ROOT, file), 'utf8'))
  const program = parse(text, { ecmaVersion: 'latest', sourceType: 'module' })
  const definitions = new Map<string, Syntax>()
  const imports = new Map<string, { readonly file: string; readonly name: string }>()
  for (const statement of program.body) {
    const declared = 'declaration' in statement ? statement.declaration : statement
    if (declared?.type === 'FunctionDeclaration' && declared.id)
      definitions.set(declared.id.name, syntaxOf(declared))
    if (declared?.type === 'VariableDeclaration')
      for (const { id, init } of declared.declarations)
        if (init && id.type === 'Identifier') definitions.set(id.name, syntaxOf(init))
    if (statement.type !== 'ImportDeclaration') continue
    const source = String(statement.source.value)
    if (!source.startsWith('.')) continue
    const from = posix.join(posix.dirname(file), source)
    for (const one of statement.specifiers)
      if (one.type === 'ImportSpecifier' && one.imported.type === 'Identifier')
        imports.set(one.local.name, { file: from, name: one.imported.name })
  }
  return { definitions, imports }
}

const syntaxOf = (node: Node): Syntax => node as unknown as Syntax

const isSyntax = (value: unknown): value is Syntax =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

/** The node or nodes of a field. */
const nodesIn = (node: Syntax, field: string): readonly Syntax[] =>
  [node[field]].flat().filter(isSyntax)

const nameIn = (identifier: Syntax): string => String(identifier['name'])

const isFunction = ({ type }: Syntax): boolean => type.includes('Function')

const childrenOf = (node: Syntax): readonly Syntax[] => Object.values(node).flat().filter(isSyntax)

/** The names that a parameter or a declaration binds. */
function namesIn(pattern: Syntax | undefined): readonly string[] {
  if (!pattern) return []
  if (pattern.type === 'Identifier') return [nameIn(pattern)]
  if (pattern.type === 'Property') return nodesIn(pattern, 'value').flatMap(namesIn)
  if (pattern.type === 'AssignmentPattern') return nodesIn(pattern, 'left').flatMap(namesIn)
  return childrenOf(pattern).flatMap(namesIn)
}

/** Whether an expression has one of these names, other than as the name of a field. */
function mentions(node: Syntax, names: ReadonlySet<string>): boolean {
  if (node.type === 'Identifier') return names.has(nameIn(node))
  const isNamed = !node['computed']
  const parts =
    node.type === 'MemberExpression' && isNamed
      ? nodesIn(node, 'object')
      : node.type === 'Property' && isNamed
        ? nodesIn(node, 'value')
        : childrenOf(node)
  return parts.some((part) => mentions(part, names))
}
