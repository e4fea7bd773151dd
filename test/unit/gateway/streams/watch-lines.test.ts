// A watch is passed on line by line, so that it can be ended between two lines (contract 13.4).
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { WatchStream } from '../../../../src/gateway/streams/terminate.ts'

const WORD = Buffer.from('{"type":"ERROR"}\n')

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
    expect(await text(source.pipe(new WatchStream(() => undefined)))).toBe(pieces.join(''))
  })

  test.each([
    { name: 'before the first line', pieces: [], passed: '' },
    { name: 'between two lines', pieces: ['a\n', 'b\n'], passed: 'a\nb\n' },
    { name: 'in a line', pieces: ['a\n', 'b'], passed: 'a\n' },
    { name: 'in a line that came in pieces', pieces: ['a\nb', 'c', 'd'], passed: 'a\n' },
  ])('end with a line of the gateway when cut $name (13.4)', async ({ pieces, passed }) => {
    const lines = new WatchStream(() => undefined)
    for (const piece of pieces) lines.write(Buffer.from(piece))
    lines.cut(WORD)
    lines.cut(WORD)
    lines.write(Buffer.from('later\n'))
    expect(await text(lines)).toBe(`${passed}${WORD.toString()}`)
  })

  test('end without a line when the gateway adds none', async () => {
    const lines = new WatchStream(() => undefined)
    lines.write(Buffer.from('a\nb'))
    lines.cut(Buffer.alloc(0))
    expect(await text(lines)).toBe('a\n')
  })

  test('report each chunk that passes, and none after the cut (14.1)', async () => {
    let pieces = 0
    const lines = new WatchStream(() => {
      pieces += 1
    })
    for (const piece of ['a', 'b\n', 'c\n']) lines.write(Buffer.from(piece))
    lines.cut(WORD)
    lines.write(Buffer.from('d\n'))
    await text(lines)
    expect(pieces).toBe(3)
  })
})
