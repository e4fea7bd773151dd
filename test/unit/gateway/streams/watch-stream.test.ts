// A watch is passed on as it comes, and can be ended between two lines (contract 13.3, 13.4).
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { BodyCut } from '../../../../src/serving/http/answer.ts'
import { WatchStream } from '../../../../src/gateway/streams/watch-stream.ts'

const WORD = Buffer.from('{"type":"ERROR"}\n')
/** Where an endless source of a test ends: code that holds it all must fail, not hang. */
const MOST = 64 * 1024 * 1024
const nothing = (): void => undefined

/** A watch, and the source that it passes on. */
function watching(flowed: () => void = nothing) {
  const source = new PassThrough()
  return { source, lines: new WatchStream(source, flowed) }
}

/** Writes the pieces, each in its turn. */
async function arrive(source: PassThrough, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    source.write(piece)
    await turn()
  }
}

/** What a reader has got of the stream, and how it ended. */
function readingOf(lines: WatchStream) {
  const reading = { text: '', hasEnded: false, isClosed: false }
  lines.on('data', (piece: Buffer) => (reading.text += piece.toString()))
  lines.once('end', () => (reading.hasEnded = true))
  lines.once('close', () => (reading.isClosed = true))
  return reading
}

describe('the lines of a watch', () => {
  test.each([
    { name: 'one by one', pieces: ['a\n', 'b\n'] },
    { name: 'several at once', pieces: ['a\nb\nc\n'] },
    { name: 'in many pieces', pieces: ['a', 'b', 'c\nd', 'e', '\n'] },
    { name: 'of one byte each', pieces: 'abc\ndef\n'.split('') },
    { name: 'that are empty', pieces: ['\n', '\n\n'] },
    { name: 'with an incomplete last line', pieces: ['a\n', 'b'] },
    { name: 'no lines', pieces: [] },
  ])('pass unchanged: $name', async ({ pieces }) => {
    const source = Readable.from(pieces.map((piece) => Buffer.from(piece)))
    expect(await text(new WatchStream(source, nothing))).toBe(pieces.join(''))
  })

  test('are passed on before they end, and a line without an end is not held (13.3)', async () => {
    const { source, lines } = watching()
    const piece = Buffer.alloc(16_384, ' ')
    let passed = 0
    let mostHeld = 0
    lines.on('data', ({ length }: Buffer) => (passed += length))
    for (let count = 1; count <= 1000; count += 1) {
      source.write(piece)
      await turn()
      mostHeld = Math.max(mostHeld, count * piece.length - passed)
    }
    expect(mostHeld).toBeLessThanOrEqual(2 * piece.length)
  })

  test('without an end are not taken from a target whose client does not read (13.3)', async () => {
    let given = 0
    const endless = new Readable({
      read() {
        given += 16_384
        this.push(given > MOST ? null : Buffer.alloc(16_384, ' '))
      },
    })
    const lines = new WatchStream(endless, nothing)
    for (let count = 0; count < 1000; count += 1) await turn()
    lines.destroy()
    expect(given).toBeLessThan(512 * 1024)
  })

  test.each([
    { name: 'before the first line', pieces: [], passed: '' },
    { name: 'between two lines', pieces: ['a\n', 'b\n'], passed: 'a\nb\n' },
    { name: 'in a line', pieces: ['a\n', 'b'], later: ['c\nd\n'], passed: 'a\nbc\n' },
    {
      name: 'in a line that comes in pieces',
      pieces: ['a\nb', 'c', 'd'],
      later: ['e', 'f', '\n'],
      passed: 'a\nbcdef\n',
    },
    {
      name: 'before the newline alone',
      pieces: ['a'],
      later: ['\n\nb\n'],
      passed: 'a\n',
    },
  ])('end with a line of the gateway when cut $name (13.4)', async ({ pieces, later, passed }) => {
    const { source, lines } = watching()
    await arrive(source, pieces)
    lines.cut(WORD)
    lines.cut(Buffer.from('another\n'))
    await arrive(source, later ?? [])
    expect(source.destroyed).toBe(true)
    expect(await text(lines)).toBe(`${passed}${WORD.toString()}`)
  })

  test('end without a line when the gateway adds none', async () => {
    const { source, lines } = watching()
    await arrive(source, ['a\nb'])
    lines.cut(Buffer.alloc(0))
    await arrive(source, ['c\nd'])
    expect(await text(lines)).toBe('a\nbc\n')
  })

  test('end within a line that does not end in 200 ms, without a line of the gateway and not as if complete (13.4)', async () => {
    const { source, lines } = watching()
    const reading = readingOf(lines)
    await arrive(source, ['a\nb'])
    lines.cut(WORD)
    const startedMs = performance.now()
    while (!reading.isClosed && performance.now() - startedMs < 5000) {
      source.write('b')
      await delay(5)
    }
    expect(reading).toMatchObject({ hasEnded: false, isClosed: true })
    expect(reading.text).toMatch(/^a\nb+$/)
    expect(source.destroyed).toBe(true)
    expect(performance.now() - startedMs).toBeGreaterThan(150)
  })

  test('report each chunk that passes, and none after the cut (14.1)', async () => {
    let pieces = 0
    const { source, lines } = watching(() => {
      pieces += 1
    })
    await arrive(source, ['a', 'b\n', 'c\n'])
    lines.cut(WORD)
    await arrive(source, ['d\n'])
    await text(lines)
    expect(pieces).toBe(3)
  })

  test.each([
    { name: 'between two lines', pieces: ['a\n', 'b\n'], ending: WORD.toString() },
    { name: 'in a line', pieces: ['a\nb'], ending: null },
  ])(
    'that broke off $name, unread, end with their key as those of a source that lives (13.4)',
    async ({ pieces, ending }) => {
      const { source, lines } = watching()
      await arrive(source, pieces)
      source.destroy(new Error('broken'))
      await turn()
      lines.cut(WORD)
      const reading = readingOf(lines)
      await new Promise((resolve) => lines.once('close', resolve))
      expect(reading).toEqual({
        text: `${pieces.join('')}${ending ?? ''}`,
        hasEnded: ending !== null,
        isClosed: true,
      })
    },
  )

  test('end with a line of the gateway although their source holds more (13.4)', async () => {
    const { source, lines } = watching()
    const line = `${'x'.repeat(9999)}\n`
    await arrive(
      source,
      Array.from({ length: 20 }, () => line),
    )
    lines.cut(WORD)
    const held = lines.readableLength
    await turn()
    const said = await text(lines)
    expect(said.length).toBe(held)
    expect(said.endsWith(`\n${WORD.toString()}`)).toBe(true)
  })

  test.each([
    { name: 'broken off', error: new Error('broken') },
    { name: 'closed', error: undefined },
  ])(
    'of a source that is $name in the turn in which they begin pass once (13.3)',
    async ({ error }) => {
      const source = new PassThrough().on('error', nothing)
      source.write('a\nb')
      source.destroy(error)
      const lines = new WatchStream(source, nothing)
      const reading = readingOf(lines)
      await new Promise((resolve) => lines.once('close', resolve))
      expect(reading).toMatchObject({ text: 'a\nb', hasEnded: false })
    },
  )

  test('of a source that has been read to its end are none, and end (13.3)', async () => {
    const source = new PassThrough()
    source.end('a\n')
    await text(source)
    expect(await text(new WatchStream(source, nothing))).toBe('')
  })

  test.each(['between two lines', 'in a line that ends', 'after their end'])(
    'that are cut %s and not read are dropped after half a second (13.4)',
    async (where) => {
      const { source, lines } = watching()
      await arrive(source, [where === 'in a line that ends' ? 'a' : 'a\n'])
      if (where === 'after their end') source.end()
      await turn()
      lines.cut(WORD)
      await arrive(source, where === 'in a line that ends' ? ['\n'] : [])
      const cutMs = performance.now()
      await Promise.race([new Promise((resolve) => lines.once('close', resolve)), delay(5000)])
      // So that the connection of the client is not kept for what it does not read.
      expect(lines.errored).toBeInstanceOf(BodyCut)
      expect(performance.now() - cutMs).toBeGreaterThan(300)
    },
  )
})
