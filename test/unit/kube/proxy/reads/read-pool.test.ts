// Connections for reads to a server that writes any bytes (contract 13.1, 13.3).
import { expect, onTestFinished, test } from 'vitest'
import { ReadPool } from '../../../../../src/kube/proxy/reads/read-pool.ts'
import type { ReadCall } from '../../../../../src/kube/proxy/reads/read-connection.ts'
import { eventuallyPasses } from '../../../../support/eventually.ts'
import { t0 } from '../../../../support/key-builder.ts'
import { manualClock } from '../../../../support/manual-clock.ts'
import { startByteServer } from './byte-server.ts'

type ReadController = Parameters<Parameters<ReadPool['dispatch']>[1]['onResponseData']>[0]

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const SOON = { withinMs: 10_000 }

/** A server that answers each request by what the test says; null = it closes the connection. */
async function serving(answer: (nth: number) => string | null) {
  const {
    url,
    port,
    sockets,
    received: requests,
  } = await startByteServer((socket, nth) => {
    const said = answer(nth)
    if (said === null) socket.destroy()
    else socket.write(said, 'latin1')
  })
  const clock = manualClock(t0)
  const pool = new ReadPool({ origin: url, tls: {}, clock })
  onTestFinished(() => pool.destroy())
  return { pool, clock, sockets, requests, port }
}

/** The status and body of an answer, or the message of its error. */
function read(pool: ReadPool, parts: Partial<ReadCall> = {}): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let said = ''
  pool.dispatch(
    { method: 'GET', path: '/', headers: {}, ...parts },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_, status) => void (said = `${status} `),
      onResponseData: (_, piece) => void (said += piece.toString('latin1')),
      onResponseEnd: () => resolve(said),
      onResponseError: (_, error) => resolve(`${said}${error.message}`),
    },
  )
  return promise
}

test('a read says where to, and that the connection stays open', async () => {
  const { pool, requests, port } = await serving(() => OK)
  expect(await read(pool, { path: '/a?b=c', headers: { accept: 'x', group: ['a', 'b'] } })).toBe(
    '200 ok',
  )
  expect(requests).toEqual([
    `GET /a?b=c HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: keep-alive\r\naccept: x\r\ngroup: a\r\ngroup: b\r\n\r\n`,
  ])
})

test('reads one after the other share a connection, and reads at the same time do not', async () => {
  const { pool, sockets } = await serving(() => OK)
  for (let nth = 0; nth < 3; nth += 1) expect(await read(pool)).toBe('200 ok')
  expect(sockets).toHaveLength(1)
  expect(await Promise.all([read(pool), read(pool)])).toEqual(['200 ok', '200 ok'])
  expect(sockets).toHaveLength(2)
})

// biome-ignore format: a table
test.each([
  { name: 'that closes', first: `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok`, says: '200 ok' },
  { name: 'with bytes after its end', first: `${OK}HTTP/1.1 200 OK\r\n`, says: '200 ok' },
  { name: 'by HTTP/1.0', first: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', says: '200 ok' },
  { name: 'that is malformed', first: 'HTTP/1.1 200 OK\r\n\r\n', says: 'the answer has no length, or more than one' },
])('a connection after an answer $name serves no other', async ({ first, says }) => {
  const { pool, sockets } = await serving((nth) => (nth === 1 ? first : OK))
  expect(await read(pool)).toBe(says)
  expect(await read(pool)).toBe('200 ok')
  expect(sockets).toHaveLength(2)
})

test('a connection that its server closes while it is free is not used again', async () => {
  const { pool, sockets } = await serving(() => OK)
  await read(pool)
  sockets[0]?.end()
  await eventuallyPasses('it is gone', () => expect(pool.isEmpty).toBe(true), SOON)
  expect(await read(pool)).toBe('200 ok')
  expect(sockets).toHaveLength(2)
})

test('a server that closes in the middle gives no complete answer', async () => {
  const { pool, sockets } = await serving(() => 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok')
  const answer = read(pool)
  await eventuallyPasses('the answer begins', () => expect(sockets).toHaveLength(1), SOON)
  sockets[0]?.end()
  expect(await answer).toMatch(/^200 ok.*closed/)
})

test('a free connection closes after a minute, and one that was used last later', async () => {
  const { pool, clock } = await serving(() => OK)
  await Promise.all([read(pool), read(pool)])
  await clock.advance(59_000)
  await read(pool)
  await clock.advance(1000)
  expect(pool.isEmpty).toBe(false)
  await clock.advance(59_000)
  await eventuallyPasses('both are closed', () => expect(pool.isEmpty).toBe(true), SOON)
})

test('a pool that closes finishes what is under way', async () => {
  const { pool, sockets } = await serving(() => '')
  const answer = read(pool)
  await eventuallyPasses('the request is there', () => expect(sockets).toHaveLength(1), SOON)
  pool.close()
  sockets[0]?.write(OK)
  expect(await answer).toBe('200 ok')
  await eventuallyPasses('it is gone', () => expect(pool.isEmpty).toBe(true), SOON)
})

// biome-ignore format: a table
test.each([
  { name: 'a space in the path', parts: { path: '/a b' } },
  { name: 'a line in the path', parts: { path: '/a\r\nx: y' } },
  { name: 'a line in a header', parts: { headers: { accept: 'a\r\nimpersonate-user: root' } } },
  { name: 'a line in a second value', parts: { headers: { accept: ['a', 'b\nc'] } } },
  { name: 'a character beyond a byte', parts: { headers: { accept: '\u010d\u010a' } } },
])('a read with $name is not sent, and the connection serves the next', async ({ parts }) => {
  const { pool, requests, sockets } = await serving(() => OK)
  expect(await read(pool, parts)).toContain('cannot be sent')
  expect(requests).toEqual([])
  expect(await read(pool)).toBe('200 ok')
  expect(sockets).toHaveLength(1)
})

test('a reader that had enough with the last piece does not hold the next read on its connection', async () => {
  const { pool, sockets } = await serving(() => OK)
  const paused = Promise.withResolvers<undefined>()
  let late: ReadController | null = null
  pool.dispatch(
    { method: 'GET', path: '/', headers: {} },
    {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: (controller) => {
        late = controller
        controller.pause()
      },
      onResponseEnd: () => paused.resolve(undefined),
      onResponseError: (_, error) => paused.reject(error),
    },
  )
  await paused.promise
  const answer = read(pool)
  // What it does now concerns no request of another.
  const former = late as ReadController | null
  former?.pause()
  former?.resume()
  former?.abort(new Error('late'))
  expect(await answer).toBe('200 ok')
  expect(await read(pool)).toBe('200 ok')
  expect(sockets).toHaveLength(1)
})
