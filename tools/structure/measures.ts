// Measures of the source tree, as pure functions of its files. tools/structure.ts has their limits.
import { circlesIn } from './circles.ts'
import { codeOf, type SourceFile } from './imports.ts'

/** A file with fewer lines is small. */
export const SMALL_BELOW_LINES = 30

/** Everything that is counted, each as the list of what was found. */
export interface Measures {
  /** Files of src. */
  readonly files: readonly string[]
  readonly small: readonly string[]
  /** `path: name` of an export that no other file uses. */
  readonly unused: readonly string[]
  /** `path: name` of an export of src that only tests use. */
  readonly forTests: readonly string[]
  /** Files and folders that import each other, types included, one list for each circle. */
  readonly circles: readonly (readonly string[])[]
  /** `name: paths` of a type that more than one file of src declares. */
  readonly ambiguous: readonly string[]
}

/** Measures the files of src; files of other folders count as users of their exports. */
export function measure(files: readonly SourceFile[]): Measures {
  const src = files.filter(isSource)
  const written = src.filter(({ path }) => !path.endsWith('.gen.ts'))
  const users = usersOf(files)
  const exported = written.flatMap((file) =>
    exportsOf(file)
      .map((name) => `${file.path}: ${name}`)
      .map((name) => ({ name, users: users.get(name) ?? new Set<string>() })),
  )
  return {
    files: src.map(({ path }) => path),
    small: src.filter((file) => linesOf(file) < SMALL_BELOW_LINES).map(({ path }) => path),
    unused: exported.filter((one) => one.users.size === 0).map(({ name }) => name),
    forTests: exported
      .filter((one) => one.users.size > 0 && [...one.users].every(isTest))
      .map(({ name }) => name),
    circles: circlesIn(files.filter(({ path }) => !isTest(path))),
    ambiguous: ambiguousIn(written),
  }
}

const isSource = ({ path }: SourceFile): boolean => path.startsWith('src/')
const isTest = (path: string): boolean => path.startsWith('test/')
const linesOf = ({ text }: SourceFile): number => text.split('\n').length - 1

const EXPORT =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type) (\w+)/gm
const EXPORT_LIST = /^export (?:type )?\{([^}]*)\}/gm
const TYPE = /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type) (\w+)/gm

function exportsOf({ text }: SourceFile): readonly string[] {
  const code = codeOf(text)
  const declared = [...code.matchAll(EXPORT)].map(([, name = '']) => name)
  const listed = [...code.matchAll(EXPORT_LIST)].flatMap(([, names = '']) => names.split(','))
  return [...declared, ...listed.map((name) => name.trim().replace(/^.* /, '')).filter(Boolean)]
}

/** The files that use each export, by `path: name`. */
function usersOf(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const uses = files.flatMap((user) =>
    user.imports.flatMap(({ target, names }) => {
      const used = byPath.get(target)
      if (!used) return []
      return namesUsed(user, used, names).map((name) => [`${target}: ${name}`, user.path] as const)
    }),
  )
  const grouped = Map.groupBy(uses, ([name]) => name)
  return new Map([...grouped].map(([name, all]) => [name, new Set(all.map(([, user]) => user))]))
}

/** The names that count as used: for a namespace import, the exports whose names the importing file contains. */
function namesUsed(
  user: SourceFile,
  used: SourceFile,
  names: readonly string[],
): readonly string[] {
  if (!names.includes('*')) return names
  return exportsOf(used).filter((name) => new RegExp(`\\b${name}\\b`).test(user.text))
}

function ambiguousIn(files: readonly SourceFile[]): readonly string[] {
  const declared = files.flatMap((file) =>
    [...codeOf(file.text).matchAll(TYPE)].map(([, name = '']) => ({ name, path: file.path })),
  )
  return [...Map.groupBy(declared, ({ name }) => name)]
    .map(([name, all]) => ({ name, paths: [...new Set(all.map(({ path }) => path))] }))
    .filter(({ paths }) => paths.length > 1)
    .map(({ name, paths }) => `${name}: ${paths.join(', ')}`)
}
