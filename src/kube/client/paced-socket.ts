// A socket that undici reads in parts. Whenever its parser is paused, undici puts back what it has not parsed, and
// takes all that has come the next time: a server whose chunks hold a byte each would fill the memory, and be copied
// again and again.
import type { Socket } from 'node:net'
import type { Pool } from 'undici'
import { buildConnector } from './undici.ts'

/** Bytes that are read at once: a record of TLS. */
const PART_BYTES = 16_384

/** Creates undici's connector with these TLS options; its sockets are read in parts. */
export function pacedConnector(
  options: NonNullable<Pool.Options['connect']> & object,
): ReturnType<typeof buildConnector> {
  const connect = buildConnector(options as Parameters<typeof buildConnector>[0])
  return (target, connected) =>
    connect(target, (...[error, socket]) => {
      // undici gives no socket at all after an error.
      if (error === null) connected(null, readInParts(socket))
      else connected(error, null)
    })
}

/**
 * Changes the socket's `read` without a size: it gives at most 16 KiB, and what was put back comes back without a copy.
 * What has not been read stops the connection, as in any stream.
 *
 * @returns the socket
 */
export function readInParts<Read extends Socket>(socket: Read): Read {
  const read = socket.read.bind(socket)
  const unshift = socket.unshift.bind(socket)
  let returnedBytes = 0
  socket.unshift = (bytes: Buffer, ...others) => {
    returnedBytes = bytes.length
    unshift(bytes, ...others)
  }
  socket.read = (size) => {
    const part = Math.min(returnedBytes || PART_BYTES, socket.readableLength)
    returnedBytes = 0
    // Nothing there: only a read without a size asks for more.
    return read(size ?? (part || undefined)) as unknown
  }
  return socket
}
