/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import {
  type RevokedList,
  type Steps,
  gainedTokens,
  mergedLists,
  parseRevokedList,
  refusalOfList,
} from '../../../../src/domain/token/revoked-list.ts'

const ended = <Result>(steps: Steps<Result>): Result => {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
const parse = (text: string): RevokedList | null => ended(parseRevokedList(text))

const AS_OF = '2026-11-21T10:00:00Z'
const AS_OF_MS = Date.parse(AS_OF)
const EXP = '2026-11-21T11:30:00Z'
const [A, B] = ['0e7c5f52-3a8c-4a47-9f3c-6f3c5a5f8a10', '1f7c5f52-3a8c-4a47-9f3c-6f3c5a5f8a11']
const listText = (tokens: string, asOf = AS_OF): string => `{"asOf":"${asOf}","tokens":{${tokens}}}`

describe('a list of revoked tokens (7.4, 9.2)', () => {
  test.each<{
    readonly name: string
    readonly text: string
    readonly tokens: Readonly<Record<string, string>>
  }>([
    { name: 'empty', text: listText(''), tokens: {} },
    { name: 'with a token', text: listText(`"${A}":"${EXP}"`), tokens: { [A]: EXP } },
    {
      name: 'with two',
      text: listText(`"${A}":"${EXP}","${B}":"${AS_OF}"`),
      tokens: { [A]: EXP, [B]: AS_OF },
    },
    {
      name: 'with spaces and line breaks',
      text: JSON.stringify({ asOf: AS_OF, tokens: { [A]: EXP, [B]: EXP } }, null, 2),
      tokens: { [A]: EXP, [B]: EXP },
    },
    {
      name: 'with a fraction and an offset',
      text: listText(`"${A}":"2026-11-21T12:30:00.000+01:00"`),
      tokens: { [A]: EXP },
    },
    {
      name: 'with names of Object',
      text: listText(`"__proto__":"${EXP}","constructor":"${EXP}"`),
      tokens: { ['__proto__']: EXP, constructor: EXP },
    },
  ])('$name', ({ text, tokens }) => {
    const expected = Object.entries(tokens).map(([jti, exp]) => [jti, Date.parse(exp)] as const)
    expect(parse(text)).toEqual({ asOfMs: AS_OF_MS, tokens: new Map(expected) })
  })

  test.each([
    { name: 'nothing', text: '' },
    { name: 'another document', text: '{"kind":"Status"}' },
    { name: 'a page', text: '<html></html>' },
    { name: 'no asOf', text: `{"tokens":{"${A}":"${EXP}"}}` },
    { name: 'no tokens', text: `{"asOf":"${AS_OF}"}` },
    { name: 'asOf a number', text: '{"asOf":1,"tokens":{}}' },
    { name: 'asOf no time', text: listText('', 'yesterday') },
    { name: 'asOf of no day', text: listText('', '2026-02-30T10:00:00Z') },
    { name: 'tokens a list', text: `{"asOf":"${AS_OF}","tokens":[]}` },
    { name: 'tokens null', text: `{"asOf":"${AS_OF}","tokens":null}` },
    { name: 'another member', text: `{"asOf":"${AS_OF}","tokens":{},"more":1}` },
    { name: 'tokens twice', text: `{"asOf":"${AS_OF}","tokens":{},"tokens":{}}` },
    { name: 'cut off', text: listText(`"${A}":"${EXP}"`).slice(0, -2) },
    { name: 'cut off inside an entry', text: listText(`"${A}":"${EXP}"`).slice(0, -6) },
    { name: 'more behind it', text: `${listText('')}{}` },
    { name: 'a comma too many', text: listText(`"${A}":"${EXP}",`) },
    { name: 'a comma missing', text: listText(`"${A}":"${EXP}" "${B}":"${EXP}"`) },
    { name: 'a token twice', text: listText(`"${A}":"${EXP}","${A}":"${EXP}"`) },
    { name: 'exp a number', text: listText(`"${A}":1`) },
    { name: 'exp null', text: listText(`"${A}":null`) },
    { name: 'exp empty', text: listText(`"${A}":""`) },
    { name: 'exp no time', text: listText(`"${A}":"soon"`) },
    { name: 'exp of no day', text: listText(`"${A}":"2026-02-30T10:00:00Z"`) },
    { name: 'exp of no hour', text: listText(`"${A}":"2026-11-21T24:00:00Z"`) },
    { name: 'exp of no minute', text: listText(`"${A}":"2026-11-21T10:60:00Z"`) },
    { name: 'an empty jti', text: listText(`"":"${EXP}"`) },
    { name: 'an escape', text: listText(`"\\u0041":"${EXP}"`) },
    { name: 'a jti outside ASCII', text: listText(`"ä":"${EXP}"`) },
  ])('is refused: $name', ({ text }) => {
    expect(parse(text)).toBe(null)
  })

  test('of many tokens is parsed in steps, and is the same as JSON.parse makes it', () => {
    const tokens = Object.fromEntries(
      Array.from({ length: 1700 }, (_, at) => {
        const atMs = AS_OF_MS + at * 3_333_000
        return [`jti-${at}`, new Date(atMs).toISOString().replace('.000Z', 'Z')]
      }),
    )
    const steps = parseRevokedList(JSON.stringify({ asOf: AS_OF, tokens }))
    for (let pauses = 0; pauses < 3; pauses += 1) expect(steps.next().done).toBe(false)
    const { value } = steps.next()
    const expected = Object.entries(tokens).map(([jti, exp]) => [jti, Date.parse(exp)] as const)
    expect(value).toEqual({ asOfMs: AS_OF_MS, tokens: new Map(expected) })
  })
})

const list = (asOfSeconds: number, tokens: Readonly<Record<string, number>>): RevokedList => ({
  asOfMs: asOfSeconds * 1000,
  tokens: new Map(Object.entries(tokens).map(([jti, seconds]) => [jti, seconds * 1000])),
})

describe('whether a list is taken after the last one (9.2)', () => {
  const last = list(100, { a: 150, b: 200 })
  test.each([
    { name: 'the first', last: null, next: list(100, {}), because: null },
    { name: 'the same', next: last, because: null },
    { name: 'newer, with the same tokens', next: list(110, { a: 150, b: 200 }), because: null },
    { name: 'one more token', next: list(110, { a: 150, b: 200, c: 300 }), because: null },
    {
      name: 'one more, of the same time',
      next: list(100, { a: 150, b: 200, c: 300 }),
      because: null,
    },
    { name: 'a later end', next: list(110, { a: 151, b: 200 }), because: null },
    { name: 'without a token that has ended', next: list(150, { b: 200 }), because: null },
    {
      name: 'without a token that ends a second later',
      next: list(149, { b: 200 }),
      because: 'lacks a token of the last one',
    },
    {
      name: 'without a token, of the same time',
      next: list(100, { a: 150 }),
      because: 'lacks a token of the last one',
    },
    { name: 'empty', next: list(110, {}), because: 'lacks a token of the last one' },
    {
      name: 'an earlier end',
      next: list(110, { a: 149, b: 200 }),
      because: 'has an earlier expiry for a token of the last one',
    },
    {
      name: 'a second older',
      next: list(99, { a: 150, b: 200 }),
      because: 'is older than the last one',
    },
    { name: 'a minute ahead of Date', next: list(180, { b: 200 }), because: null },
    { name: 'more ahead', next: list(181, { b: 200 }), because: 'is dated in the future' },
    {
      name: 'the first, more ahead',
      last: null,
      next: list(181, {}),
      because: 'is dated in the future',
    },
  ])('$name: $because', ({ last: before = last, next, because }) => {
    expect(ended(refusalOfList(next, before, 120_000))).toBe(because)
  })

  test('the tokens that it has gained', () => {
    expect(ended(gainedTokens(list(110, { a: 150, c: 300 }), last))).toEqual(['c'])
    expect(ended(gainedTokens(last, null))).toEqual(['a', 'b'])
  })
})

describe('lists of several replicas (9.2)', () => {
  test('the newest counts, with what has not ended of the others', () => {
    const merged = mergedLists([
      list(90, { ended: 100, unknown: 101, earlier: 200, later: 150 }),
      list(100, { own: 300, earlier: 150, later: 200 }),
      list(80, { unknown: 105 }),
    ])
    expect(merged).toEqual(list(100, { own: 300, earlier: 200, later: 200, unknown: 105 }))
  })

  test('are null when there are none', () => {
    expect(mergedLists([])).toBe(null)
  })
})
