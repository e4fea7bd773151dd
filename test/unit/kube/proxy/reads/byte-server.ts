// A TCP server that writes any bytes, as no HTTP library does.
import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A server that listens until the test is finished. */
interface ByteServer {
  readonly port: number
  /** Its address, by plain HTTP. */
  readonly url: string
  /** The connections so far, also closed ones. */
  readonly sockets: readonly Socket[]
  /** The bytes that came so far, one text for each piece. */
  readonly received: readonly string[]
}

/**
 * Starts a server.
 *
 * @param answer called for each piece of bytes, with its number from 1 on: clients send a request in one
 */
export async function startByteServer(
  answer: (socket: Socket, nth: number) => void,
): Promise<ByteServer> {
  const sockets: Socket[] = []
  const received: string[] = []
  const server = createServer((socket) => {
    sockets.push(socket.setNoDelay(true).on('error', () => undefined))
    socket.on('data', (bytes: Buffer) => {
      received.push(bytes.toString('latin1'))
      answer(socket, received.length)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}`, sockets, received }
}
