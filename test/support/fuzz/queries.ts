// Queries with what the API server looks for in them, and what it does not.
import type { Random } from '../random.ts'
import { spelled } from './spelling.ts'

/** A query with its question mark, or none. */
export function querySent(random: Random): string {
  const { pick } = random
  const count = pick([0, 0, 0, 1, 1, 2, 3, 5])
  const pairs = Array.from({ length: count }, () => pairSent(random))
  const junk = pick([...Array.from({ length: 150 }, () => []), ...JUNK.map((one) => [one])])
  return count + junk.length === 0 ? pick(['', '', '', '?']) : `?${[...pairs, ...junk].join('&')}`
}

/** What is in no pair. */
const JUNK = [
  '',
  '&',
  '=',
  '=a',
  '?',
  '??',
  '%',
  '%zz',
  'a;b',
  ';',
  '#',
  '#watch=1',
  '+',
  '%26watch=1',
  'a=%c3%28',
  'a=\xff',
  '\x7f',
]

function pairSent(random: Random): string {
  const { pick } = random
  const name = pick(NAMES)
  const value = pick(pick([VALUES.get(name) ?? ANY, VALUES.get(name) ?? ANY, ANY]))
  // A value may stand without its sign, and spaces as they are in forms.
  const text = pick(['=', '=', '=', '=', '=', '=', '=', ''])
  const isForm = pick([true, false])
  const written = spelled(value, random)
  return `${spelled(name, random)}${text}${text === '' ? '' : isForm ? written.replaceAll('%20', '+') : written}`
}

// biome-ignore format: a table
const SELECTORS = [
  'metadata.name=x', 'metadata.name==x', 'metadata.name!=x', 'metadata.name=', 'metadata.name=x,metadata.name=y', 'metadata.name=x,metadata.namespace=p-a', 'metadata.namespace=p-a,metadata.name=x',
  'spec.nodeName=n', 'metadata.name=a/b', 'metadata.name=..', 'metadata.name=.', 'metadata.name=a%b', 'metadata.name=%61', 'metadata.name=a\\,b', 'metadata.name=a\\=b', 'metadata.name=a\\\\b', 'metadata.name=a\\b',
  'metadata.name=a\\', 'metadata.name=a=b', 'metadata.name', ' metadata.name=x', 'metadata.name =x', 'metadata.name= x', 'metadata.name=x ', ',metadata.name=x,', 'metadata.name=x,,', 'metadata.name=é', 'metadata.name=a b',
  'metadata.name=x,spec.foo', 'metadata.name=x,=', 'metadata.name=x,!=', 'METADATA.NAME=x', 'metadata.name===x', 'metadata.name=!x', 'metadata.name!=x,metadata.name=y', 'a\\,metadata.name=x', 'metadata.name=x\\', '', ',', '=', '\\', 'metadata.name=\0x',
  'metadata.name=x\ny', 'metadata\\.name=x', 'spec.type=Login', 'involvedObject.name=x',
]
// biome-ignore format: a table
const LABELS = [
  'a=b', 'a==b', 'a!=b', 'a in (b,c)', 'a notin (b)', 'a,!b', '!a', 'a', 'a>5', 'a<5', 'a>x', 'x.y/z=1', 'X.y/z=1', '-a=b', 'a=b=c', 'a in b', 'a in ()', 'a in (,)', 'a in (b', 'a=', 'a= ', ' a = b ', 'in in (in)', 'notin', '',
  ' ', ',', 'a,', ',a', 'a=b,,c', 'a=é', 'é=a', `${'a'.repeat(64)}=b`, `${'a'.repeat(63)}=${'b'.repeat(63)}`, 'a=-b', 'a=b-', 'a/b/c=d', '/a=b', 'a/=b', 'a\tin\n(b)', 'a in(b)', 'ain (b)', '(a)', 'a!', '!!a', '! a', '!a=b', 'a>9223372036854775808',
  'a>999999999999999999', 'a\u00a0=b', 'a in (b),c', 'a=b\0', '\0', 'a in (b c)', 'a..b/c', 'a.b/c', '.a/b', 'a-/b', 'a=>b', 'a><b', 'a=!b',
]
// biome-ignore format: a table
const TRUTHS = ['true', 'false', '1', '0', '', 'False', 'FALSE', 'fAlSe', 'True', 'no', 'off', '00', ' false', 'false ', 'fal\u017fe', '\u212aalse', '-1', 'null', '2', 'falſe', '0.0', 'f', '\0', 'ｆalse']
const NUMBERS = [
  '500',
  '0',
  '-1',
  '',
  'x',
  '1.5',
  '+1',
  '1_000',
  '0x10',
  '1e3',
  ' 1',
  '9223372036854775807',
  '9223372036854775808',
  '000',
  '१',
  '999999999999999999',
]
const ANY = [
  '',
  'x',
  'All',
  'true',
  'é',
  'a b',
  'a&b',
  'a=b',
  'a;b',
  '\n',
  '\0',
  '%',
  '+',
  '?',
  '#',
  '[]',
  '{"a":1}',
]

const VALUES: ReadonlyMap<string, readonly string[]> = new Map([
  ['watch', TRUTHS],
  ['fieldSelector', SELECTORS],
  ['labelSelector', LABELS],
  ['limit', NUMBERS],
  ['timeoutSeconds', NUMBERS],
  ['allowWatchBookmarks', TRUTHS],
  ['sendInitialEvents', TRUTHS],
])

// biome-ignore format: a table
const NAMES = [
  'watch', 'watch', 'watch', 'watch', 'fieldSelector', 'fieldSelector', 'fieldSelector', 'fieldSelector', 'labelSelector', 'labelSelector', 'limit', 'timeoutSeconds', 'resourceVersion', 'resourceVersionMatch', 'continue',
  'allowWatchBookmarks', 'sendInitialEvents', 'shardSelector', 'dryRun', 'dryRun', 'command', 'exclude', 'fieldManager', 'fieldValidation', 'force', 'pretty', 'Watch', 'WATCH', 'watch[]', ' watch', 'watch ', 'fieldselector', '', 'a', '__proto__',
  'constructor', 'hasOwnProperty', 'path', 'method', 'as', 'impersonate',
]
