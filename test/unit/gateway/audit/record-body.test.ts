import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { readCopy, recordCopy } from '../../../../src/gateway/audit/record-body.ts'
import { inOwnThread } from '../../../support/own-thread.ts'
import type { RecordMeasure } from './record-body-worker.ts'
import { RECORD_CONTEXT, messageOf } from './recorded-message.ts'

const RECORD_BODY = new URL('./record-body-worker.ts', import.meta.url)
const JSON_TYPE = 'application/json'
const YAML_TYPE = 'application/yaml'

/** The turn of the event loop in which each body was read, and recorded. */
async function turnsOf(texts: readonly string[], contentType: string) {
  let turn = 0
  const over = new AbortController()
  const counting = (async () => {
    while (!over.signal.aborted) {
      await nextTurn()
      turn += 1
    }
  })()
  const turns: number[] = []
  await Promise.all(
    texts.map(async (text) => {
      const parsed = await readCopy(messageOf(text, contentType))
      turns.push(turn)
      await recordCopy(parsed, RECORD_CONTEXT)
      turns.push(turn)
    }),
  )
  over.abort()
  await counting
  return turns
}

/** The text of a List of Secrets. */
const secrets = (count: number): string => {
  const item = { metadata: { name: 'a', labels: { a: 'b' } }, type: 'Opaque', data: { a: 'YQ==' } }
  const items = Array.from({ length: count }, () => item)
  return JSON.stringify({ apiVersion: 'v1', kind: 'SecretList', items })
}

const tableRow = { cells: ['a', 'Opaque', 1, '3d'], object: { metadata: { name: 'a' } } }

/** The text of a Table of Secrets. */
const table = (count: number): string =>
  JSON.stringify({
    apiVersion: 'meta.k8s.io/v1',
    kind: 'Table',
    columnDefinitions: ['Name', 'Type', 'Data', 'Age'].map((name) => ({ name })),
    rows: Array.from({ length: count }, () => tableRow),
  })

describe('the event loop', () => {
  test('reads and records long bodies one in each turn (21.4)', async () => {
    const turns = await turnsOf(
      Array.from({ length: 6 }, () => secrets(1500)),
      JSON_TYPE,
    )
    expect(new Set(turns).size).toBe(12)
  })

  test('reads YAML one in each turn, however short it is (21.4)', async () => {
    const turns = await turnsOf(
      Array.from({ length: 6 }, () => 'a: b'),
      YAML_TYPE,
    )
    expect(new Set(turns).size).toBe(6)
  })

  test('records short bodies at once (21.4)', async () => {
    const turns = await turnsOf(
      Array.from({ length: 6 }, () => secrets(10)),
      JSON_TYPE,
    )
    expect(new Set(turns).size).toBe(1)
  })

  // V8 itself takes 14 ms for a megabyte.
  test.each([
    { name: 'a List of Secrets', text: secrets(10_000), most: 5 },
    { name: 'a Table of Secrets', text: table(10_000), most: 6 },
    { name: 'numbers that have to be kept', text: `[${'1.0,'.repeat(200_000)}1.0]`, most: 6 },
    { name: 'objects without fields', text: `{"items":[${'{},'.repeat(200_000)}{}]}`, most: 10 },
  ])('is held for a few times as long as V8 needs: $name (21.4)', async ({ text, most }) => {
    const measure: RecordMeasure = { text, most }
    const ratio = await inOwnThread<number>(RECORD_BODY, measure)
    expect(ratio).toBeLessThan(most)
  })
})

test('a body that is left out, and one that is none, are passed on (21.4)', async () => {
  const omitted = { omitted: 'memory' } as const
  const parsed = await readCopy({ ...messageOf(''), body: omitted })
  expect(await recordCopy(parsed, RECORD_CONTEXT)).toEqual(omitted)
  expect(await recordCopy(await readCopy(messageOf('')), RECORD_CONTEXT)).toBeNull()
})
