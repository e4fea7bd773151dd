import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { readCopy, recordCopy } from '../../../../src/gateway/audit/record-body.ts'
import { cpuRatio } from '../../../support/cpu-ratio.ts'
import { requestFor } from '../../domain/audit/bodies/recorded.ts'

const JSON_TYPE = 'application/json'
const YAML_TYPE = 'application/yaml'
const CONTEXT = { request: requestFor('/secrets', 'create'), code: null, limit: 1024 ** 2 }

const messageOf = (text: string, contentType = JSON_TYPE) => ({
  body: { bytes: Buffer.from(text) },
  contentType,
  contentEncoding: undefined,
})

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
      await recordCopy(parsed, CONTEXT)
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
    { name: 'a List of Secrets', text: secrets(10_000), most: 7 },
    { name: 'a Table of Secrets', text: table(10_000), most: 8 },
    { name: 'numbers that have to be kept', text: `[${'1.0,'.repeat(200_000)}1.0]`, most: 8 },
    { name: 'objects without fields', text: `{"items":[${'{},'.repeat(200_000)}{}]}`, most: 10 },
  ])('is held for a few times as long as V8 needs: $name (21.4)', async ({ text, most }) => {
    const message = messageOf(text)
    const recorded = async () => recordCopy(await readCopy(message), CONTEXT)
    const native = () => JSON.stringify(JSON.parse(message.body.bytes.toString()))
    expect(await cpuRatio(recorded, native, most)).toBeLessThan(most)
  })
})

test('a body that is left out, and one that is none, are passed on (21.4)', async () => {
  const omitted = { omitted: 'memory' } as const
  const parsed = await readCopy({ ...messageOf(''), body: omitted })
  expect(await recordCopy(parsed, CONTEXT)).toEqual(omitted)
  expect(await recordCopy(await readCopy(messageOf('')), CONTEXT)).toBeNull()
})
