// How the parts of a request may be written, well and badly.
import type { Random } from '../random.ts'

/** Now and then a segment is lost, doubled, or makes way for one that paths should not have. */
export function misspelled(
  segments: readonly string[],
  { pick, between }: Random,
): readonly string[] {
  const at = Math.floor(between(0, segments.length + 1))
  const [before, after] = [segments.slice(0, at), segments.slice(at)]
  switch (pick([...SOUND, 'lose', 'double', 'insert', 'swap'])) {
    case 'lose':
      return [...before, ...after.slice(1)]
    case 'double':
      return [...before, ...after.slice(0, 1), ...after]
    case 'insert':
      return [...before, pick(TRAPS), ...after]
    case 'swap':
      return [...before, pick(TRAPS), ...after.slice(1)]
    default:
      return segments
  }
}

/** So many times as often as one of the mistakes. */
const SOUND = Array.from({ length: 30 }, () => 'sound')

// biome-ignore format: a table
const TRAPS = [
  '', '.', '..', '...', '/', 'a/b', '../b', '\\', '..\\', 'a\\b', '%', '%2e', '%2e%2e', '%2f', '%zz', '\0', '\t', '\n', '\r\n', '\x7f', '\x80', '\x9f', ' ', '\ufffd', 'namespaces', 'watch', 'proxy', 'status',
]

type Spelling = (text: string, random: Random) => string

const escaped = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`
const bytesOf = (text: string): readonly number[] => [...Buffer.from(text)]
const isPlain = (byte: number): boolean => /[\w.~-]/.test(String.fromCharCode(byte))

const whole: Spelling = (text) => bytesOf(text).map(escaped).join('')
/** Any character may be escaped, in letters of either case. */
const partly: Spelling = (text, { pick }) =>
  bytesOf(text)
    .map((byte) => {
      if (isPlain(byte) && pick([true, true, false])) return String.fromCharCode(byte)
      return pick([escaped(byte), escaped(byte).toUpperCase()])
    })
    .join('')
/** As it is, but for what would end the line of the request. */
const bare: Spelling = (text) => Buffer.from(text.replace(/[\r\n]/g, '')).toString('latin1')
const broken: Spelling = (text, { pick }) => `${encodeURIComponent(text)}${pick(BROKEN)}`

const BROKEN = [
  '%',
  '%4',
  '%zz',
  '%c3',
  '%ff',
  '%c0%af',
  '%ed%a0%80',
  '%F4%90%80%80',
  '%u0041',
  '#',
  '#a',
  ';a',
  ';',
  '\\',
  '%00',
  '%0a',
  '+',
]

// biome-ignore format: a table
const SPELLINGS: readonly Spelling[] = [
  ...Array.from({ length: 60 }, () => encodeURIComponent), ...Array.from({ length: 20 }, () => partly), whole, whole, bare, broken,
  (text) => encodeURIComponent(encodeURIComponent(text)),
]

/** A text percent-encoded, once, twice, in part or not at all. */
export const spelled: Spelling = (text, random) => random.pick(SPELLINGS)(text, random)
