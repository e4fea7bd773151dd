// Clients that read nothing of their responses while they go on sending (contract 13.3): Node's timeout of a connection begins
// again with each byte from them, also with empty lines between requests. A write is read once all of it is, as in sessions.
import type { Socket } from 'node:net'

/** What a connection had done by the last look. */
interface Progress {
  readonly received: number
  readonly sent: number
}

/** Finds such clients, look by look. */
export class StalledClients {
  #before = new Map<Socket, Progress>()

  /** The connections on which bytes have come since the last look, while none of those that wait were sent. */
  look(connections: Iterable<Socket>): readonly Socket[] {
    const now = new Map<Socket, Progress>()
    const stalled: Socket[] = []
    for (const socket of connections) {
      if (socket.writableLength === 0) continue
      const received = socket.bytesRead
      const sent = socket.bytesWritten - socket.writableLength
      const before = this.#before.get(socket)
      const isStalled = before?.sent === sent && before.received < received
      if (isStalled) stalled.push(socket)
      else now.set(socket, { received, sent })
    }
    this.#before = now
    return stalled
  }
}
