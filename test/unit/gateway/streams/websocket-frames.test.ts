import { expect, test } from 'vitest'
import { FrameCounter, closeFrame } from '../../../../src/gateway/streams/websocket-frames.ts'

const frame = (length: number, isMasked = false): Buffer => {
  const mask = isMasked ? 0x80 : 0
  const head =
    length < 126
      ? Buffer.from([0x82, mask | length])
      : length < 65_536
        ? Buffer.from([0x82, mask | 126, length >> 8, length & 255])
        : Buffer.from([
            0x82,
            mask | 127,
            0,
            0,
            0,
            0,
            0,
            length >> 16,
            (length >> 8) & 255,
            length & 255,
          ])
  const key = Buffer.alloc(isMasked ? 4 : 0, 7)
  // Bytes that would be heads, if they were read as such.
  return Buffer.concat([head, key, Buffer.alloc(length, 0x82)])
}

/** Reads the whole chunk. */
function readAll(frames: FrameCounter, chunk: Buffer): void {
  for (let at = 0; at < chunk.length; ) at += frames.readToBoundary(chunk.subarray(at))
}

const LENGTHS = [0, 1, 125, 126, 300, 65_535, 65_536]

test.each(LENGTHS.flatMap((length) => [false, true].map((isMasked) => ({ length, isMasked }))))(
  'a frame of $length bytes ends where it ends, however it is cut (masked: $isMasked) (13.4)',
  ({ length, isMasked }) => {
    const whole = frame(length, isMasked)
    const cuts = [1, 2, 3, 5, 9, 13, whole.length - 1].filter((at) => at < whole.length)
    for (const at of cuts) {
      const frames = new FrameCounter()
      readAll(frames, whole.subarray(0, at))
      expect({ at, isAtBoundary: frames.isAtBoundary }).toEqual({ at, isAtBoundary: false })
      const rest = Buffer.concat([whole.subarray(at), frame(3)])
      expect(frames.readToBoundary(rest)).toBe(whole.length - at)
      expect(frames.isAtBoundary).toBe(true)
    }
  },
)

test('many frames in one chunk are read to their ends (13.4)', () => {
  const frames = new FrameCounter()
  readAll(frames, Buffer.concat(LENGTHS.map((length) => frame(length))))
  expect(frames.isAtBoundary).toBe(true)
  readAll(frames, frame(10).subarray(0, 5))
  expect(frames.isAtBoundary).toBe(false)
})

test('the close frame has code 1008 and the reason, 123 bytes at most (13.4)', () => {
  expect(closeFrame('no')).toEqual(Buffer.from([0x88, 4, 0x03, 0xf0, 0x6e, 0x6f]))
  expect(closeFrame('x'.repeat(200))).toHaveLength(127)
})
