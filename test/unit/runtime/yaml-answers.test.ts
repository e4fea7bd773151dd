import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { formatYaml, parsePlainYaml, parseYaml } from '../../../src/runtime/yaml.ts'
import { ANSWERS, ROWS, TEXTS } from './yaml-answers.ts'

const REFUSED = 'refused'

function readBy(reader: (text: string) => unknown, text: string): unknown {
  try {
    return reader(text)
  } catch (error) {
    if (String(error).includes('not valid YAML')) return REFUSED
    throw error
  }
}

test('the table has hundreds of texts', () => {
  expect(ANSWERS.scalars.length).toBeGreaterThan(441)
  expect(ROWS.length).toBeGreaterThan(1000)
})

test.each([
  { name: 'untrusted sources', reader: parsePlainYaml },
  { name: 'administrators', reader: parseYaml },
])('YAML of $name is parsed like by the API server, or refused (X5)', ({ reader }) => {
  const others = ROWS.flatMap(([text, json]) => {
    const here = readBy(reader, text)
    const there: unknown = json === null ? REFUSED : JSON.parse(json)
    return here === REFUSED || isSame(here, there) ? [] : [{ text, here, there }]
  })
  expect(others).toEqual([])
})

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))

/** Sorts fields by name, as the library does. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, of]) => [name, sorted(of)])
}

test('values of manifests are parsed (X5)', () => {
  const refused = ANSWERS.ordinary.filter(([text]) => readBy(parsePlainYaml, text) === REFUSED)
  expect(refused).toEqual([])
})

test('formatted YAML is parsed to the same value, also by the rules of YAML 1.2 (X5)', () => {
  const written = TEXTS.map(formatYaml)
  expect(written.map(parseYaml)).toEqual(TEXTS)
  expect(written.map((text) => parse(text) as unknown)).toEqual(TEXTS)
})
