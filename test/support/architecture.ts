// The rules of the source tree: allowed imports and a few rules of form. Each rule is a function from
// the files to its faults; test/layers.test.ts runs them over the tree, and over trees that break them.
import { basename, dirname } from 'node:path'
import { codeOf, type Import, type SourceFile } from '../../tools/structure/imports.ts'

/** A rule that a file breaks, in a sentence. */
export interface Fault {
  readonly path: string
  readonly fault: string
}

/** From left to right; imports point left only. Layers of one entry never import each other. */
const LAYERS: readonly (readonly string[])[] = [
  ['api'],
  ['domain'],
  ['runtime'],
  ['kube'],
  ['serving'],
  ['settings', 'people'],
  ['authn'],
  ['revocation', 'issuance', 'signing', 'audit'],
  ['controllers', 'gateway', 'sync', 'signin', 'delivery'],
  ['commands'],
  ['main'],
]

/** Imports to the left that are forbidden nevertheless: private keys, Kubernetes in the runtime, keys in sockets. */
const NEVER: readonly (readonly [from: string, to: string])[] = [
  ['gateway', 'signing'],
  ['sync', 'signing'],
  ['signin', 'signing'],
  ['signin', 'authn'],
  ['delivery', 'signing'],
  ['delivery', 'authn'],
  ['sync', 'settings'],
  ['sync', 'authn'],
  ['runtime', 'api'],
]

/** The folders that may import a package; a package that is not listed may not be imported. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  '@kubernetes/client-node': ['src/kube/'],
  undici: ['src/kube/'],
  jose: ['src/authn/', 'src/signing/', 'src/signin/providers/', 'src/signin/apps/'],
  'node-cron': ['src/runtime/'],
  pino: ['src/runtime/'],
  'prom-client': ['src/runtime/'],
  yaml: ['src/runtime/'],
  '@peculiar/asn1-schema': ['src/serving/tls/'],
  '@peculiar/asn1-x509': ['src/serving/tls/'],
  re2js: ['src/domain/settings/'],
  acorn: ['src/sync/patches/'],
  '@jitl/quickjs-wasmfile-release-sync': ['src/sync/sandbox/'],
  'quickjs-emscripten-core': ['src/sync/sandbox/'],
  diff: ['src/commands/syncer/'],
  'openid-client': ['src/signin/providers/'],
  parse5: ['src/signin/pages/'],
  'xml-crypto': ['src/signin/providers/saml/signature-worker.ts'],
  '@xmldom/xmldom': ['src/signin/providers/saml/signature-worker.ts'],
  kysely: ['src/audit/store/'],
  'kysely/migration': ['src/audit/store/'],
  pg: ['src/audit/store/'],
  mysql2: ['src/audit/store/'],
  // The version of the program.
  'package.json': ['src/runtime/'],
}

const LONGEST_FILE = 350
const VAGUE = /(?:^|-)(?:helpers?|utils?|common|misc|managers?)(?:-|$)|^index$/
const IMPURE =
  /\b(?:Date\.now|new Date\(\)|Math\.random|performance\.|process\.|console\.|crypto\.|setTimeout|setInterval|setImmediate|queueMicrotask|fetch\()/

/** Places of pure code, besides every plan.ts. */
const PURE_PLACE =
  /^src\/(?:(?:api|domain|sync\/(?:objects|kinds|patches|config))\/|sync\/sandbox\/protocol\.ts$)/
/** Packages as pure as JavaScript itself. */
const PURE_PACKAGES = ['re2js', 'acorn']

type Rule = (files: readonly SourceFile[]) => readonly Fault[]

/** A rule that looks at one file of src at a time. */
const inSrc =
  (check: (file: SourceFile) => readonly string[]): Rule =>
  (files) =>
    files
      .filter(({ path }) => path.startsWith('src/'))
      .flatMap((file) => check(file).map((fault) => ({ path: file.path, fault })))

const arrows = inSrc(({ path, imports }) =>
  imports.flatMap(({ target, isRelative }) => {
    if (!isRelative || Object.hasOwn(DOORS, target)) return []
    const [from, to] = [layerOf(path), layerOf(target)]
    if (placeOf(from) === -1) return [`${from} is no layer`]
    if (!target.startsWith('src/') || placeOf(to) === -1)
      return [`imports ${target}, no layer of src`]
    const isLeft = from === to || placeOf(to) < placeOf(from)
    const isForbidden = NEVER.some(([one, other]) => one === from && other === to)
    return isLeft && !isForbidden ? [] : [`${from} must not import ${to} (${target})`]
  }),
)

const doors = inSrc(({ path, imports }) =>
  imports.flatMap(({ target, isRelative }) => {
    const allowed = Object.hasOwn(DOORS, target) ? DOORS[target] : undefined
    if (!allowed && (isRelative || target.startsWith('node:'))) return []
    if (!allowed) return [`imports ${target}, which has no door in DOORS`]
    if (allowed.some((folder) => path.startsWith(folder))) return []
    return [`imports ${target}, which only ${allowed.join(', ')} may`]
  }),
)

/**
 * api, domain, the rules of endpoint sync and every plan.ts are pure, with the files that a plan.ts imports from its
 * folder.
 */
const purity: Rule = (files) => {
  const pure = new Set(
    files.filter(({ path }) => PURE_PLACE.test(path) || basename(path) === 'plan.ts'),
  )
  const byPath = new Map(files.map((file) => [file.path, file]))
  // The set grows while it is iterated: files that a pure file imports from its folder are visited, too.
  for (const file of pure) {
    for (const { target, isType } of file.imports) {
      const beside = dirname(target) === dirname(file.path) ? byPath.get(target) : undefined
      if (beside && !isType) pure.add(beside)
    }
  }
  return [...pure].flatMap((file) => {
    const impure = file.imports.filter((one) => !isPureImport(file, one))
    const word = IMPURE.exec(codeOf(file.text))?.[0]
    const faults = impure.map(({ target }) => `is pure and must not import ${target}`)
    const uses = word === undefined ? [] : [`is pure and must not use ${word}`]
    return [...faults, ...uses].map((fault) => ({ path: file.path, fault }))
  })
}

const isSync = (path: string): boolean => path.startsWith('src/sync/')

function isPureImport(file: SourceFile, { target, isRelative, isType, names }: Import): boolean {
  if (isType || PURE_PACKAGES.includes(target)) return true
  // A digest is a function of its text.
  if (target === 'node:crypto') return isSync(file.path) && names.join() === 'createHash'
  if (!isRelative) return false
  return PURE_PLACE.test(target) || dirname(target) === dirname(file.path)
}

/** Imports of another form would escape the rules above. */
const openImports: Rule = (files) => {
  const known = new Set([...files.map(({ path }) => path), 'package.json'])
  return inSrc(({ text, unread, imports }) => {
    const hidden = /\brequire\(|createRequire|getBuiltinModule/.exec(text)?.[0]
    const gone = imports.filter(({ target, isRelative }) => isRelative && !known.has(target))
    return [
      ...(unread === 0 ? [] : ['has an import in an unknown form']),
      ...(hidden === undefined ? [] : [`uses ${hidden}`]),
      ...gone.map(({ target }) => `imports ${target}, which is not there`),
    ]
  })(files)
}

const noDefaultExports: Rule = (files) =>
  files
    .filter(({ text }) => /^export default\b|\bas default\b/m.test(text))
    .map(({ path }) => ({ path, fault: 'has a default export' }))

const noLongFiles: Rule = (files) =>
  files
    .filter(({ path }) => !path.endsWith('.gen.ts'))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > LONGEST_FILE)
    .map(({ path, lines }) => ({ path, fault: `has ${lines} lines, more than ${LONGEST_FILE}` }))

const noVagueNames = inSrc(({ path }) =>
  VAGUE.test(basename(path, '.ts').toLowerCase()) ? ['has a name that says nothing'] : [],
)

const RULES: readonly Rule[] = [
  arrows,
  doors,
  purity,
  openImports,
  noDefaultExports,
  noLongFiles,
  noVagueNames,
]

/** All faults of the files. */
export function faultsIn(files: readonly SourceFile[]): readonly Fault[] {
  return RULES.flatMap((rule) => rule(files))
}

function layerOf(path: string): string {
  const [, second = ''] = path.split('/')
  return basename(second, '.ts')
}

function placeOf(layer: string): number {
  return LAYERS.findIndex((place) => place.includes(layer))
}
