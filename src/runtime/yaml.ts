import {
  Document,
  isCollection,
  isScalar,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml'
import { plainValueOf } from './yaml-scalar.ts'

/** More would let a small text grow into a large object. */
const MOST_ALIASES = 100

/**
 * Reads one YAML (or JSON) document as Kubernetes reads it, which is YAML 1.1 in part, or not at all: what
 * might mean something else to the next reader is refused. A name stands once in a map.
 *
 * @throws Error that names line and column and may say what is not taken, never a value
 */
export const parseYaml = (text: string): unknown => read(text, MOST_ALIASES)

/**
 * Reads one document of a stranger: aliases are refused. The time grows with the text and nothing else,
 * some 3 ms for 1 KiB at worst: the caller bounds it.
 *
 * @throws Error as parseYaml does
 */
export const parsePlainYaml = (text: string): unknown => read(text, 0)

function read(text: string, maxAliasCount: number): unknown {
  const odd = text.search(ODD_CHARACTER)
  if (odd !== -1) throw unreadable(text, odd, ESCAPED)
  if (/^(?:%|\.\.\.)/.test(firstLineOf(text))) throw unreadable(text, 0, 'directives are not taken')
  const tab = text.search(INDENTED_BY_TAB)
  if (tab !== -1) throw unreadable(text, tab, 'lines are indented by spaces')
  // Scalars stay texts here, and tags unread. The parser's own search for repeated names takes two minutes
  // for two megabytes.
  const document = parseDocument(text, {
    schema: 'failsafe',
    resolveKnownTags: false,
    uniqueKeys: false,
    keepSourceTokens: true,
    prettyErrors: false,
    logLevel: 'error',
  })
  const [fault] = document.errors
  if (fault) throw unreadable(text, fault.pos[0])
  visit(document, {
    Alias: (_, { range, source }, path) => {
      if (maxAliasCount === 0) throw unreadable(text, range?.[0], 'aliases are not taken')
      if (path.some((one) => isCollection(one) && one.anchor === source))
        throw unreadable(text, range?.[0], 'an alias stands inside what it stands for')
    },
    Seq: (_, list) => checkMarks(text, list),
    Map: (_, map) => {
      checkMarks(text, map)
      checkNames(text, map)
    },
    Scalar: (_, scalar, path) => {
      if (path.some((one) => isCollection(one) && one.flow)) checkInFlow(text, scalar)
      scalar.value = valueOf(text, scalar)
    },
  })
  try {
    return document.toJS({ maxAliasCount })
  } catch {
    throw unreadable(text, undefined, 'its aliases lead too far')
  }
}

/**
 * Breaks of lines to one reader and not to the next, controls, and what no UTF-8 has. A byte order mark is a
 * sign of the file, which was read by then.
 */
const ODD_CHARACTER =
  /[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]|\r(?!\n)/u

/** Whether a text has characters that no YAML here may have as they are, and that JSON may. */
export const hasOddCharacter = (text: string): boolean => ODD_CHARACTER.test(text)

const ESCAPED = 'control characters and line separators are written as escapes in double quotes'

/** One tab at the right place makes a text invalid to the next reader. */
const INDENTED_BY_TAB = /^[ ?:-]*\t/m

const firstLineOf = (text: string): string =>
  text.split('\n').find((line) => !/^[ \t\r]*(?:#|$)/.test(line)) ?? ''

interface Placed {
  readonly tag?: string | undefined
  readonly anchor?: string | undefined
  readonly range?: readonly number[] | null | undefined
}

function checkMarks(text: string, { tag, anchor, range }: Placed): void {
  if (tag !== undefined) throw unreadable(text, range?.[0], 'tags are not taken')
  if (anchor !== undefined && !/^[\w-]+$/.test(anchor))
    throw unreadable(text, range?.[0], 'anchors are named by letters, digits, _ and -')
}

/** In bytes or characters: the API server takes names of 1024. */
const LONGEST_NAME = 1000

function checkNames(text: string, { items, flow }: YAMLMap): void {
  const names = new Set<string>()
  for (const { key, value } of items) {
    const [place, end] = (key as Placed | null)?.range ?? []
    const colon = isScalar(key) && key.type?.startsWith('QUOTE') ? COLON : COLON_BEHIND_PLAIN
    if (flow && value !== null && end !== undefined && !isAt(text, end, colon))
      throw unreadable(text, place, 'in brackets a colon and a space follow a name')
    if (place !== undefined && end !== undefined && end - place > LONGEST_NAME)
      throw unreadable(text, place, `names have at most ${LONGEST_NAME} characters`)
    const name = isScalar(key) ? valueOf(text, key) : null
    if (typeof name !== 'string' || isMerge(key))
      throw unreadable(text, place, 'names in a map are texts: quote any other')
    if (names.has(name)) throw unreadable(text, place, 'a name stands twice in a map')
    names.add(name)
  }
}

const COLON = /[ \t]*:/y
/** To the API server's parser a name without quotes goes on over a colon that has a bracket or comma behind it. */
const COLON_BEHIND_PLAIN = /[ \t]*:(?![,[\]{}])/y

function isAt(text: string, at: number, sticky: RegExp): boolean {
  sticky.lastIndex = at
  return sticky.test(text)
}

function checkInFlow(text: string, { type, source = '', range }: Scalar): void {
  if (type === 'PLAIN' && /^:|\?/.test(source))
    throw unreadable(text, range?.[0], 'in brackets texts with ? or : are quoted')
}

/** The API server puts the fields of another map in place of such a name. */
const isMerge = (key: unknown): boolean =>
  isScalar(key) && key.type === 'PLAIN' && key.value === '<<'

function valueOf(text: string, scalar: Scalar): unknown {
  const { type, range, srcToken } = scalar
  checkMarks(text, scalar)
  const said = typeof scalar.value === 'string' ? scalar.value : ''
  if (type === 'QUOTE_DOUBLE' && srcToken && 'source' in srcToken && !QUOTED.test(srcToken.source))
    throw unreadable(text, range?.[0], 'characters are written as they are, or by \\U')
  if (
    type?.startsWith('BLOCK') &&
    said.endsWith('\n') &&
    !text.endsWith('\n') &&
    range?.[2] === text.length
  )
    throw unreadable(text, range[0], 'a block of text ends with its line')
  if (type !== undefined && type !== 'PLAIN') return said
  const value = plainValueOf(said)
  if (value === undefined)
    throw unreadable(text, range?.[0], 'a number is too large, or none that JSON has')
  return value
}

/** Without half a character, which the API server doesn't take even where the other half follows. */
const QUOTED = /^"(?:[^"\\]|\\(?:[^uU/]|u(?![dD][89a-fA-F])|U(?!0000[dD][89a-fA-F])))*"$/s

/** The value as a YAML document, quoted so that parsers of YAML 1.1 and 1.2 read the same. */
export function formatYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar: (_, scalar) => {
      if (typeof scalar.value !== 'string') return
      scalar.type = isPlain(scalar.value) ? 'PLAIN' : 'QUOTE_DOUBLE'
    },
  })
  return document
    .toString({ lineWidth: 0, doubleQuotedAsJSON: true })
    .replaceAll(RAW, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Of letters that have no meaning of their own, and no word or number to anybody. */
const isPlain = (text: string): boolean =>
  /^[A-Za-z/][-\w./ ]*$/.test(text) && !text.endsWith(' ') && plainValueOf(text) === text

/** They stand in double quotes there, which any character may that is no control. */
const RAW = /[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/g

/** Without its cause, whose message quotes the text. */
const unreadable = (text: string, at: number | undefined, because = ''): Error =>
  new Error(`not valid YAML${placeOf(text, at)}${because === '' ? '' : `: ${because}`}`)

function placeOf(text: string, at: number | undefined): string {
  if (at === undefined) return ''
  const before = text.slice(0, at).split('\n')
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
