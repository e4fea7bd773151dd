// The comments and string literals of a TypeScript file, without a parser, and the prose of a Markdown page.

/** A comment (line comments that follow each other are one), a string or template literal, or a page. */
export interface Text {
  readonly kind: 'comment' | 'string' | 'page'
  /** Line of its first character, from 1. */
  readonly line: number
  /** The text with its line breaks. Comment marks are spaces, and each `${…}` of a template is `…`. */
  readonly text: string
}

// A regular expression starts where a value may: after an operator, an opening bracket or one of these words.
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+\-*%<>~^\n]|\b(?:return|typeof|case|in|of|await|void))\s*$/
const REGEX = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//y
const QUOTED = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y
const BLOCK_COMMENT = /\/\*[^]*?\*\//y
const LINE_COMMENTS = /\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/y

/** The texts of a TypeScript file; a literal inside the `${…}` of a template comes before it. */
export function textsIn(source: string): readonly Text[] {
  const found: Text[] = []
  readCode(source, 0, found)
  return found
}

/** The prose of a page: code blocks, headings, links' targets and HTML are left out. */
export function proseOf(page: string): Text {
  const blank = (part: string): string => part.replaceAll(/[^\n]/g, ' ')
  const text = page
    .replaceAll(/^( *)```[^]*?^\1```$/gm, blank)
    .replaceAll(/^(?: {4}|#).*$/gm, blank)
    .replaceAll(/<[^>\n]*>|(?<=\])\([^)\n]*\)/g, blank)
  return { kind: 'page', line: 1, text }
}

/** Reads to the end of the source, or of a template's `${…}`; gives the offset behind it. */
function readCode(source: string, start: number, found: Text[]): number {
  let depth = 0
  let at = start
  while (at < source.length) {
    const char = source[at]
    if (char === '}' && depth === 0 && start > 0) return at + 1
    if (char === '{') depth++
    if (char === '}') depth--
    at = char === '`' ? readTemplate(source, at, found) : readToken(source, at, found)
  }
  return at
}

function readToken(source: string, at: number, found: Text[]): number {
  const line = () => lineAt(source, at)
  const comment = matchAt(BLOCK_COMMENT, source, at) ?? matchAt(LINE_COMMENTS, source, at)
  if (comment !== null) {
    found.push({ kind: 'comment', line: line(), text: withoutMarks(comment) })
    return at + comment.length
  }
  const quoted = matchAt(QUOTED, source, at)
  if (quoted !== null) {
    found.push({ kind: 'string', line: line(), text: unescaped(quoted.slice(1, -1)) })
    return at + quoted.length
  }
  const isRegex = source[at] === '/' && BEFORE_REGEX.test(source.slice(Math.max(0, at - 40), at))
  return at + ((isRegex ? matchAt(REGEX, source, at)?.length : undefined) ?? 1)
}

function readTemplate(source: string, start: number, found: Text[]): number {
  let text = ''
  let at = start + 1
  while (at < source.length && source[at] !== '`') {
    if (source.startsWith('${', at)) {
      at = readCode(source, at + 2, found)
      text += '…'
    } else {
      const length = source[at] === '\\' ? 2 : 1
      text += source.slice(at, at + length)
      at += length
    }
  }
  found.push({ kind: 'string', line: lineAt(source, start), text: unescaped(text) })
  return at + 1
}

function matchAt(pattern: RegExp, source: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0] ?? null
}

const lineAt = (source: string, at: number): number => source.slice(0, at).split('\n').length

const withoutMarks = (comment: string): string =>
  comment.replaceAll(/^[ \t]*(?:\/\*\*?|\/\/+|\*(?!\/))|\*\/$/gm, (marks) =>
    ' '.repeat(marks.length),
  )

const unescaped = (text: string): string =>
  text.replaceAll(/\\[ntr]/g, '  ').replaceAll(/\\(.)/g, '$1')
