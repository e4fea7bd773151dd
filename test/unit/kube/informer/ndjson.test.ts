import { describe, expect, test } from 'vitest'
import { jsonLines } from '../../../../src/kube/client/request.ts'
import { findCanaries, plantCanary } from '../../../support/canary.ts'

/** The lines read before the stream ended or failed, and how often it reported bytes. */
async function read(chunks: Iterable<Uint8Array>) {
  const seen: unknown[] = []
  let alive = 0
  async function* stream(): AsyncGenerator<Uint8Array, void> {
    yield* chunks
  }
  let error: unknown
  try {
    for await (const line of jsonLines(stream(), () => (alive += 1))) seen.push(line)
  } catch (thrown) {
    error = thrown
  }
  return { seen, alive, error }
}

const objects = [{ n: 1 }, { text: 'ü→𝄞 \n "x"' }, [], { emoji: '👩‍👩‍👧' }]
const bytes = Buffer.from(objects.map((object) => `${JSON.stringify(object)}\n`).join(''))

describe('chunk borders do not change the lines', () => {
  test('two chunks, split at every offset, also within a character', async () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      const { seen } = await read([bytes.subarray(0, at), bytes.subarray(at)])
      expect(seen, `cut at ${at}`).toEqual(objects)
    }
  })

  test('chunks of a single byte, each reported as a sign of life', async () => {
    const { seen, alive } = await read([...bytes].map((byte) => Uint8Array.of(byte)))
    expect(seen).toEqual(objects)
    expect(alive).toBe(bytes.length)
  })
})

describe('unusual input', () => {
  test.each([
    { name: 'an empty stream', text: '', seen: [] },
    { name: 'empty lines', text: '\n\n{"a":1}\n\n', seen: [{ a: 1 }] },
    { name: 'a carriage return before the end', text: '{"a":1}\r\n', seen: [{ a: 1 }] },
    {
      name: 'a last line without a newline is dropped',
      text: '{"a":1}\n{"b":2}',
      seen: [{ a: 1 }],
    },
  ])('$name', async ({ text, seen }) => {
    expect(await read([Buffer.from(text)])).toMatchObject({ seen, error: undefined })
  })

  test.each([
    { name: 'text that is not JSON', line: (secret: string) => secret },
    { name: 'garbage behind a value', line: (secret: string) => `{"key":"${secret}"x}` },
    { name: 'garbage before a value', line: (secret: string) => `{"key":x"${secret}"}` },
    { name: 'a line cut short', line: (secret: string) => `{"key":"${secret}` },
    { name: 'a raw control character', line: (secret: string) => `{"key":"${secret}\u0001"}` },
  ])('$name ends the reading, and the error quotes none of the line', async ({ line }) => {
    const planted = plantCanary('line')
    const { seen, error } = await read([Buffer.from(`{"a":1}\n${line(planted.secret)}\n{"b":2}\n`)])
    expect(seen).toEqual([{ a: 1 }])
    expect(error).toBeInstanceOf(SyntaxError)
    const { message, stack, cause } = error as Error
    expect(findCanaries({ message, stack: stack ?? '', cause: String(cause) }, [planted])).toEqual(
      [],
    )
  })

  test('a failure of the stream is passed on', async () => {
    function* broken(): Generator<Uint8Array, void> {
      yield Buffer.from('{"a":1}\n')
      throw new Error('cut')
    }
    const { seen, error } = await read(broken())
    expect(seen).toEqual([{ a: 1 }])
    expect(error).toMatchObject({ message: 'cut' })
  })
})

test('100,000 objects in one chunk let timers run in between', async () => {
  const line = `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'x'.repeat(200) } } })}\n`
  let ticks = 0
  const interval = setInterval(() => (ticks += 1), 1)
  const { seen } = await read([Buffer.from(line.repeat(100_000))])
  clearInterval(interval)
  expect(seen.length).toBe(100_000)
  expect(ticks).toBeGreaterThan(0)
})

test('stopping early closes the stream', async () => {
  let isStopped = false
  async function* stream(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) yield bytes
    } finally {
      isStopped = true
    }
  }
  for await (const line of jsonLines(stream(), () => undefined)) {
    expect(line).toEqual({ n: 1 })
    break
  }
  expect(isStopped).toBe(true)
})
