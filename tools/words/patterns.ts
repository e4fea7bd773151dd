// Turns of phrase that hide who does what, and spellings that differ. CONTRIBUTING.md says what to write instead.

/** A find in a text. */
export interface Find {
  /** The name of the pattern. */
  readonly pattern: string
  /** Offset of its start in the text. */
  readonly offset: number
  /** The words found, on one line. */
  readonly words: string
}

/** Each has the words found as its last group, which ends the match. */
const PHRASES: Readonly<Record<string, RegExp>> = {
  belonging: /\b((?:that|those|the\s+ones?)\s+of)\b/gi,
  negation:
    /(?<!\bthere\s+)\b((?:is|are)\s+no\s+(?!(?:longer|more|less)\b|[a-z]+er\s+than\b)[a-z]+)/gi,
  // A name or a port may be taken, and a part taken off.
  taken:
    /(?<!\b(?:names?|ports?|address(?:es)?)\s+(?:that\s+)?(?:is|are|was)\s+(?:already\s+)?)\b(taken)\b(?!\s+(?:away|back|down|off|over)\b)/gi,
  word: /\b(heard|told|looked\s+at|is\s+known|of\s+before|of\s+ours|nobody|somebody|anew|the\s+centre)\b/gi,
  date: /\b(as\s+of)\b(?!\s+(?:v?\d|Kubernetes\s+\d))/gi,
}

const WHAT_SENTENCE =
  /(^[\s|]*|[.!?:]\s+|\n\s*\n\s*|\|\s*)((?:What|Whoever|Who)\s(?!to\b)[^.?!|]*)(?![^.?!|]*\?)/g
const VERB =
  /\b(?:is|are|was|were|has|have|had|must|can|may|does|do|will|needs?|stays?|keeps?|counts?)\b/g

/** The tell-tale phrases in a text. Words in backquotes are names, and do not count. */
export function phrasesIn(text: string): readonly Find[] {
  const prose = withoutCode(text)
  return [
    ...Object.entries(PHRASES).flatMap(([pattern, expression]) =>
      Array.from(prose.matchAll(expression), (match) => findAt(text, pattern, match)),
    ),
    ...Array.from(prose.matchAll(WHAT_SENTENCE))
      .filter(([, before = '', sentence = '']) => isStatement(before, sentence))
      .map((match) => findAt(text, 'what', match)),
  ]
}

// At its start a text may name its subject so, as "What the current context names."; with a second verb it is a sentence.
const isStatement = (before: string, sentence: string): boolean =>
  /[.!?]/.test(before) || [...sentence.matchAll(VERB)].length > 1

/** Messages whose words the specification gives. */
const SPECIFIED: ReadonlySet<string> = new Set([
  "the request can't be recorded in the audit log",
  "This account can't be used here. Ask an administrator",
])

/** Misspellings of "cannot": two words, and in a message the short form. */
export function spellingsIn(text: string, isMessage: boolean): readonly Find[] {
  if (isMessage && SPECIFIED.has(text)) return []
  const expression = isMessage
    ? /\b(can\s+not(?!\s+only)|can[’']t)\b/gi
    : /\b(can\s+not(?!\s+only))\b/gi
  return Array.from(withoutCode(text).matchAll(expression), (match) =>
    findAt(text, 'cannot', match),
  )
}

const withoutCode = (text: string): string =>
  text.replaceAll(/`[^`\n]*`/g, (code) => '`'.repeat(code.length))

function findAt(text: string, pattern: string, match: RegExpMatchArray): Find {
  const length = match.at(-1)?.length ?? 0
  const offset = (match.index ?? 0) + match[0].length - length
  return { pattern, offset, words: text.slice(offset, offset + length).replaceAll(/\s+/g, ' ') }
}
