// The frames of a SPDY/3.1 client, as exec and port-forward of the API server need them: streams are opened, and data
// is sent. What comes back is not read: the bytes of data frames are visible in it as they are.

/** Opens streams of one connection. */
export interface SpdyWriter {
  /** A frame that opens the stream of that number, which is odd and higher than those before. */
  readonly open: (id: number, headers: Readonly<Record<string, string>>) => Buffer
  /** A frame with data of an open stream. */
  readonly data: (id: number, text: string) => Buffer
}

const VERSION = 0x8003
const SYN_STREAM = 1

/** Begins a zlib stream without a dictionary, which the API server does not demand. */
const ZLIB_HEAD = Buffer.from([0x78, 0x01])

/** A writer for a new connection. */
export function createSpdyWriter(): SpdyWriter {
  let isFirst = true
  return {
    open: (id, headers) => {
      // The empty block lets a reader have what is before it.
      const blocks = [storedBlock(headerBlock(headers)), storedBlock(Buffer.alloc(0))]
      const compressed = Buffer.concat(isFirst ? [ZLIB_HEAD, ...blocks] : blocks)
      isFirst = false
      // The stream that it belongs to, priority and slot are 0.
      const body = Buffer.concat([numbers(id, 0), Buffer.alloc(2), compressed])
      const head = Buffer.alloc(4)
      head.writeUInt16BE(VERSION, 0)
      head.writeUInt16BE(SYN_STREAM, 2)
      return Buffer.concat([head, numbers(body.length), body])
    },
    data: (id, text) => {
      const bytes = Buffer.from(text)
      return Buffer.concat([numbers(id, bytes.length), bytes])
    },
  }
}

/** All headers of the API server's streams have one value. */
function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(headers)
  const texts = pairs.flat().map((text) => Buffer.from(text))
  return Buffer.concat([
    numbers(pairs.length),
    ...texts.flatMap((one) => [numbers(one.length), one]),
  ])
}

/** A block of deflate without compression: all headers of a connection are one stream of such blocks. */
function storedBlock(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt16LE(bytes.length, 1)
  head.writeUInt16LE(0xffff - bytes.length, 3)
  return Buffer.concat([head, bytes])
}

/** Numbers of 32 bits; the flags in the first byte of a length are 0. */
function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at)
  return bytes
}
