// DATA frames of a byte each are joined, and read in many turns of the event loop (contract 13.3).
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { ClientHttp2Stream } from 'node:http2'
import { expect, onTestFinished, test } from 'vitest'
import { Http2Pool } from '../../../../src/kube/proxy/http2-pool.ts'
import { JoinedFrames } from '../../../../src/kube/proxy/http2-pieces.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { startHostileTarget } from '../../../support/hostile-target.ts'
import { call } from './upstream-server.ts'

const FRAMES = 300_000
/** Frames of a byte in 64 KiB, which Node reads at once. */
const FRAMES_IN_READ = 65_536 / 10

test('a flood of frames of one byte is joined, and shared out to many turns (13.3)', async () => {
  const target = await startHostileTarget()
  onTestFinished(target.stop)
  await target.choose('DATA frames of one byte')
  const tls = { ca: target.caPem }
  const pool = new Http2Pool({ origin: target.urls.frames, tls, clock: systemClock() })
  onTestFinished(() => pool.close())
  const answer = await pool.send(call({ method: 'GET', isLongRunning: true }))
  if (answer === null) throw new Error('the target speaks HTTP/2')
  let bytes = 0
  let pieces = 0
  answer.body.on('data', (piece: Buffer) => {
    bytes += piece.length
    pieces += 1
  })
  let mostInTurn = 0
  const received = (): number => bytes
  for (let before = 0; before < FRAMES; before = received()) {
    await turn()
    mostInTurn = Math.max(mostInTurn, received() - before)
  }
  answer.body.destroy()
  expect(pieces).toBeLessThan(bytes / 20)
  expect(mostInTurn).toBeLessThan(2.5 * FRAMES_IN_READ)
})

/** A stream whose frames a test pushes. */
async function framed() {
  const stream = new Readable({ read: () => undefined })
  const frames = new JoinedFrames(stream as ClientHttp2Stream, () => undefined)
  const pieces: string[] = []
  stream.on('data', (piece: Buffer) => {
    pieces.push(piece.toString())
  })
  // Only then the stream flows.
  await turn()
  const push = (text: string): boolean[] =>
    text.split('').map((letter) => stream.push(Buffer.from(letter)))
  return { stream, frames, pieces, push }
}

test('the first frame of a turn passes at once, the others together in the next turn', async () => {
  const { pieces, push } = await framed()
  push('abc')
  expect(pieces).toEqual(['a'])
  await turn()
  expect(pieces).toEqual(['a', 'bc'])
  await turn()
  push('de')
  expect(pieces).toEqual(['a', 'bc', 'd'])
})

test('a server waits while the reader has enough, and what came is one piece then (13.3)', async () => {
  const { stream, frames, pieces, push } = await framed()
  push('a')
  stream.pause()
  frames.hold()
  await turn()
  expect(push('b'.repeat(1000))).toEqual(Array.from({ length: 1000 }, () => false))
  await turn()
  expect(stream.readableLength, 'nothing is kept frame by frame').toBe(0)
  stream.resume()
  frames.release()
  await turn()
  expect(pieces).toEqual(['a', 'b'.repeat(1000)])
  expect(push('c').concat(push('d'))).toEqual([true, true])
})

test('the server waits once 64 KiB are held for the next turn', async () => {
  const { push, stream } = await framed()
  push('a')
  const half = Buffer.alloc(32_768)
  expect([stream.push(half), stream.push(half), stream.push(half)]).toEqual([true, false, false])
})

test('bytes that are held come before the end, and are there after an error', async () => {
  const ended = await framed()
  ended.push('abc')
  ended.stream.push(null)
  await once(ended.stream, 'end')
  expect(ended.pieces).toEqual(['a', 'bc'])
  const broken = await framed()
  broken.push('abc')
  broken.stream.once('error', () => undefined).destroy(new Error('broken'))
  broken.stream.push(null)
  await turn()
  expect(broken.frames.takeHeld().toString()).toBe('bc')
})
