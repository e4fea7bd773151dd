// Answers by HTTP/1.1, in pieces of any size: what is read of them, and what is malformed (contract 13.1, 13.3).
import { describe, expect, test } from 'vitest'
import type { AnswerHead } from '../../../../../src/kube/proxy/reads/answer-head.ts'
import { AnswerParser } from '../../../../../src/kube/proxy/reads/answer-parser.ts'
import { collectGarbage } from '../../../../support/heap.ts'

/** What was read. */
interface Read {
  readonly heads: AnswerHead[]
  body: string
  ended: number
  keepsAlive: boolean | null
}

function parserFor(isHead = false) {
  const read: Read = { heads: [], body: '', ended: 0, keepsAlive: null }
  const parser = new AnswerParser({
    head: (head) => void read.heads.push(head),
    piece: (bytes) => void (read.body += bytes.toString('latin1')),
    end: ({ keepsAlive }) => {
      read.ended += 1
      read.keepsAlive = keepsAlive
    },
  })
  parser.expect(isHead)
  return { parser, read }
}

/** Reads an answer in pieces of so many bytes. @throws MalformedAnswer */
function readIn(text: string, size: number, isHead = false): Read {
  const { parser, read } = parserFor(isHead)
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += size) parser.feed(bytes.subarray(at, at + size))
  return read
}

const OK = 'HTTP/1.1 200 OK\r\n'

// biome-ignore format: a table
const ANSWERS: readonly { readonly name: string; readonly text: string; readonly isHead?: boolean; readonly status?: number; readonly body: string; readonly keepsAlive?: boolean; readonly headers?: object }[] = [
  { name: 'a length', text: `${OK}Content-Length: 3\r\n\r\nabc`, body: 'abc' },
  { name: 'no bytes', text: `${OK}content-length:0\r\n\r\n`, body: '' },
  { name: 'chunks', text: `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n00A\r\n0123456789\r\n0\r\n\r\n`, body: 'a0123456789' },
  { name: 'chunks of any case', text: `${OK}transfer-encoding: Chunked\r\n\r\n0a\r\n0123456789\r\n0\r\n\r\n`, body: '0123456789' },
  { name: 'trailers, which are left out', text: `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nGrpc-Status: 0\r\n\r\n`, body: 'a', headers: { 'transfer-encoding': 'chunked' } },
  { name: 'an answer to HEAD', text: `${OK}Content-Length: 3\r\n\r\n`, isHead: true, body: '' },
  { name: '204', text: 'HTTP/1.1 204 No Content\r\n\r\n', status: 204, body: '' },
  { name: '304 with a length', text: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n', status: 304, body: '' },
  { name: 'no reason', text: 'HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n', status: 404, body: '' },
  { name: 'an empty reason', text: 'HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n', status: 404, body: '' },
  { name: 'a connection that closes', text: `${OK}Connection: x, Close\r\nContent-Length: 1\r\n\r\na`, body: 'a', keepsAlive: false },
  { name: 'HTTP/1.0', text: 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na', body: 'a', keepsAlive: false },
  { name: 'repeated headers', text: `${OK}Warning: a\r\nwarning:  b \r\nContent-Length: 0\r\n\r\n`, body: '', headers: { warning: ['a', 'b'], 'content-length': '0' } },
  { name: 'bytes of other encodings', text: `${OK}X: \xe9\xa0\r\nContent-Length: 0\r\n\r\n`, body: '', headers: { x: '\xe9\xa0', 'content-length': '0' } },
  { name: 'an informational head', text: `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${OK}Content-Length: 1\r\n\r\na`, body: 'a' },
]

describe.each([1, 2, 3, 7, 100_000])('in pieces of %i bytes', (size) => {
  test.each(ANSWERS)(
    '$name',
    ({ text, isHead, status = 200, body, keepsAlive = true, headers = {} }) => {
      const read = readIn(text, size, isHead)
      expect(read).toMatchObject({ body, ended: 1, keepsAlive })
      expect(read.heads.at(-1)?.status).toBe(status)
      expect(read.heads.at(-1)?.headers).toMatchObject(headers)
    },
  )
})

// biome-ignore format: a table
const MALFORMED: readonly { readonly name: string; readonly text: string; readonly isHead?: boolean }[] = [
  { name: 'another protocol', text: 'SSH-2.0-x\r\n\r\n' },
  { name: 'HTTP/2', text: 'HTTP/2 200 OK\r\n\r\n' },
  { name: 'HTTP/0.9', text: 'hello\r\n\r\n' },
  { name: 'a status of two digits', text: 'HTTP/1.1 20 OK\r\n\r\n' },
  { name: 'a status of four digits', text: 'HTTP/1.1 2000 OK\r\n\r\n' },
  { name: 'a status beyond 599', text: 'HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n' },
  { name: 'a space before it', text: ` ${OK}Content-Length: 0\r\n\r\n` },
  { name: 'an empty line before it', text: `\r\n${OK}Content-Length: 0\r\n\r\n` },
  { name: 'no length', text: `${OK}\r\n` },
  { name: 'two lengths', text: `${OK}Content-Length: 1\r\nContent-Length: 1\r\n\r\na` },
  { name: 'a list of lengths', text: `${OK}Content-Length: 1, 1\r\n\r\na` },
  { name: 'a length with a sign', text: `${OK}Content-Length: +1\r\n\r\na` },
  { name: 'a negative length', text: `${OK}Content-Length: -1\r\n\r\na` },
  { name: 'a length in hex', text: `${OK}Content-Length: 0x1\r\n\r\na` },
  { name: 'a length beyond all', text: `${OK}Content-Length: 9999999999999999\r\n\r\na` },
  { name: 'a length with a tab', text: `${OK}Content-Length: 1\t\r\n\r\na` },
  { name: 'a length with a space', text: `${OK}Content-Length: 1 \r\n\r\na` },
  { name: 'an empty length', text: `${OK}Content-Length:\r\n\r\n` },
  { name: 'two lengths without a body, by HEAD', text: `${OK}Content-Length: 1\r\nContent-Length: 1\r\n\r\n`, isHead: true },
  { name: 'two lengths without a body, by 304', text: 'HTTP/1.1 304 x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n' },
  { name: 'a length in hex without a body', text: 'HTTP/1.1 204 x\r\nContent-Length: 0x1\r\n\r\n' },
  { name: 'length and chunks', text: `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n` },
  { name: 'another encoding', text: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n` },
  { name: 'identity', text: `${OK}Transfer-Encoding: identity\r\n\r\n` },
  { name: 'chunked twice', text: `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n` },
  { name: 'chunks by HTTP/1.0', text: 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' },
  { name: 'a folded header', text: `${OK}X: a\r\n b\r\nContent-Length: 0\r\n\r\n` },
  { name: 'a space before the colon', text: `${OK}Content-Length : 0\r\n\r\n` },
  { name: 'a header without a name', text: `${OK}: a\r\nContent-Length: 0\r\n\r\n` },
  { name: 'a header without a colon', text: `${OK}Content-Length\r\n\r\n` },
  { name: 'a bare line feed', text: `${OK}X: a\nContent-Length: 0\r\n\r\n` },
  { name: 'a bare carriage return', text: `${OK}X: a\rContent-Length: 0\r\n\r\n` },
  { name: 'a NUL', text: `${OK}X: \0\r\nContent-Length: 0\r\n\r\n` },
  { name: 'a chunk without a size', text: `${OK}Transfer-Encoding: chunked\r\n\r\n\r\n` },
  { name: 'a chunk with an extension', text: `${OK}Transfer-Encoding: chunked\r\n\r\n1;a=b\r\na\r\n0\r\n\r\n` },
  { name: 'a chunk with a sign', text: `${OK}Transfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n` },
  { name: 'a chunk of 0x', text: `${OK}Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n` },
  { name: 'a chunk with a space before it', text: `${OK}Transfer-Encoding: chunked\r\n\r\n 1\r\na\r\n0\r\n\r\n` },
  { name: 'a chunk beyond all', text: `${OK}Transfer-Encoding: chunked\r\n\r\nfffffffffffff\r\n` },
  { name: 'a chunk that is longer than it says', text: `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n` },
  { name: 'a size that never ends', text: `${OK}Transfer-Encoding: chunked\r\n\r\n${'0'.repeat(13)}` },
  { name: 'a trailer without a name', text: `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n: a\r\n\r\n` },
  { name: 'a length in a trailer', text: `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 0\r\n\r\n` },
  { name: 'trailers that never end', text: `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(11_000)}` },
  { name: 'a head that never ends', text: `${OK}${'a: b\r\n'.repeat(11_000)}` },
  { name: 'bytes after its end', text: `${OK}Content-Length: 1\r\n\r\nab` },
  { name: 'a second answer', text: `${OK}Content-Length: 0\r\n\r\n${OK}Content-Length: 0\r\n\r\n` },
]

describe.each([1, 5, 100_000])('malformed in pieces of %i bytes', (size) => {
  test.each(MALFORMED)('$name', ({ text, isHead }) => {
    expect(() => readIn(text, size, isHead)).toThrow(/answer|without a request/)
  })
})

test('trailers are left out', () => {
  const read = readIn(`${OK}Transfer-Encoding: chunked\r\n\r\n0\r\nGrpc-Status: 0\r\n\r\n`, 1)
  expect(read.heads.map(({ headers }) => headers)).toEqual([{ 'transfer-encoding': 'chunked' }])
})

test('a head that comes byte by byte is kept in few pieces', async () => {
  const { parser } = parserFor()
  parser.feed(Buffer.from(`${OK}X: `))
  const pieces: WeakRef<Buffer>[] = []
  for (let nth = 0; nth < 10_000; nth += 1) {
    const piece = Buffer.from('a')
    pieces.push(new WeakRef(piece))
    parser.feed(piece)
  }
  // The target of a new reference lives until the next turn.
  await new Promise(setImmediate)
  collectGarbage()
  const kept = pieces.filter((piece) => piece.deref() !== undefined)
  expect(kept.length).toBeLessThan(100)
  parser.feed(Buffer.from('\r\nContent-Length: 0\r\n\r\n'))
  expect(parser.isIdle).toBe(true)
})

test('bytes before a request are malformed', () => {
  const { parser } = parserFor()
  parser.feed(Buffer.from(`${OK}Content-Length: 0\r\n\r\n`))
  expect(parser.isIdle).toBe(true)
  expect(() => parser.feed(Buffer.from('x'))).toThrow('without a request')
})

test('it rests after any piece, and goes on where it was', () => {
  const { parser, read } = parserFor()
  const chunks = 'a'.repeat(10).replaceAll('a', '1\r\na\r\n')
  parser.rest()
  parser.feed(Buffer.from(`${OK}Transfer-Encoding: chunked\r\n\r\n`))
  expect(read.heads).toEqual([])
  parser.goOn()
  expect(read.heads).toHaveLength(1)
  parser.rest()
  parser.feed(Buffer.from(chunks))
  parser.feed(Buffer.from('0\r\n\r\n'))
  expect(read.body).toBe('')
  parser.goOn()
  expect(read).toMatchObject({ body: 'a'.repeat(10), ended: 1 })
})

test('a header that every object has is one like any other', () => {
  const names = ['__proto__', 'constructor', 'toString']
  const text = `${OK}${names.map((name) => `${name}: x\r\n`).join('')}Content-Length: 0\r\n\r\n`
  const [head] = readIn(text, 100_000).heads
  for (const name of names)
    expect(Object.entries(head?.headers ?? {})).toContainEqual([name.toLowerCase(), 'x'])
})
