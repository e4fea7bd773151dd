// Whether the title of a test, read behind its describes, is a sentence with its subject first.
import type { Title } from './titles.ts'
import { ALSO_NOUNS, AUXILIARY, PLURAL, THIRD_PERSON } from './verbs.ts'

/** Words that continue the noun before them: "a key" > "of another user is refused". */
const CONTINUES = new Set(
  'of in on at with without for from by to over under behind that which whose who'.split(' '),
)

/** Words that begin neither a subject nor its predicate. */
const BREAKS = new Set(
  `when while where once whenever after before until during within beyond below above between into through than as but and
  or nor so if because although unless whether what whatever whichever how why not then twice later being
  taken known sent held made left kept`.split(/\s+/),
)

/** Adverbs before a subject or a verb: "still has all fields". */
const ADVERB = /^(?:also|always|even|just|never|only|still) /

const IS_SUBJECT = /^(?:there|nothing) (?:is|are|else|flows|foreign)\b/

const PARTICIPLE =
  /^[a-z]+ed(?:[,:]|$| (?:a|an|the|by|in|of|on|to|at|as|with|and|again|before|after|while|when|once|from|until|during|without|or|but|not|too|twice)\b)/

/** The fault of a title, as a clause; null = none. */
export function titleFault({ describes, title }: Title): string | null {
  const around = describes.map(plain)
  const last = around.at(-1)
  const start = startOf(plain(title))
  if (start === 'subject') return null
  if (last === undefined) return 'begins without its subject'
  if (isOpen(last)) return null
  if (isSentence(last))
    return start === 'verb' ? 'has no subject: the describe is a sentence' : null
  if (start === 'break') return 'begins in mid-sentence'
  if (!isNoun(around)) return 'has no subject: the describe is not a noun'
  return start === 'verb' || hasVerb(plain(title)) ? null : 'has no verb'
}

type Start = 'subject' | 'verb' | 'continues' | 'break'

function startOf(title: string): Start {
  const text = title.replace(ADVERB, '')
  const word = firstWord(text)
  if (/^(?:there|nothing) /.test(text)) return IS_SUBJECT.test(text) ? 'subject' : 'break'
  if (AUXILIARY.has(word)) return 'verb'
  if (CONTINUES.has(word)) return 'continues'
  if (BREAKS.has(word) || PARTICIPLE.test(text)) return 'break'
  if (THIRD_PERSON.has(word)) return ALSO_NOUNS.has(word) && hasVerb(text) ? 'subject' : 'verb'
  return 'subject'
}

/** Whether the describes name a thing: the last, or the one before it that the last continues. */
function isNoun(describes: readonly string[]): boolean {
  const last = describes.at(-1)
  if (last === undefined || isSentence(last)) return false
  const start = startOf(last)
  if (start === 'subject' || ALSO_NOUNS.has(firstWord(last))) return true
  return start === 'continues' && isNoun(describes.slice(0, -1))
}

/** Whether the title completes it: "the operator writes" > "nothing when ...". */
function isOpen(describe: string): boolean {
  const words = describe.split(' ')
  const last = words.at(-1) ?? ''
  if (AUXILIARY.has(last) || last === 'on') return true
  return THIRD_PERSON.has(last) && (words.length === 3 || !ALSO_NOUNS.has(last))
}

/** Relative clauses aside: "a key that was revoked" is a noun. */
function isSentence(text: string): boolean {
  const main = text.replace(
    / (?:that|which|who|whose|whom|when|while|where|as|if|before|after|until)\b.*/,
    '',
  )
  return main
    .split(' ')
    .slice(1)
    .some((word) => AUXILIARY.has(word) || (THIRD_PERSON.has(word) && !ALSO_NOUNS.has(word)))
}

const hasVerb = (text: string): boolean =>
  text
    .split(/[ ,:;]+/)
    .slice(1)
    .some((word) => AUXILIARY.has(word) || THIRD_PERSON.has(word) || PLURAL.has(word))

const firstWord = (text: string): string => text.split(/[ ,:;]/, 1)[0] ?? ''

/** The text without the numbers of rules in parentheses at its end. */
const plain = (text: string): string => text.replace(/ \([^()]*\)$/, '').trim()
