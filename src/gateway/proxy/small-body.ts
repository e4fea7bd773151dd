// A small body of a request, which is read before anything is sent (contract 13.3): it can be sent again after a refused
// credential, and one that breaks off never reaches the API server. Most writes have one.
import type { HttpRequest } from '../../serving/http/request.ts'

/** Bytes of a body that is held: a quarter of what the socket buffers anyway. */
const MOST_BYTES = 16_384

/** Whether there is a body, small by its length. One that waits for `100 Continue`, or comes in chunks, is not. */
export function isSmallBody({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  const { expect, 'content-length': length, 'transfer-encoding': encoding } = headers
  if (expect !== undefined || encoding !== undefined) return false
  const bytes = Number(length ?? 0)
  return bytes > 0 && bytes <= MOST_BYTES
}

/** Reads a small body. `brokenOff` = its client is gone. */
export function smallBody({ body }: Pick<HttpRequest, 'body'>): Promise<Buffer | 'brokenOff'> {
  const { promise, resolve } = Promise.withResolvers<Buffer | 'brokenOff'>()
  const pieces: Buffer[] = []
  const breakOff = (): void => resolve('brokenOff')
  if (body.destroyed) breakOff()
  body
    .on('data', (piece: Buffer) => void pieces.push(piece))
    .once('end', () => resolve(Buffer.concat(pieces)))
    .once('error', breakOff)
    .once('close', breakOff)
  return promise
}
