import { posix } from 'node:path'

/** One import, re-export or dynamic import. */
export interface Import {
  /** A path from the repository's root for a relative one, else the package's or `node:` name. */
  readonly target: string
  readonly isRelative: boolean
  /** As the imported file exports them; `*` for a namespace, a dynamic import and `export *`. */
  readonly names: readonly string[]
  /** Whether nothing of it is left when the types are erased. */
  readonly isType: boolean
}

/** A file of the tree with what it imports. */
export interface SourceFile {
  /** From the repository's root, with `/`. */
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
  /** Import statements in a form that the patterns below do not know. */
  readonly unread: number
}

// The formatter puts each statement at the start of a line and writes single quotes.
const NAMED = /^(?:import|export)\s+(type\s+)?([\w$*{},\s]+?)\s+from\s+'([^']+)'/gm
const BARE = /^import\s+'([^']+)'/gm
const DYNAMIC = /\bimport\(\s*'([^']+)'\s*\)/g
const ANY = /^import\b(?!\()|\bimport\(|^export\s+(?:type\s+)?(?:\{[^}]*\}|\*[^;\n]*?)\s+from\b/gm
const COMMENT_LINE = /^\s*(?:\/\/|\/?\*).*$/gm

/** Reads what a file imports. */
export function sourceFile(path: string, text: string): SourceFile {
  const code = codeOf(text)
  const imports = [
    ...[...code.matchAll(NAMED)].map(([, type, names = '', from = '']) =>
      importOf(path, from, namesIn(names), type !== undefined || isAllTypes(names)),
    ),
    ...[...code.matchAll(BARE)].map(([, from = '']) => importOf(path, from, [], false)),
    ...[...code.matchAll(DYNAMIC)].map(([, from = '']) => importOf(path, from, ['*'], false)),
  ]
  return { path, text, imports, unread: [...code.matchAll(ANY)].length - imports.length }
}

/** The text without lines that are comments only. */
export const codeOf = (text: string): string => text.replaceAll(COMMENT_LINE, '')

function importOf(path: string, from: string, names: readonly string[], isType: boolean): Import {
  const isRelative = from.startsWith('.')
  return {
    target: isRelative ? posix.join(posix.dirname(path), from) : packageOf(from),
    isRelative,
    names,
    isType,
  }
}

/** `a` and `B` of `{ a as b, type B }`, `*` of `* as x`, `default` of `x`. */
function namesIn(clause: string): readonly string[] {
  const inBraces = /^\{(.*)\}$/s.exec(clause.trim())?.[1]
  if (inBraces === undefined) return [clause.trim().startsWith('*') ? '*' : 'default']
  return inBraces
    .split(',')
    .map((name) =>
      name
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*/, ''),
    )
    .filter(Boolean)
}

/** `{ type A, type B }`, as against `{ type A, b }`, `* as x` and `x`. */
function isAllTypes(names: string): boolean {
  const inBraces = /^\{(.*)\}$/s.exec(names.trim())?.[1]
  const each = (inBraces ?? names).split(',').map((name) => name.trim())
  return inBraces !== undefined && each.filter(Boolean).every((name) => name.startsWith('type '))
}

/** `ajv` of `ajv/dist/x`, `@scope/name` of `@scope/name/x`; `node:fs/promises` as it is. */
function packageOf(from: string): string {
  if (from.startsWith('node:')) return from
  return from.split('/', from.startsWith('@') ? 2 : 1).join('/')
}
