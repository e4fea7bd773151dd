// What the parameters of a list make of it: a watch, or a list of one name. The API server authorizes a
// list with fieldSelector=metadata.name=x as one of x, but only when it can read every parameter that
// it knows; where that is not certain, such a list is refused (contract 11.6).
import { isLabelSelector } from './label-selector.ts'
import { type Query, valueOf } from './query.ts'
import { type Reading, read, refused } from './reading.ts'

/** What a list or watch is about. */
export interface Listed {
  readonly verb: 'list' | 'watch'
  /** The only name that it may have; empty when it may have any. */
  readonly name: string
}

/** Reads the parameters of a GET that names no instance. */
export function readListOptions(query: Query): Reading<Listed> {
  const watch = valueOf(query, 'watch') ?? 'false'
  // The API server compares without case; beyond ASCII, in one of two ways.
  if (/[^ -~]/.test(watch)) return refused('watch must be true or false')
  const verb = watch === '0' || watch.toLowerCase() === 'false' ? 'list' : 'watch'
  const name = selectedName(valueOf(query, 'fieldSelector') ?? '')
  if (!name.ok) return name
  const unread = name.value === '' ? undefined : query.find(isUnreadable)
  if (unread) return refused(`parameter ${unread[0]} can't be read`)
  return read({ verb, name: name.value })
}

const isInteger = (value: string): boolean => /^[-+]?\d{1,18}$/.test(value)

/** The parameters of a list that the API server may fail to read, and what it reads for certain. */
const READABLE: ReadonlyMap<string, (value: string) => boolean> = new Map([
  ['limit', isInteger],
  ['timeoutSeconds', isInteger],
  ['labelSelector', isLabelSelector],
])

const isUnreadable = ([name, value]: Query[number]): boolean =>
  READABLE.get(name)?.(value) === false

/** The name that a field selector demands; empty when it demands none that an object could have. */
function selectedName(selector: string): Reading<string> {
  const names: string[] = []
  for (const term of termsOf(selector)) {
    const [, field, operator, escaped = '\\'] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? []
    const value = unescaped(escaped)
    if (value === null) return refused('fieldSelector must be terms such as metadata.name=x')
    if (field === 'metadata.name' && operator !== '!=') names.push(value)
  }
  if (names.length > 1) return refused('fieldSelector must have metadata.name once')
  const [name = ''] = names
  return read(name === '.' || name === '..' || /[/%]/.test(name) ? '' : name)
}

/** Cut at commas that no backslash escapes; empty terms don't count. */
const termsOf = (selector: string): readonly string[] =>
  selector.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? []

/** The value of a term; null when it is not well-formed. */
const unescaped = (value: string): string | null =>
  /^(?:[^\\,=]|\\[\\,=])*$/.test(value) ? value.replace(/\\(.)/g, '$1') : null
