import {
  Document,
  isCollection,
  isScalar,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml'

/** Maximum number of aliases: with more, a small text could expand into a large object. */
const MOST_ALIASES = 100

/**
 * Parses one YAML or JSON document as Kubernetes does, which follows YAML 1.1 in part. Texts that another parser may
 * read differently, and duplicate names in a map, are refused.
 *
 * @throws Error with line and column, in most cases with the reason, never with a value
 */
export const parseYaml = (text: string): unknown => read(text, MOST_ALIASES)

/**
 * Parses one untrusted document; aliases are refused. It takes up to 3 ms for each KiB, so the caller must limit the
 * length.
 *
 * @throws Error as parseYaml does
 */
export const parsePlainYaml = (text: string): unknown => read(text, 0)

function read(text: string, maxAliasCount: number): unknown {
  const odd = text.search(ODD_CHARACTER)
  if (odd !== -1) throw unreadable(text, odd, ESCAPED)
  if (/^(?:%|\.\.\.)/.test(firstLineOf(text)))
    throw unreadable(text, 0, 'directives are not accepted')
  const tab = text.search(INDENTED_BY_TAB)
  if (tab !== -1) throw unreadable(text, tab, 'lines are indented by spaces')
  // Scalars stay texts, and tags are not resolved. checkNames finds duplicates: the parser's own check takes two
  // minutes for two megabytes.
  const document = parseDocument(text, {
    schema: 'failsafe',
    resolveKnownTags: false,
    uniqueKeys: false,
    keepSourceTokens: true,
    prettyErrors: false,
    logLevel: 'error',
  })
  const [fault] = document.errors
  if (fault) throw unreadable(text, fault.pos[0], FAULTS[fault.code] ?? 'it is not well-formed')
  visit(document, {
    Alias: (_, { range, source }, path) => {
      if (maxAliasCount === 0) throw unreadable(text, range?.[0], 'aliases are not accepted')
      if (path.some((one) => isCollection(one) && one.anchor === source))
        throw unreadable(text, range?.[0], 'an alias is inside the value that it refers to')
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
    throw unreadable(text, undefined, 'its aliases expand to too many values')
  }
}

/** Reasons by error code. The parser's own messages are not used, as they quote the text. */
const FAULTS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'a line is indented wrongly, or a bracket is not closed',
  BLOCK_AS_IMPLICIT_KEY: 'a line is indented wrongly, or a text with a colon lacks quotes',
  MISSING_CHAR: 'a quote or a sign is missing',
  MULTIPLE_DOCS: 'there is more than one document',
}

/**
 * Characters that only some parsers take for line breaks, control characters, and code points that UTF-8 can't
 * encode. A byte order mark is refused too: the reader of a file removes it.
 */
const ODD_CHARACTER =
  /[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]|\r(?!\n)/u

/** Whether a text has characters that are refused in YAML unless escaped, and that JSON allows. */
export const hasOddCharacter = (text: string): boolean => ODD_CHARACTER.test(text)

const ESCAPED = 'control characters and line separators are written as escapes in double quotes'

/** A tab in the indentation, which some parsers refuse. */
const INDENTED_BY_TAB = /^[ ?:-]*\t/m

const firstLineOf = (text: string): string =>
  text.split('\n').find((line) => !/^[ \t\r]*(?:#|$)/.test(line)) ?? ''

interface Placed {
  readonly tag?: string | undefined
  readonly anchor?: string | undefined
  readonly range?: readonly number[] | null | undefined
}

function checkMarks(text: string, { tag, anchor, range }: Placed): void {
  if (tag !== undefined) throw unreadable(text, range?.[0], 'tags are not accepted')
  if (anchor !== undefined && !/^[\w-]+$/.test(anchor))
    throw unreadable(text, range?.[0], 'anchors are named by letters, digits, _ and -')
}

/** Longest name in a map, in bytes or characters; the API server accepts 1024. */
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
    if (isMerge(key)) throw unreadable(text, place, 'the merge key << is not accepted')
    if (typeof name !== 'string')
      throw unreadable(text, place, 'names in a map are texts: quote any other')
    if (names.has(name)) throw unreadable(text, place, 'a map has a name twice')
    names.add(name)
  }
}

const COLON = /[ \t]*:/y
/** After a name without quotes, as for the API server's parser: a colon before a bracket or comma does not end it. */
const COLON_BEHIND_PLAIN = /[ \t]*:(?![,[\]{}])/y

function isAt(text: string, at: number, sticky: RegExp): boolean {
  sticky.lastIndex = at
  return sticky.test(text)
}

function checkInFlow(text: string, { type, source = '', range }: Scalar): void {
  if (type === 'PLAIN' && /^:|\?/.test(source))
    throw unreadable(text, range?.[0], 'texts with ? or : within brackets need quotes')
}

/** Whether the name is the merge key, which the API server's parser replaces by the fields of another map. */
const isMerge = (key: unknown): boolean =>
  isScalar(key) && key.type === 'PLAIN' && key.value === '<<'

function valueOf(text: string, scalar: Scalar): unknown {
  const { type, range, srcToken } = scalar
  checkMarks(text, scalar)
  const content = typeof scalar.value === 'string' ? scalar.value : ''
  if (type === 'QUOTE_DOUBLE' && srcToken && 'source' in srcToken && !QUOTED.test(srcToken.source))
    throw unreadable(text, range?.[0], 'characters are written as they are, or by \\U')
  if (
    type?.startsWith('BLOCK') &&
    content.endsWith('\n') &&
    !text.endsWith('\n') &&
    range?.[2] === text.length
  )
    throw unreadable(text, range[0], 'a block of text ends with its line')
  if (type !== undefined && type !== 'PLAIN') return content
  const value = plainValueOf(content)
  if (value === undefined)
    throw unreadable(text, range?.[0], 'a number is too large, or none that JSON has')
  return value
}

/** A double-quoted scalar without escaped surrogates, which the API server refuses even in pairs. */
const QUOTED = /^"(?:[^"\\]|\\(?:[^uU/]|u(?![dD][89a-fA-F])|U(?!0000[dD][89a-fA-F])))*"$/s

/** Formats a value as a YAML document, quoted so that parsers of YAML 1.1 and 1.2 read the same. */
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

/** Whether every parser reads the text without quotes as a string. */
const isPlain = (text: string): boolean =>
  /^[A-Za-z/][-\w./ ]*$/.test(text) && !text.endsWith(' ') && plainValueOf(text) === text

/** Characters that formatYaml escapes, within double quotes. */
const RAW = /[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/g

/** An error without a cause, as the parser's message quotes the text. */
const unreadable = (text: string, at: number | undefined, because = ''): Error =>
  new Error(`not valid YAML${placeOf(text, at)}${because === '' ? '' : `: ${because}`}`)

function placeOf(text: string, at: number | undefined): string {
  if (at === undefined) return ''
  const before = text.slice(0, at).split('\n')
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

// The value of a plain YAML scalar, one without quotes, as in the parser of Kubernetes, which follows YAML 1.1 in
// part.

/** Words that are a boolean or null, such as `y`, `No` and `OFF`. */
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ...inAllCases(['y', 'yes', 'true', 'on'], true),
  ...inAllCases(['n', 'no', 'false', 'off'], false),
  ...inAllCases(['null'], null),
  ['', null],
  ['~', null],
])

/** Each word in lower case, with a capital, and in upper case. */
function inAllCases<Value>(words: readonly string[], value: Value): [string, Value][] {
  return words
    .flatMap((word) => [word, word.slice(0, 1).toUpperCase() + word.slice(1), word.toUpperCase()])
    .map((word) => [word, value])
}

const INFINITE_OR_NAN = /^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/
/** A date, which begins with four digits and a dash. Dates stay texts. */
const DATED = /^\d{4}-/
const INTEGER =
  /^([-+]?)(?:0[bB]([01]+)|0[oO]?([0-7]+)|0[xX]([0-9a-fA-F]+)|(0|[1-9][0-9]*))$|^0b([-+])([01]+)$/
const DECIMAL = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/

/**
 * The value of a plain scalar; undefined = JSON can't express it or parsers disagree, as for infinity, minus zero as
 * a fraction, or a whole number beyond 2^53.
 */
function plainValueOf(text: string): string | number | boolean | null | undefined {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  if (INFINITE_OR_NAN.test(text)) return undefined
  if (/^\.[0-9].*_/.test(text)) return undefined
  if (text.startsWith('.')) return DECIMAL.test(text) ? soundNumber(Number(text)) : text
  if (!/^[-+0-9]/.test(text) || DATED.test(text)) return text
  const digits = text.replaceAll('_', '')
  const integer = INTEGER.exec(digits)
  if (integer) return integerOf(integer)
  return DECIMAL.test(digits) ? soundNumber(Number(digits)) : text
}

function integerOf([, sign, binary, octal, hex, decimal, inner, rest]: RegExpExecArray) {
  const [base, digits] = BASES.flatMap((one, at) => {
    const found = [binary ?? rest, octal, hex, decimal][at]
    return found === undefined ? [] : [[one, found] as const]
  })[0] ?? [10, '']
  const value = Number.parseInt(digits, base)
  if (!Number.isSafeInteger(value)) return undefined
  return (sign ?? inner) === '-' && value !== 0 ? -value : value
}

const BASES = [2, 8, 16, 10] as const

const soundNumber = (value: number): number | undefined =>
  Number.isFinite(value) && !Object.is(value, -0) ? value : undefined
