import type { Readable } from 'node:stream'

/** Bytes of a body that is parsed here, at most (contract 13.3): what the API server takes. */
export const LONGEST_PARSED_BODY = 3 * 1024 * 1024

/**
 * Reads a body whole; null when it is longer than what is parsed here. The rest is then left unread.
 *
 * @throws Error when the client breaks off
 */
export async function readBody(body: Readable): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > LONGEST_PARSED_BODY) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces, length)
}
