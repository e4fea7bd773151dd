// The data of a Secret and of an entry of the store, each as the other one has it (contract 36.3, 36.4).
import type { Secret } from '../../api/objects.ts'

/** The entries of the store by name, as texts: strings as they are, other JSON compact. */
export type StoreContent = Readonly<Record<string, string>>

/** Content, or why there is none: a sentence without a value. */
type ContentOutcome<Content> =
  | { readonly ok: true; readonly content: Content }
  | { readonly ok: false; readonly fault: string }

/** The API server's own limit for the data of a Secret. */
const MOST_BYTES = 1024 * 1024
/** More names than that fill the managed fields of a Secret. */
const MOST_ENTRIES = 1000
const LONGEST_NAME = 253
const NAME = /^[-._a-zA-Z0-9]+$/

/** The data of a Secret in base64, from an entry of the store; all or nothing. */
export function pulledData(
  content: StoreContent,
): ContentOutcome<Readonly<Record<string, string>>> {
  const entries = Object.entries(content)
  if (entries.length > MOST_ENTRIES)
    return { ok: false, fault: `The entry has more than ${MOST_ENTRIES} names.` }
  if (!entries.every(([name]) => isDataKey(name)))
    return {
      ok: false,
      fault:
        'A name in the entry is none that a Secret takes: letters, digits, "-", "_" and ".", at most 253.',
    }
  const bytes = entries.map(([name, text]) => [name, Buffer.from(text)] as const)
  if (bytes.reduce((sum, [, { length }]) => sum + length, 0) > MOST_BYTES)
    return { ok: false, fault: 'The entry has more than 1 MiB, which no Secret takes.' }
  if (!entries.every(([, text]) => text.isWellFormed()))
    return { ok: false, fault: 'A value in the entry has half of a character.' }
  const data = Object.fromEntries(bytes.map(([name, value]) => [name, value.toString('base64')]))
  return { ok: true, content: data }
}

/** As the API server judges it. */
const isDataKey = (name: string): boolean =>
  NAME.test(name) && name.length <= LONGEST_NAME && name !== '.' && !name.startsWith('..')

/** The entry of the store, from the data of a Secret; all or nothing. */
export function pushedContent({ data = {} }: Pick<Secret, 'data'>): ContentOutcome<StoreContent> {
  const names = Object.keys(data)
  if (names.length === 0)
    return { ok: false, fault: 'The Secret has no data: the entry in the store stays as it is.' }
  const texts = Object.entries(data).map(([name, value]) => [name, textOf(value)] as const)
  if (!texts.every((entry): entry is readonly [string, string] => entry[1] !== null))
    return {
      ok: false,
      fault: 'A value of the Secret is not UTF-8 text, and the store takes text only.',
    }
  return { ok: true, content: Object.fromEntries(texts) }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOf(base64: string): string | null {
  try {
    return UTF8.decode(Buffer.from(base64, 'base64'))
  } catch {
    return null
  }
}

/** Whether two contents have the same names and values. */
export function isSameContent(one: StoreContent, other: StoreContent): boolean {
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  )
}
