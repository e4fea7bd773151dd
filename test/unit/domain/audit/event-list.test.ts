// Lists of events, put together and taken apart as text (contract 21.4, 22.4).
import { describe, expect, test } from 'vitest'
import { eventListOf, eventPageOf, withoutBodies } from '../../../../src/domain/audit/event-list.ts'
import { rawElements, rawMembers } from '../../../../src/domain/audit/raw-json.ts'
import { auditLine } from '../../../support/audit-event-builder.ts'

const NUMBERS = '{"kind":"Event","requestObject":{"n":12345678901234567890.10e+2,"z":-0.0}}'

describe('an EventList (22.4)', () => {
  test('is of audit.k8s.io/v1, with the token of the next page', () => {
    const text = eventListOf([auditLine(), auditLine({ verb: 'list' })], 'next')
    expect(JSON.parse(text)).toEqual({
      kind: 'EventList',
      apiVersion: 'audit.k8s.io/v1',
      metadata: { continue: 'next' },
      items: [JSON.parse(auditLine()), JSON.parse(auditLine({ verb: 'list' }))],
    })
    expect(eventPageOf(text)).toEqual({
      events: [auditLine(), auditLine({ verb: 'list' })],
      continue: 'next',
    })
  })

  test('of no events is a list, and the last page has no token', () => {
    expect(JSON.parse(eventListOf([], null))).toMatchObject({ metadata: {}, items: [] })
    expect(eventPageOf(eventListOf([], null))).toEqual({ events: [], continue: null })
  })

  test('keeps the digits of numbers (21.4)', () => {
    const text = eventListOf([NUMBERS], null)
    expect(text).toContain(NUMBERS)
    expect(eventPageOf(text)?.events).toEqual([NUMBERS])
  })

  test.each([
    '',
    'null',
    '[]',
    '404 page not found',
    '{"kind":"Status","apiVersion":"v1","items":[]}',
    '{"kind":"EventList","apiVersion":"v1","items":[]}',
    '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{}',
    '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{} {}]}',
  ])('%j is none', (text) => {
    expect(eventPageOf(text)).toBeNull()
  })

  test.each([
    { metadata: 'null', token: null },
    { metadata: '{"continue":""}', token: null },
    { metadata: '{"continue":7}', token: null },
    { metadata: '{"continue":"a\\u0062"}', token: 'ab' },
  ])('with metadata $metadata goes on at $token', ({ metadata, token }) => {
    const text = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":${metadata},"items":null}`
    expect(eventPageOf(text)).toEqual({ events: [], continue: token })
  })
})

describe('an event without bodies (22.4)', () => {
  test('has all else as it stands', () => {
    const line = auditLine({ requestObject: { a: ['}', '"', '\\'] }, responseObject: null })
    expect(withoutBodies(line)).toBe(auditLine())
    expect(withoutBodies(auditLine())).toBe(auditLine())
  })

  test.each([
    ['{"requestObject":1}', '{}'],
    ['{"requestObject":1,"a":2}', '{"a":2}'],
    ['{"a":2,"responseObject":"x"}', '{"a":2}'],
    ['{"request\\u004fbject":1,"a":2}', '{"a":2}'],
    ['{ "a" : 2.00 ,\t"requestObject" : [1,{"b":[]}] , "c" : "," }', '{"a" : 2.00,"c" : ","}'],
    ['{"a":{"requestObject":1}}', '{"a":{"requestObject":1}}'],
    ['{"a":"\\"requestObject\\":1"}', '{"a":"\\"requestObject\\":1"}'],
  ])('of %s is %s', (event, expected) => {
    expect(withoutBodies(event)).toBe(expected)
  })
})

describe('parts of JSON text', () => {
  // biome-ignore format: a table
  test.each([
    ['[]', []],
    [' [ ] ', []],
    ['[1,-2.50e3 , true,null]', ['1', '-2.50e3', 'true', 'null']],
    ['["a,]","\\\\","\\"]",{"x":"}"},[[],[1]]]', ['"a,]"', '"\\\\"', '"\\"]"', '{"x":"}"}', '[[],[1]]']],
    ['{}', []],
    ['7', []],
  ])('the elements of %s stand as they are', (text, elements) => {
    expect(rawElements(text)).toEqual(elements)
  })

  test('names are unescaped, values stand as they are', () => {
    const text = '{ "a\\"b" : 1.0 , "c" : { "d" : [ ] } }'
    expect(rawMembers(text)).toEqual([
      { name: 'a"b', text: '"a\\"b" : 1.0', value: '1.0' },
      { name: 'c', text: '"c" : { "d" : [ ] }', value: '{ "d" : [ ] }' },
    ])
  })

  test.each([
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a',
    '{"a":"',
    '[',
    '[1',
    '[,',
    '[1,,',
    '{"a":1,}',
    '[}',
    '{"a"}',
  ])('%s, which is not JSON, ends', (text) => {
    expect(rawMembers(text).length + rawElements(text).length).toBeLessThan(5)
  })

  test('a text of a megabyte of quotes and backslashes takes linear time', () => {
    const texts = [1, 8].map((times) => {
      const value = JSON.stringify({
        a: '\\"'.repeat(times * 64 * 1024),
        b: '['.repeat(times * 1024),
      })
      const start = performance.now()
      expect(rawMembers(value)).toHaveLength(2)
      return performance.now() - start
    })
    const [one = 0, eight = 0] = texts
    expect(eight).toBeLessThan(Math.max(one, 5) * 40)
  })
})
