// What a parser has put back comes first, and the rest stays at the server (contract 13.3).
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { readInParts } from '../../../../src/kube/client/paced-socket.ts'

const FLOOD = Buffer.from(Array.from({ length: 65_536 }, (_, at) => at % 251))

/** A socket to a server that sends this as long as it is read. */
async function flooded(flood: Buffer, times = Number.POSITIVE_INFINITY): Promise<Socket> {
  const server = createServer((socket) => {
    let sent = 0
    const more = (): void => {
      while (sent < times && !socket.destroyed) {
        sent += 1
        if (!socket.write(flood)) return void socket.once('drain', more)
      }
      socket.end()
    }
    socket.on('error', () => undefined)
    more()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  return socket
}

/** Reads as a parser does that is paused after so many bytes; returns the bytes that it has parsed. */
async function parsed(socket: Socket, bytesAtATime: number, turns: number): Promise<Buffer> {
  const all: Buffer[] = []
  for (let at = 0; at < turns && !socket.destroyed; at += 1) {
    const bytes = socket.read() as Buffer | null
    await turn()
    if (bytes === null) continue
    all.push(bytes.subarray(0, bytesAtATime))
    if (bytes.length > bytesAtATime) socket.unshift(bytes.subarray(bytesAtATime))
  }
  return Buffer.concat(all)
}

test('a parser that is paused again and again holds no more than one read of the socket (13.3)', async () => {
  const socket = readInParts(await flooded(FLOOD))
  await once(socket, 'readable')
  const bytes = await parsed(socket, 300, 500)
  expect(socket.readableLength).toBeLessThan(4 * FLOOD.length)
  const whole = Buffer.concat(Array.from({ length: 4 }, () => FLOOD))
  expect(bytes.equals(whole.subarray(0, bytes.length)), 'in their order').toBe(true)
  expect(bytes.length).toBeGreaterThan(400 * 300)
})

test('all is read to its end, in parts of 16 KiB', async () => {
  const socket = readInParts(await flooded(FLOOD, 20))
  const lengths: number[] = []
  socket.on('readable', () => {
    for (let bytes = socket.read() as Buffer | null; bytes; bytes = socket.read() as Buffer | null)
      lengths.push(bytes.length)
  })
  await once(socket, 'end')
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(20 * FLOOD.length)
  expect(Math.max(...lengths)).toBeLessThanOrEqual(16_384)
})
