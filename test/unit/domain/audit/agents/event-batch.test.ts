// The EventList of an agent, cut into events without parsing them (contract 23.1).
import { describe, expect, test } from 'vitest'
import { eventBatchOf } from '../../../../../src/domain/audit/agents/event-batch.ts'
import { cutElements, cutMembers } from '../../../../../src/domain/audit/cut-json.ts'
import { eventListOf } from '../../../../../src/domain/audit/event-list.ts'
import { auditLine } from '../../../../support/audit-event-builder.ts'

const HEAD = '"kind":"EventList","apiVersion":"audit.k8s.io/v1"'
const BODIES: ReadonlySet<string> = new Set(['requestObject', 'responseObject'])

/** The elements, and whether the text between them is a list's. */
function elementsOf(json: string) {
  const elements = cutElements(json)
  const texts: string[] = []
  let element = elements.next()
  for (; element.done !== true; element = elements.next()) texts.push(element.value)
  return { texts, isList: element.value }
}

describe('the list of events', () => {
  test('is found in our own form, and in any other of JSON', () => {
    const lines = [auditLine(), auditLine({ verb: 'list' })]
    const batch = eventBatchOf(eventListOf(lines, null))
    expect(batch.kind === 'list' && elementsOf(batch.items)).toEqual({ texts: lines, isList: true })
    const spaced = ` {\n "items" : [ {"a" : "]"} , 7 ] , "apiVersion":"audit.k8s.io/v1","kind":"EventList"}\n`
    expect(eventBatchOf(spaced)).toEqual({ kind: 'list', items: '[ {"a" : "]"} , 7 ]' })
  })

  test.each([`{${HEAD}}`, `{${HEAD},"items":null}`, `{${HEAD},"items":[]}`])(
    'has no events: %s',
    (text) => {
      expect(eventBatchOf(text)).toEqual({ kind: 'list', items: '[]' })
    },
  )

  // biome-ignore format: a table
  test.each([
    { name: 'nothing', text: '', fault: 'the body is not a JSON object' },
    { name: 'a list', text: '[]', fault: 'the body is not a JSON object' },
    { name: 'a text that breaks off', text: `{${HEAD},"items":[]`, fault: 'the body is not a JSON object' },
    { name: 'two objects', text: `{${HEAD},"items":[]}{}`, fault: 'the body is not a JSON object' },
    { name: 'megabytes besides the events', text: `{${HEAD},"metadata":{"continue":"${'x'.repeat(70_000)}"},"items":[]}`, fault: 'the body is not a JSON object' },
    { name: 'another kind', text: '{"kind":"List","apiVersion":"audit.k8s.io/v1","items":[]}', fault: 'the body is not an EventList of audit.k8s.io/v1' },
    { name: 'another version', text: '{"kind":"EventList","apiVersion":"audit.k8s.io/v1beta1","items":[]}', fault: 'the body is not an EventList of audit.k8s.io/v1' },
    { name: 'items that are an object', text: `{${HEAD},"items":{"a":[]}}`, fault: 'items is not a list' },
    { name: 'items that are a text', text: `{${HEAD},"items":"[]"}`, fault: 'items is not a list' },
  ])('is none in $name', ({ text, fault }) => {
    expect(eventBatchOf(text)).toEqual({ kind: 'malformed', fault })
  })
})

describe('cut out of JSON', () => {
  test.each([
    {
      json: '[1, "a]", [2, [3]], {"b": "}"}]',
      texts: ['1', '"a]"', '[2, [3]]', '{"b": "}"}'],
      isList: true,
    },
    { json: '[]', texts: [], isList: true },
    { json: '[1 , 2', texts: ['1', '2'], isList: false },
    { json: '[1 2]', texts: ['1 2'], isList: true },
    { json: '[{} {}]', texts: ['{}', '{}'], isList: false },
    { json: '[{},]', texts: ['{}'], isList: false },
    { json: '[{}] []', texts: ['{}'], isList: false },
  ])('are the elements of $json', ({ json, texts, isList }) => {
    expect(elementsOf(json)).toEqual({ texts, isList })
  })

  test('are members, of which the last of a name counts, however that is written', () => {
    const json =
      '{"a":1,"requestObject":[1],"b":{"requestObject":2},"request\\u004fbject":{"n":1.10}}'
    const cut = cutMembers(json, BODIES, 1000)
    expect(cut?.rest).toEqual({ a: 1, requestObject: 0, b: { requestObject: 2 } })
    expect([...(cut?.parts ?? [])]).toEqual([['requestObject', '{"n":1.10}']])
  })

  test('are parts of any length, while the rest is bounded', () => {
    const long = `"${'x'.repeat(5000)}"`
    expect(cutMembers(`{"requestObject":${long}}`, BODIES, 1000)?.parts.get('requestObject')).toBe(
      long,
    )
    expect(cutMembers(`{"other":${long}}`, BODIES, 1000)).toBeNull()
    expect(cutMembers(`{}${' '.repeat(2000)}`, BODIES, 1000)).toBeNull()
  })
})
