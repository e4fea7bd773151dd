// The cost of parsing a body, for other requests (contract 13.3; threat E8).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../../../src/domain/json/json.ts'
import { strictJsonError } from '../../../../src/domain/json/strict-json.ts'
import { sentObject } from '../../../../src/gateway/selfservice/decode.ts'
import { parseYaml } from '../../../../src/runtime/yaml.ts'
import { eventually } from '../../../support/eventually.ts'
import { callTo } from '../request-builder.ts'

const JSON_TYPE = 'application/json'

const callWith = (body: Readable, headers = {}) =>
  callTo('/', { headers: { 'content-type': JSON_TYPE, ...headers }, body })

const by = (user: string, body: Readable, headers = {}) =>
  sentObject({ call: callWith(body, headers), caller: { identity: { user } } }, false)

const sent = (body: string) => by('ada', Readable.from([Buffer.from(body)]))

/** The shortest of three runs, in milliseconds: other load only adds to it. */
async function leastMs(act: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let count = 0; count < 3; count += 1) {
    const startMs = performance.now()
    await act()
    least = Math.min(least, performance.now() - startMs)
  }
  return least
}

describe('a body that would cost too much to parse (E8)', () => {
  const HALF = 1_450_000

  test('is not parsed', async () => {
    const bomb = '['.repeat(HALF) + ']'.repeat(HALF)
    const startMs = performance.now()
    JSON.parse(bomb)
    const parsedMs = performance.now() - startMs
    expect(await leastMs(() => sent(bomb))).toBeLessThan(parsedMs / 2)
    expect(await sent(bomb)).toMatchObject({ ok: false, answer: { status: 400 } })
  })

  test.each([
    { name: 'quotes in a string without an end', text: `"${'\\"'.repeat(HALF / 8)}` },
    { name: 'backslashes', text: '\\'.repeat(2 * HALF) },
    { name: 'a string of escapes', text: `"${'\\u0061'.repeat(HALF / 3)}"` },
    { name: 'blanks', text: `{${' '.repeat(2 * HALF)}}` },
  ])('takes time in proportion to its length: $name', ({ text }) =>
    expect(strictJsonError(text)).toBeNull(),
  )

  test('has no object with more names than our kinds have', () => {
    const named = (count: number): string =>
      JSON.stringify({ a: Object.fromEntries(Array.from({ length: count }, (_, at) => [at, at])) })
    expect(strictJsonError(`[${named(1000)},${named(1000)}]`)).toBeNull()
    expect(strictJsonError(named(1001))).toBe('an object in it has more than 1000 names')
  })

  test('has no text that parsing would change (X5)', () => {
    const fault = 'a text has half of a surrogate pair'
    expect(strictJsonError('{"a": "\\ud83d"}')).toBe(fault)
    expect(strictJsonError('{"\\uDE00x": 1}')).toBe(fault)
    expect(strictJsonError('["\\ude00\\ud83d"]')).toBe(fault)
    expect(strictJsonError('["\\ud83d\\ude00", "\\\\ud83d", "\\u00e9"]')).toBeNull()
  })

  test('has no number that parsing would change', () => {
    expect(strictJsonError('{"a":9007199254740993')).toBe('number 9007199254740993 is too large')
    expect(strictJsonError('{"a":12-34secret')).toBeNull()
  })
})

test('the largest spec that the schema accepts is not refused for its size (E8)', () => {
  const file = join(import.meta.dirname, '../../../../crds/ownedaccesskeys.yaml')
  const crd = parseYaml(readFileSync(file, 'utf8')) as Crd
  const [version] = crd.spec.versions
  const { spec } = version?.schema.openAPIV3Schema.properties ?? {}
  if (!spec) throw new Error('the CRD has a schema of the spec')
  expect(strictJsonError(JSON.stringify({ spec: largest(spec) }))).toBeNull()
})

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly maxItems?: number
}

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: { readonly properties: Record<string, Schema> }
      }
    }[]
  }
}

/** As many names, values and signs as the schema allows. */
function largest({ properties, items, maxItems }: Schema): Json {
  if (properties)
    return Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, largest(of)]))
  if (!items) return 1
  if (maxItems === undefined) throw new Error('a list of the schema has no bound')
  return Array.from({ length: maxItems }, () => largest(items))
}

test('bodies that arrive together are parsed one by one, with turns of the event loop between (E8)', async () => {
  const COUNT = 5
  /** The turn of the event loop at which a body was parsed. */
  const atTurns: number[] = []
  let turns = 0
  const bodies = Array.from({ length: COUNT }, async () => {
    await sent('{}')
    atTurns.push(turns)
  })
  while (atTurns.length < COUNT) {
    await setImmediate()
    turns += 1
  }
  await Promise.all(bodies)
  const between = atTurns.slice(1).map((at, index) => at - (atTurns[index] ?? 0))
  expect(Math.min(...between)).toBeGreaterThanOrEqual(10)
})

describe('the semaphore of large bodies (13.3)', () => {
  const HELD = 16
  const OF_ONE = 4
  const SOON = { withinMs: 20_000 }

  /** Bodies whose bytes never arrive, and the ones that are read, in order. */
  const heldBack = () => {
    const begun: Readable[] = []
    const open = () =>
      new Readable({
        read() {
          if (!begun.includes(this)) begun.push(this)
        },
      })
    return { begun, open }
  }

  test.each([
    { name: 'long', headers: { 'content-length': '70000' } },
    { name: 'of unknown length', headers: { 'transfer-encoding': 'chunked' } },
  ])('limits bodies that are $name', async ({ headers }) => {
    const { begun, open } = heldBack()
    const bodies = Array.from({ length: HELD + 2 }, open)
    const answers = bodies.map((body, at) => by(`user-${at}`, body, headers))
    await eventually('as many are read', () => begun.length >= HELD || undefined, SOON)
    expect(await sent('{}')).toEqual({ ok: true, value: {} })
    expect(begun).toEqual(bodies.slice(0, HELD))

    begun[0]?.push('{}')
    begun[0]?.push(null)
    expect(await answers[0]).toEqual({ ok: true, value: {} })
    await eventually('the next is read', () => begun.length === HELD + 1 || undefined, SOON)

    begun[1]?.destroy(new Error('the client is gone'))
    await expect(answers[1]).rejects.toThrow('the client is gone')
    await eventually('one after a failure', () => begun.length === HELD + 2 || undefined, SOON)

    for (const body of begun.slice(2)) body.push(null)
    await Promise.all(answers.slice(2))
  })

  test('limits one caller further, which delays no other caller', async () => {
    const { begun, open } = heldBack()
    const headers = { 'content-length': '70000' }
    const slow = Array.from({ length: HELD }, open)
    const ofAda = slow.map((body) => by('ada', body, headers))
    const quick = open()
    const ofBob = by('bob', quick, headers)
    await eventually('another is read', () => begun.includes(quick) || undefined, SOON)
    expect(begun).toEqual([...slow.slice(0, OF_ONE), quick])
    quick.push('{}')
    quick.push(null)
    expect(await ofBob).toEqual({ ok: true, value: {} })
    expect(begun).toHaveLength(OF_ONE + 1)

    for (const body of slow) {
      await eventually('its turn has come', () => begun.includes(body) || undefined, SOON)
      body.push(null)
    }
    await Promise.all(ofAda)
    expect(begun).toEqual([...slow.slice(0, OF_ONE), quick, ...slow.slice(OF_ONE)])
  })
})
