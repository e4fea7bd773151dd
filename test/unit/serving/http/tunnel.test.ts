// The client's side of a tunnel: one that reads nothing is cut, one that reads slowly or that nothing waits for is not.
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { served } from '../../gateway/listening-server.ts'

const SOON = { withinMs: 10_000 }
const STALLED_MS = 1000

/** A tunnel from a server with a short limit, and the streams at its other end. */
async function opened() {
  const [body, tunnel] = [new PassThrough(), new PassThrough()]
  tunnel.resume()
  const { connect } = await served(
    async () => ({ status: 101, headers: { connection: 'Upgrade', upgrade: 'x' }, body, tunnel }),
    { stalledMs: STALLED_MS },
  )
  const socket = await connect()
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  return { body, tunnel, socket }
}

const CHUNKS = 500
const CHUNK_BYTES = 65_536
const FLOOD_BYTES = CHUNKS * CHUNK_BYTES

/** Writes more than the connection holds, as it is read, 32 MB at most. */
async function flood(body: PassThrough): Promise<void> {
  const chunk = Buffer.alloc(CHUNK_BYTES)
  const closed = once(body, 'close')
  for (let at = 0; at < CHUNKS && !body.destroyed; at += 1) {
    if (body.write(chunk)) continue
    await Promise.race([once(body, 'drain'), closed])
  }
}

const readHead = async (socket: TLSSocket): Promise<void> => {
  expect(String((await once(socket, 'data'))[0])).toContain('101')
}

test('a client that reads nothing while something waits for it is cut, whatever it sends (13.3)', async () => {
  const { body, tunnel, socket } = await opened()
  await readHead(socket)
  socket.pause()
  const pings = setInterval(() => socket.write('ping'), STALLED_MS / 10)
  try {
    await flood(body)
    expect(body.destroyed).toBe(true)
    await eventually('the tunnel ends as well', () => tunnel.destroyed || undefined, SOON)
  } finally {
    clearInterval(pings)
  }
})

test('a tunnel that ended before it is opened ends the connection (13.4)', async () => {
  const [body, tunnel] = [new PassThrough(), new PassThrough()]
  body.destroy()
  await once(body, 'close')
  const { connect } = await served(async () => ({ status: 101, headers: {}, body, tunnel }))
  const socket = await connect()
  socket.on('error', () => undefined).resume()
  socket.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  await once(socket, 'close')
  expect(tunnel.destroyed).toBe(true)
})

test('a client for which nothing waits is not cut, nor one that reads slowly (13.3)', async () => {
  const { body, socket } = await opened()
  await readHead(socket)
  await delay(1.5 * STALLED_MS)
  expect(body.destroyed).toBe(false)
  let received = 0
  let isOver = false
  const startMs = performance.now()
  // By a rate, which makes up for what a busy machine delays: pauses alone would add up to a client that reads nothing.
  socket.on('data', (piece: Buffer) => {
    received += piece.length
    const aheadMs = (received / FLOOD_BYTES) * 2.5 * STALLED_MS - (performance.now() - startMs)
    if (isOver || aheadMs <= 0) return
    socket.pause()
    setTimeout(() => socket.resume(), aheadMs)
  })
  const flooding = flood(body)
  await delay(2.5 * STALLED_MS)
  isOver = true
  await flooding
  expect(body.destroyed).toBe(false)
  body.end()
  await eventually('everything arrives', () => received === FLOOD_BYTES || undefined, SOON)
})

test('a write to a client that is gone ends both sides (13.3)', async () => {
  const { body, tunnel, socket } = await opened()
  await readHead(socket)
  socket.destroy()
  await eventually('both end', () => (body.destroyed && tunnel.destroyed) || undefined, SOON)
})

test.each([
  { name: 'also open', isTunnelGone: false },
  { name: 'gone', isTunnelGone: true },
])(
  'a client that still sends gets all of an ended body, with the way to the server $name (13.3)',
  async ({ isTunnelGone }) => {
    const { body, tunnel, socket } = await opened()
    await readHead(socket)
    socket.pause()
    if (isTunnelGone) tunnel.destroy()
    const sent = Buffer.alloc(1_500_000, 1)
    body.end(sent)
    // Longer than the other direction may take, and within the limit of a client that reads nothing.
    for (let pings = 0; pings < 5; pings += 1) {
      await delay(STALLED_MS / 10)
      socket.write('ping')
    }
    const received: Buffer[] = []
    socket.on('data', (piece: Buffer) => received.push(piece))
    socket.resume()
    await eventually(
      'everything arrives',
      () => Buffer.concat(received).equals(sent) || undefined,
      SOON,
    )
  },
)
