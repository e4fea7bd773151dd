// A watch is passed on as it comes, and can be ended between two lines (contract 13.3, 13.4).
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { WatchStream } from '../../../../src/gateway/streams/watch-stream.ts'

const WORD = Buffer.from('{"type":"ERROR"}\n')
/** Where an endless source of a test ends: code that holds it all must fail, not hang. */
const MOST = 64 * 1024 * 1024
const nothing = (): void => undefined

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
    expect(await text(source.pipe(new WatchStream(nothing)))).toBe(pieces.join(''))
  })

  test('are passed on before they end, and a line without an end is not held (13.3)', async () => {
    const lines = new WatchStream(nothing)
    const piece = Buffer.alloc(16_384, ' ')
    let passed = 0
    let mostHeld = 0
    lines.on('data', ({ length }: Buffer) => (passed += length))
    for (let count = 1; count <= 1000; count += 1) {
      lines.write(piece)
      await turn()
      mostHeld = Math.max(mostHeld, count * piece.length - passed)
    }
    expect(mostHeld).toBeLessThanOrEqual(2 * piece.length)
  })

  test('without an end are not taken from a target whose client does not read (13.3)', async () => {
    const lines = new WatchStream(nothing)
    let given = 0
    const endless = new Readable({
      read() {
        given += 16_384
        this.push(given > MOST ? null : Buffer.alloc(16_384, ' '))
      },
    })
    endless.pipe(lines)
    for (let count = 0; count < 1000; count += 1) await turn()
    endless.destroy()
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
    const lines = new WatchStream(nothing)
    let cuts = 0
    const done = (): void => void (cuts += 1)
    for (const piece of pieces) lines.write(Buffer.from(piece))
    lines.cut(WORD, done)
    lines.cut(WORD, done)
    for (const piece of later ?? []) lines.write(Buffer.from(piece))
    expect({ cuts, isCut: lines.isCut }).toEqual({ cuts: 1, isCut: true })
    lines.write(Buffer.from('later\n'))
    expect(await text(lines)).toBe(`${passed}${WORD.toString()}`)
  })

  test('end without a line when the gateway adds none', async () => {
    const lines = new WatchStream(nothing)
    lines.write(Buffer.from('a\nb'))
    lines.cut(Buffer.alloc(0), nothing)
    lines.write(Buffer.from('c\nd'))
    expect(await text(lines)).toBe('a\nbc\n')
  })

  test('end within a line that does not end in 200 ms, without a line of the gateway and not as if complete (13.4)', async () => {
    const lines = new WatchStream(nothing)
    const reading = readingOf(lines)
    let cuts = 0
    lines.write(Buffer.from('a\nb'))
    lines.cut(WORD, () => void (cuts += 1))
    const startedMs = performance.now()
    while (!reading.isClosed && performance.now() - startedMs < 5000) {
      lines.write(Buffer.from('b'))
      await delay(5)
    }
    expect(reading).toMatchObject({ hasEnded: false, isClosed: true })
    expect(reading.text).toMatch(/^a\nb+$/)
    expect(cuts).toBe(1)
    expect(performance.now() - startedMs).toBeGreaterThan(150)
  })

  test('report each chunk that passes, and none after the cut (14.1)', async () => {
    let pieces = 0
    const lines = new WatchStream(() => {
      pieces += 1
    })
    for (const piece of ['a', 'b\n', 'c\n']) lines.write(Buffer.from(piece))
    lines.cut(WORD, nothing)
    lines.write(Buffer.from('d\n'))
    await text(lines)
    expect(pieces).toBe(3)
  })
})
