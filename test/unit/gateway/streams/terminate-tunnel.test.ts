import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ForwardBuffer } from '../../../../src/gateway/streams/forward-buffer.ts'
import { terminableTunnel } from '../../../../src/gateway/streams/terminate-tunnel.ts'
import { closeFrame } from '../../../../src/gateway/streams/websocket-frames.ts'
import type { UpgradeProtocol } from '../../../../src/kube/proxy/types.ts'
import { eventually } from '../../../support/eventually.ts'

const SOON = { withinMs: 5000 }

/** A tunnel between two streams, with its cut. */
function tunnelOf(
  upgrade: UpgradeProtocol,
  {
    highWaterMark,
    forwardBuffer = new ForwardBuffer(2 ** 28),
  }: {
    readonly highWaterMark?: number
    readonly forwardBuffer?: ForwardBuffer
  } = {},
) {
  const source = new PassThrough({ highWaterMark })
  const sink = new PassThrough()
  let cut: (reason: 'revoked') => void = () => expect.fail('nothing flows')
  let isDone = false
  const { body, tunnel } = terminableTunnel(
    { status: 101, headers: {}, body: source, tunnel: sink },
    { body: source, tunnel: sink },
    {
      upgrade,
      buffer: forwardBuffer,
      flows: (_, end) => (cut = end),
      flowed: () => undefined,
      done: () => (isDone = true),
      textOf: (reason) => reason,
    },
  )
  return {
    source,
    sink,
    forwardBuffer,
    body: body as Readable,
    tunnel: tunnel as Writable,
    cut: () => cut('revoked'),
    isDone: () => isDone,
  }
}

/** All that the stream hands out, piece by piece, as a connection gets it. */
async function piecesOf(stream: Readable): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = []
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  await once(stream, 'end')
  return pieces
}

const emptyFrames = (count: number): Buffer => Buffer.alloc(2 * count, Buffer.from([0x82, 0]))

const frameOf = (length: number): Buffer => {
  const head = Buffer.from([0x82, 126, length >> 8, length & 255])
  return Buffer.concat([head, Buffer.alloc(length, 0x82)])
}

test('a client that reads late still gets the close frame (13.4)', async () => {
  const { source, body, cut } = tunnelOf('websocket')
  const frame = Buffer.from([0x82, 1, 0])
  source.write(frame)
  await setImmediate()
  cut()
  // The connection to the API server has been closed by now.
  await setImmediate()
  await setImmediate()
  expect(source.destroyed).toBe(true)
  expect(await buffer(body)).toEqual(Buffer.concat([frame, closeFrame('revoked')]))
})

test('a chunk of frames of no length is handed out in 16 pieces at most, none before it is read for (13.3)', async () => {
  const { source, body } = tunnelOf('websocket')
  const sent = emptyFrames(32_768)
  source.write(sent)
  await setImmediate()
  expect(body.readableLength).toBeLessThanOrEqual(2)
  source.end()
  const pieces = await piecesOf(body)
  expect(pieces.length).toBeLessThanOrEqual(16)
  expect(Buffer.concat(pieces).equals(sent)).toBe(true)
})

test.each([1, 2, 7, 16_384, 65_536])(
  'no two frames end in one TLS record, in chunks of %i bytes (13.2)',
  async (size) => {
    const lengths = [5, 40_000, 300, 1, 20_000, 16_384, 60_000, 0, 0, 3]
    const frames = lengths.map((length) =>
      length < 126 ? Buffer.alloc(length + 2, Buffer.from([0x82, length])) : frameOf(length),
    )
    const sent = Buffer.concat(frames)
    const { source, body } = tunnelOf('websocket', { highWaterMark: 2 ** 24 })
    for (let at = 0; at < sent.length; at += size) source.write(sent.subarray(at, at + size))
    source.end()
    await eventually(
      'all has arrived',
      () => source.readableEnded || source.isPaused() || undefined,
      SOON,
    )
    const ends = new Set<number>()
    let end = 0
    for (const frame of frames) ends.add((end += frame.length))
    let at = 0
    let writes = 0
    for (const { length } of await piecesOf(body)) {
      writes += 1
      for (let record = at; record < at + length; record += 16_384) {
        const last = Math.min(record + 16_384, at + length)
        const ending = [...ends].filter((one) => one > record && one <= last)
        expect(ending.length).toBeLessThanOrEqual(1)
      }
      at += length
    }
    expect(at).toBe(sent.length)
    // Far fewer than there are chunks: what waits together is written together.
    expect(writes).toBeLessThanOrEqual(40)
  },
)

test.each(['websocket', 'SPDY/3.1'] as const)(
  'bytes received before an error are delivered before the end, over %s (13.3)',
  async (upgrade) => {
    const { source, body, isDone } = tunnelOf(upgrade)
    const frames = Array.from({ length: 100 }, () => frameOf(30_000))
    for (const frame of frames) source.write(frame)
    await eventually('all has arrived', () => source.writableLength === 0 || undefined, SOON)
    // One chunk is still in the stream that breaks.
    source.pause()
    source.write(frameOf(1000))
    source.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
    const received = await buffer(body)
    expect(received.equals(Buffer.concat([...frames, frameOf(1000)]))).toBe(true)
    await eventually('the request is over', () => isDone() || undefined, SOON)
  },
)

test('a write that fails upstream ends nothing before the client has what was sent (13.3)', async () => {
  const { source, sink, body, tunnel } = tunnelOf('SPDY/3.1')
  source.write('sent before')
  await setImmediate()
  tunnel.write('ping')
  sink.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  source.end(' and after')
  expect(String(await buffer(body))).toBe('sent before and after')
  expect(tunnel.destroyed).toBe(true)
})

test('a session is read ahead by 8 MiB at most, and goes on as its client reads (13.3)', async () => {
  const { source, body, forwardBuffer } = tunnelOf('SPDY/3.1')
  const chunk = Buffer.alloc(65_536)
  const total = 400
  let sent = 0
  while (sent < total && source.write(chunk)) {
    sent += 1
    await setImmediate()
  }
  expect(forwardBuffer.held).toBeGreaterThan(8_000_000)
  expect(forwardBuffer.held).toBeLessThan(8.5 * 1024 ** 2)
  source.end()
  expect(await buffer(body)).toHaveLength((sent + 1) * chunk.length)
  expect(forwardBuffer.held).toBe(0)
})

test('all sessions together keep to the buffer, and the last one still passes everything (13.3)', async () => {
  const forwardBuffer = new ForwardBuffer(2 ** 25)
  const chunk = Buffer.alloc(65_536)
  const flood = async () => {
    const made = tunnelOf('SPDY/3.1', { forwardBuffer })
    for (let at = 0; at < 150 && made.source.write(chunk); at += 1) await setImmediate()
    return made
  }
  const unread = []
  for (let at = 0; at < 40; at += 1) unread.push(await flood())
  // Each may hold one chunk beyond.
  expect(forwardBuffer.held).toBeLessThan(2 ** 25 + 40 * 66_048)
  const { source, body } = tunnelOf('SPDY/3.1', { forwardBuffer })
  const received = buffer(body)
  for (let at = 0; at < 100; at += 1) if (!source.write(chunk)) await once(source, 'drain')
  source.end()
  expect(await received).toHaveLength(100 * chunk.length)
  for (const one of unread) one.body.destroy()
  await eventually('everything is released', () => forwardBuffer.held === 0 || undefined, SOON)
})

test('chunks of one byte are counted with what they cost (13.3)', async () => {
  const { source, forwardBuffer } = tunnelOf('SPDY/3.1', { highWaterMark: 1 })
  let chunks = 0
  while (chunks < 50_000 && source.write('x')) {
    chunks += 1
    if (chunks % 100 === 0) await setImmediate()
  }
  source.destroy()
  expect(chunks).toBeLessThan(17_000)
  expect(forwardBuffer.held).toBeLessThan(9_000_000)
})

test('a cut drops what waits, and the close frame follows the frame that is under way (13.4)', async () => {
  const { source, body, cut, forwardBuffer } = tunnelOf('websocket')
  const frame = frameOf(60_000)
  source.write(frame.subarray(0, 30_000))
  await setImmediate()
  body.read()
  source.write(Buffer.concat([frame.subarray(30_000, 50_000)]))
  await setImmediate()
  cut()
  source.write(Buffer.concat([frame.subarray(50_000), frame, frame]))
  const rest = await buffer(body)
  expect(rest.equals(Buffer.concat([frame.subarray(30_000), closeFrame('revoked')]))).toBe(true)
  expect(forwardBuffer.held).toBe(0)
})

test('no close frame follows a frame without an end, and the tunnel ends (13.4)', async () => {
  const { source, body, cut } = tunnelOf('websocket')
  source.write(frameOf(60_000).subarray(0, 30_000))
  await setImmediate()
  cut()
  await once(body, 'close')
  expect(body.readableEnded).toBe(false)
})
