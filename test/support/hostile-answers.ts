// Answers of an API server that means harm (contract 13.3): a table, read by the server that gives them and by the tests
// that measure what they do.

/** How an answer is carried. `h2`: by Node's server, which keeps to flow control; `frames`: as they are, whatever it says. */
export type HostileWire = 'h1' | 'h2' | 'frames'

/** The kind of request that the client sends. */
export type HostileAsk = 'read' | 'watch' | 'logs' | 'write' | 'review' | 'exec'

/** One answer. */
export interface HostileAnswer {
  readonly name: string
  readonly wire: HostileWire
  readonly asks: HostileAsk
  /** Sent once; `stream` is the number of the stream of HTTP/2. */
  readonly head: (stream: number) => Buffer
  /** Sent again and again, up to 48 MiB; absent = nothing. */
  readonly more?: (stream: number) => Buffer
  /** How the server ends the connection afterwards; absent = it stays open. */
  readonly afterwards?: 'end' | 'reset'
  /** Whether `make test` tries it. */
  readonly isSample?: true
}

const KIB = 1024
const text = (value: string) => (): Buffer => Buffer.from(value, 'latin1')
const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`

const JSON_CHUNKS =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'
const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
const SWITCHED =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
/** A body that no client may get as the answer to its request. */
export const FORGED = 'a forged answer'
const FORGED_ANSWER = `HTTP/1.1 200 OK\r\ncontent-length: ${FORGED.length}\r\n\r\n${FORGED}`

/** An ordinary answer of many pieces, by which the others are measured. */
export const ORDINARY: HostileAnswer = {
  name: 'ordinary lines',
  wire: 'h1',
  asks: 'watch',
  head: text(JSON_CHUNKS),
  more: text(chunk(`${'{"type":"ADDED"}'.padEnd(16 * KIB - 1)}\n`)),
}

const h1 = (
  name: string,
  asks: HostileAsk,
  head: string,
  more = '',
  rest: Pick<HostileAnswer, 'afterwards' | 'isSample'> = {},
): HostileAnswer => ({
  name,
  wire: 'h1',
  asks,
  head: text(head),
  ...(more === '' ? {} : { more: text(more) }),
  ...rest,
})

const LINES: readonly HostileAnswer[] = [
  h1('a watch line without an end', 'watch', JSON_CHUNKS, chunk(' '.repeat(16 * KIB)), {
    isSample: true,
  }),
  h1('a log line without an end', 'logs', JSON_CHUNKS, chunk('x'.repeat(16 * KIB))),
  h1('a list without an end', 'read', JSON_CHUNKS, chunk('[{},'.repeat(4 * KIB))),
  h1('a watch in chunks of one byte', 'watch', JSON_CHUNKS, chunk(' ').repeat(2 * KIB)),
  h1('a watch of empty lines', 'watch', JSON_CHUNKS, chunk('\n'.repeat(16 * KIB))),
  h1('a list in chunks of one byte', 'read', JSON_CHUNKS, chunk('1').repeat(2 * KIB)),
]

const HEADS: readonly HostileAnswer[] = [
  h1('endless 103', 'read', '', EARLY_HINTS.repeat(500), { isSample: true }),
  h1('endless 103 to a watch', 'watch', '', EARLY_HINTS.repeat(500)),
  h1('endless 103 to a write', 'write', '', EARLY_HINTS.repeat(500)),
  h1('endless 103 to an exec', 'exec', '', EARLY_HINTS.repeat(500)),
  h1('headers without an end', 'read', 'HTTP/1.1 200 OK\r\n', 'x-a: b\r\n'.repeat(2 * KIB)),
  h1('headers without an end to an exec', 'exec', 'HTTP/1.1 101 S\r\n', 'x: b\r\n'.repeat(2 * KIB)),
  h1('a header without an end', 'read', 'HTTP/1.1 200 OK\r\nx: ', 'y'.repeat(16 * KIB)),
  h1('a status line without an end', 'read', 'HTTP/1.1 200 ', 'y'.repeat(16 * KIB)),
  h1('trailers without an end', 'read', `${JSON_CHUNKS}0\r\n`, 'x-a: b\r\n'.repeat(2 * KIB)),
  h1(
    'trailers without an end to a watch',
    'watch',
    `${JSON_CHUNKS}0\r\n`,
    'x: b\r\n'.repeat(2 * KIB),
  ),
  h1('a chunk extension without an end', 'read', `${JSON_CHUNKS}1;`, 'a'.repeat(16 * KIB)),
  h1('no HTTP', 'read', '\0\0\0\0', '\0'.repeat(16 * KIB)),
  h1(
    '101 that nobody asked for',
    'read',
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    'x'.repeat(KIB),
  ),
]

const LENGTHS: readonly HostileAnswer[] = [
  h1(
    'more than its length',
    'read',
    `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}${FORGED_ANSWER.repeat(3)}`,
    '',
    { isSample: true },
  ),
  h1(
    'much more than its length',
    'read',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
    FORGED_ANSWER.repeat(200),
  ),
  h1('less than its length', 'read', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n{}', '', {
    afterwards: 'end',
  }),
  h1(
    'two lengths',
    'read',
    `HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 200\r\n\r\n{}${FORGED_ANSWER}`,
  ),
  h1(
    'a length and chunks',
    'read',
    `HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${FORGED_ANSWER}`,
  ),
  h1(
    'a length beyond all numbers',
    'read',
    `HTTP/1.1 200 OK\r\ncontent-length: ${'9'.repeat(40)}\r\n\r\n{}`,
  ),
  h1('a body behind a 204', 'read', `HTTP/1.1 204 No Content\r\n\r\n${FORGED_ANSWER}`),
]

const RESETS: readonly HostileAnswer[] = [
  ['before its answer', ''],
  ['in its status line', 'HTTP/1.1 2'],
  ['in its headers', 'HTTP/1.1 200 OK\r\nx: '],
  ['after its head', JSON_CHUNKS],
  ['in a chunk', `${JSON_CHUNKS}ffff\r\n{`],
  ['in the size of a chunk', `${JSON_CHUNKS}2\r\n{}\r\nff`],
  ['in its trailers', `${JSON_CHUNKS}0\r\nx: y`],
].flatMap(([when = '', head = '']) =>
  (['read', 'watch'] as const).map((asks) =>
    h1(`a reset ${when} to a ${asks}`, asks, head, '', { afterwards: 'reset' }),
  ),
)

const REVIEWS: readonly HostileAnswer[] = [
  ['nested lists', `{"spec":{},"status":{"a":${'['.repeat(1.4e6)}${']'.repeat(1.4e6)}}}`],
  ['many lists', `{"spec":{},"status":{"a":[${'[],'.repeat(9e5)}1]}}`],
  ['more than can be read', `{"spec":{},"a":"${'x'.repeat(8e6)}"}`],
].map(([name = '', body = '']) =>
  h1(
    `a self review of ${name}`,
    'review',
    `HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  ),
)

const TUNNELS: readonly HostileAnswer[] = [
  h1('empty WebSocket frames', 'exec', SWITCHED, '\x82\0'.repeat(8 * KIB), { isSample: true }),
  h1('WebSocket frames of one byte', 'exec', SWITCHED, '\x82\x01a'.repeat(4 * KIB)),
  h1(
    'a WebSocket frame without an end',
    'exec',
    `${SWITCHED}\x82\x7f\x7f${'\xff'.repeat(7)}`,
    'x'.repeat(16 * KIB),
  ),
  h1('a reset after the 101', 'exec', SWITCHED, '', { afterwards: 'reset' }),
  h1('a reset in a WebSocket frame', 'exec', `${SWITCHED}\x82\x7e\xff\xffabc`, '', {
    afterwards: 'reset',
  }),
  h1('101 without a protocol', 'exec', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'),
]

const POLITE: readonly HostileAnswer[] = [
  {
    name: 'a watch line without an end over h2',
    wire: 'h2',
    asks: 'watch',
    head: text(''),
    more: text(' '.repeat(16 * KIB)),
  },
  {
    name: 'a list without an end over h2',
    wire: 'h2',
    asks: 'read',
    head: text('['),
    more: text('{},'.repeat(4 * KIB)),
  },
  {
    name: 'a watch in frames of one byte over h2',
    wire: 'h2',
    asks: 'watch',
    head: text(''),
    more: text(' '),
  },
]

// Frames of HTTP/2 (RFC 9113).
const TYPES = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  continuation: 9,
} as const
/** A frame of HTTP/2. */
export function h2Frame(
  type: keyof typeof TYPES,
  flags: number,
  stream: number,
  body = '',
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(body.length, 0, 3)
  head.writeUInt8(TYPES[type], 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, Buffer.from(body, 'latin1')])
}
const many = (frame: Buffer, times: number): Buffer =>
  Buffer.concat(Array.from({ length: times }, () => frame))
const END_HEADERS = 4
/** `:status: 200`, in the static table of HPACK. */
const OK = '\x88'
/** `:status: 103`, as a literal that is not indexed. */
const HINTS = '\x08\x03103'
const ok = (stream: number): Buffer => h2Frame('headers', END_HEADERS, stream, OK)
const nothing = (): Buffer => Buffer.alloc(0)

const FRAMES: readonly HostileAnswer[] = [
  {
    name: 'empty DATA frames',
    wire: 'frames',
    asks: 'watch',
    head: ok,
    more: (stream) => many(h2Frame('data', 0, stream), 1000),
  },
  {
    name: 'DATA frames of one byte',
    wire: 'frames',
    asks: 'watch',
    head: ok,
    more: (stream) => many(h2Frame('data', 0, stream, ' '), 1000),
  },
  {
    name: 'DATA beyond the window',
    wire: 'frames',
    asks: 'watch',
    head: ok,
    more: (stream) => h2Frame('data', 0, stream, ' '.repeat(16 * KIB)),
  },
  {
    name: 'endless 103 over h2',
    wire: 'frames',
    asks: 'read',
    isSample: true,
    head: nothing,
    more: (stream) => many(h2Frame('headers', END_HEADERS, stream, HINTS), 500),
  },
  {
    name: 'endless CONTINUATION frames',
    wire: 'frames',
    asks: 'read',
    head: (stream) => h2Frame('headers', 0, stream, OK),
    more: (stream) => many(h2Frame('continuation', 0, stream, '\0\x01a\x01b'), 500),
  },
  {
    name: 'endless SETTINGS',
    wire: 'frames',
    asks: 'watch',
    head: ok,
    more: () => many(h2Frame('settings', 0, 0), 1000),
  },
  {
    name: 'endless PINGs',
    wire: 'frames',
    asks: 'watch',
    head: ok,
    more: () => many(h2Frame('ping', 0, 0, '12345678'), 500),
  },
  ...(['before its head', 'after its head'] as const).flatMap((when) =>
    [1, 2, 7, 8, 11].map(
      (code): HostileAnswer => ({
        name: `a reset by ${code} ${when} over h2`,
        wire: 'frames',
        asks: 'read',
        head: (stream) =>
          Buffer.concat([
            when === 'after its head' ? ok(stream) : nothing(),
            h2Frame('reset', 0, stream, `\0\0\0${String.fromCharCode(code)}`),
          ]),
      }),
    ),
  ),
  {
    name: 'a GOAWAY with an error',
    wire: 'frames',
    asks: 'read',
    head: (stream) => Buffer.concat([ok(stream), h2Frame('goaway', 0, 0, '\0\0\0\0\0\0\0\x02')]),
  },
]

/** All answers. */
export const HOSTILE_ANSWERS: readonly HostileAnswer[] = [
  ...LINES,
  ...HEADS,
  ...LENGTHS,
  ...RESETS,
  ...REVIEWS,
  ...TUNNELS,
  ...POLITE,
  ...FRAMES,
]
