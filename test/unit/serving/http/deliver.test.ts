// Sending responses (contract 13.3): in few writes, with back-pressure, and never with an end that looks complete
// after the body broke off.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { Readable } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { ReceivedBody } from '../../../../src/kube/proxy/received-body.ts'
import { asAbortSignal, type EndSignal } from '../../../../src/runtime/concurrency/end-signal.ts'
import { type Answer, BodyCut } from '../../../../src/serving/http/answer.ts'
import { eventually } from '../../../support/eventually.ts'
import { served } from '../../gateway/listening-server.ts'

const TEXT = Buffer.from('hello')
const LENGTH = { 'content-length': TEXT.length }

const APPLICATION_DATA = 23

/** The number of TLS data records in these bytes; each write of the server is one. */
function recordsIn(bytes: Buffer): number {
  let records = 0
  for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt16BE(at + 3))
    if (bytes.readUInt8(at) === APPLICATION_DATA) records += 1
  return records
}

/** A TCP relay to a port, with the bytes that it received from there. */
async function relayTo(port: number) {
  const pieces: Buffer[] = []
  const relay = createServer((client) => {
    const behind = connect({ host: '127.0.0.1', port })
    behind.on('data', (piece: Buffer) => pieces.push(piece))
    client.pipe(behind).pipe(client)
    client.on('error', () => behind.destroy())
    behind.on('error', () => client.destroy())
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  onTestFinished(() => void relay.close())
  return { port: (relay.address() as AddressInfo).port, pieces }
}

/** The number of writes of the second response on a connection; TLS tickets follow the first. */
async function writesOf(answer: () => Answer): Promise<number> {
  const { port } = await served(async () => answer())
  const relay = await relayTo(port)
  const socket = connectTls({ host: '127.0.0.1', port: relay.port, rejectUnauthorized: false })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  const ask = async (): Promise<void> => {
    let text = ''
    socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    while (!text.endsWith('hello')) text += String((await once(socket, 'data'))[0])
  }
  await ask()
  relay.pieces.length = 0
  await ask()
  return recordsIn(Buffer.concat(relay.pieces))
}

test.each<{ name: string; answer: () => Answer }>([
  { name: 'a whole body', answer: () => ({ status: 200, headers: {}, body: TEXT }) },
  {
    name: 'a streamed body that is already complete',
    answer: () => ({ status: 200, headers: LENGTH, body: Readable.from([TEXT]) }),
  },
])('$name is sent in one write with its headers (13.3)', async ({ answer }) => {
  expect(await writesOf(answer)).toBe(1)
})

test('headers are sent before a body without data', async () => {
  const body = new Readable({ read: () => undefined })
  const { connect: open } = await served(async () => ({ status: 200, headers: {}, body }))
  const socket = await open()
  socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
  const [head] = (await once(socket, 'data')) as [Buffer]
  expect(head.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n$/)
})

test.each<{ name: string; breakBody: (body: Readable) => void }>([
  { name: 'fails', breakBody: (body) => body.destroy(new Error('broken')) },
  { name: 'is closed before its end', breakBody: (body) => body.destroy() },
])(
  'a body that $name breaks the connection instead of ending the response',
  async ({ breakBody }) => {
    const body = new Readable({ read: () => undefined })
    const { connect: open } = await served(async () => ({ status: 200, headers: {}, body }))
    const socket = await open()
    let text = ''
    socket.on('error', () => undefined).on('data', (piece: Buffer) => (text += piece.toString()))
    socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    body.push('half')
    await once(socket, 'data')
    const closed = once(socket, 'close')
    breakBody(body)
    await closed
    expect(text).not.toContain('\r\n0\r\n')
  },
)

test.each([
  { name: 'has broken off already', isGone: false },
  { name: 'is for a client that has left', isGone: true },
])('a body that $name is destroyed, and the connection ends', async ({ isGone }) => {
  const body = new Readable({ read: () => undefined })
  const asked = Promise.withResolvers<EndSignal>()
  const answered = Promise.withResolvers<undefined>()
  const { connect: open } = await served(async ({ gone }) => {
    asked.resolve(gone)
    await answered.promise
    return { status: 200, headers: {}, body }
  })
  const socket = await open()
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
  const gone = await asked.promise
  const closed = once(socket, 'close')
  if (isGone) {
    socket.destroy()
    await once(asAbortSignal(gone), 'abort')
  } else body.destroy()
  const isDestroyed = once(body, 'close')
  answered.resolve(undefined)
  await Promise.all([closed, isDestroyed])
  expect(body.destroyed).toBe(true)
})

test('a body is paused while the client does not read', async () => {
  const pieces = 1000
  let given = 0
  const body = new Readable({
    read() {
      given += 1
      // With an end, so that a server that reads on fails the test and does not fill the memory.
      this.push(given < pieces ? Buffer.alloc(65_536) : null)
    },
  })
  const { connect: open } = await served(async () => ({ status: 200, headers: {}, body }))
  const socket = await open()
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
  await Promise.race([once(body, 'pause'), once(body, 'end')])
  expect(given).toBeLessThan(pieces)
  const resumed = once(body, 'resume')
  socket.resume()
  await resumed
  const gone = once(body, 'close')
  socket.destroy()
  await gone
})

class PushedBody extends ReceivedBody {
  override _read(): void {
    // What it has is pushed by the test.
  }
}

test('bytes that arrived before a body broke off are sent before the connection ends, without an end (13.3)', async () => {
  // More than the connection holds.
  const length = 24_000_000
  const body = new PushedBody()
  body.push(Buffer.alloc(length, 'x'))
  body.breakOffAfterRest(new Error('read ECONNRESET'))
  const server = await served(async () => ({ status: 200, headers: {}, body }))
  const socket = await server.connect()
  socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
  await new Promise((resolve) => body.once('close', resolve))
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part))
  socket.on('error', () => undefined)
  await once(socket, 'close')
  const text = Buffer.concat(parts).toString('latin1')
  const start = text.indexOf('xxx')
  expect(text.lastIndexOf('x') - start + 1).toBe(length)
  expect(text).not.toMatch(/0\r\n\r\n$/)
})

test('the connection of a body that is cut ends although its client reads nothing (13.4)', async () => {
  const body = new PushedBody()
  // More than the connection holds.
  body.push(Buffer.alloc(24_000_000, 'x'))
  body.push('y')
  let ended: EndSignal | null = null
  const server = await served(async (call) => {
    ended = call.ended
    return { status: 200, headers: {}, body }
  })
  const socket = await server.connect()
  socket.pause().on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
  await once(body, 'pause')
  body.destroy(new BodyCut('its key has ended'))
  await eventually('the request has ended', () => ended?.aborted || undefined, {
    withinMs: 10_000,
  })
})
