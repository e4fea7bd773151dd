// Checks label selectors as the API server's own parser reads them (k8s.io/apimachinery, labels.Parse). Each character
// is read once, so that no selector takes long to refuse (contract 11.6).
import { isDnsSubdomain } from '../../domain/dns-name.ts'

/** Longest first, so that `!=` is not taken for `!`. */
const SYMBOLS = ['!=', '==', '=', '!', '(', ')', ',', '<', '>'] as const
const SPECIAL: ReadonlySet<string> = new Set('=!(),<>')
const SPACE: ReadonlySet<string> = new Set(' \t\r\n')

type Token =
  | { readonly kind: (typeof SYMBOLS)[number] | 'end' }
  | { readonly kind: 'word'; readonly text: string }

/**
 * Whether the API server accepts the text as a label selector. A text with a NUL is refused: the API server would read
 * it only up to the NUL.
 */
export function isLabelSelector(text: string): boolean {
  if (text.includes('\0')) return false
  const tokens = new Tokens(text)
  if (tokens.next() === 'end') return true
  for (;;) {
    if (!isRequirement(tokens)) return false
    const { kind } = tokens.take()
    if (kind === 'end') return true
    if (kind !== ',') return false
  }
}

/** Reads the tokens of a selector one at a time, with one token of lookahead. */
class Tokens {
  readonly #text: string
  #at = 0
  #next: Token | null = null

  constructor(text: string) {
    this.#text = text
  }

  /** The kind of the token that `take` returns next. */
  next(): Token['kind'] {
    this.#next ??= this.#scan()
    return this.#next.kind
  }

  take(): Token {
    const token = this.#next ?? this.#scan()
    this.#next = null
    return token
  }

  #scan(): Token {
    const text = this.#text
    while (SPACE.has(text.charAt(this.#at))) this.#at += 1
    const start = this.#at
    if (start === text.length) return { kind: 'end' }
    const symbol = SYMBOLS.find((one) => text.startsWith(one, start))
    if (symbol) {
      this.#at += symbol.length
      return { kind: symbol }
    }
    while (this.#at < text.length && !isBoundary(text.charAt(this.#at))) this.#at += 1
    return { kind: 'word', text: text.slice(start, this.#at) }
  }
}

const isBoundary = (char: string): boolean => SPECIAL.has(char) || SPACE.has(char)

/** Reads one requirement: `key`, `!key`, `key=value`, `key in (values)` or `key>1`. */
function isRequirement(tokens: Tokens): boolean {
  const isAbsent = tokens.next() === '!'
  if (isAbsent) tokens.take()
  const key = tokens.take()
  if (key.kind !== 'word' || !isKey(key.text)) return false
  if (isAbsent || isRequirementEnd(tokens)) return true
  const operator = tokens.take()
  const { kind } = operator
  if (kind === 'word') return (operator.text === 'in' || operator.text === 'notin') && isSet(tokens)
  if (kind === '<' || kind === '>') return isWord(tokens, isInteger)
  const isEquality = kind === '=' || kind === '==' || kind === '!='
  return isEquality && (isRequirementEnd(tokens) || isWord(tokens, isValue))
}

const isRequirementEnd = (tokens: Tokens): boolean =>
  tokens.next() === 'end' || tokens.next() === ','

function isWord(tokens: Tokens, check: (text: string) => boolean): boolean {
  const token = tokens.take()
  return token.kind === 'word' && check(token.text)
}

/** Reads a set such as `(a, b)`. The API server accepts the empty values in `(,)` and `(a,,b)`, but not `(,,)`. */
function isSet(tokens: Tokens): boolean {
  if (tokens.take().kind !== '(') return false
  if (tokens.next() === ')') return tokens.take().kind === ')'
  for (;;) {
    const token = tokens.take()
    if (token.kind === 'word') {
      if (!isValue(token.text)) return false
      if (tokens.next() === ')') return tokens.take().kind === ')'
      if (tokens.next() !== ',') return false
    } else if (token.kind === ',') {
      if (tokens.next() === ')') return tokens.take().kind === ')'
      if (tokens.next() === ',') tokens.take()
    } else return false
  }
}

const LONGEST_NAME = 63
const LARGEST_INT64 = 2n ** 63n - 1n

/** `name` or `prefix/name`. */
function isKey(text: string): boolean {
  const slash = text.indexOf('/')
  if (slash !== -1 && !isDnsSubdomain(text.slice(0, slash))) return false
  const name = text.slice(slash + 1)
  return name !== '' && isValue(name)
}

/** Empty, or a name: letters, digits and `-_.` between letters or digits. */
const isValue = (text: string): boolean =>
  text === '' ||
  (text.length <= LONGEST_NAME &&
    /^[-A-Za-z0-9_.]+$/.test(text) &&
    isAlphanumeric(text.charAt(0)) &&
    isAlphanumeric(text.charAt(text.length - 1)))

const isAlphanumeric = (char: string): boolean => /^[A-Za-z0-9]$/.test(char)

const isInteger = (text: string): boolean =>
  text.length <= LONGEST_NAME && /^\d+$/.test(text) && BigInt(text) <= LARGEST_INT64
