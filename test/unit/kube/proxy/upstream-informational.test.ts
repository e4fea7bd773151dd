// A head that never comes, or comes behind endless informational responses (contract 13.3).
import { once } from 'node:events'
import { type AddressInfo, type Server, type Socket, createServer as createTcp } from 'node:net'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type TLSSocket, createServer } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HEAD_WITHIN_MS } from '../../../../src/kube/proxy/types.ts'
import { eventually } from '../../../support/eventually.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  TLS,
  WIRES,
  advanceWithRequests,
  call,
  outcomeOf,
  startFrameServer,
  startServerAndUpstream,
  upstreamTo,
} from './upstream-server.ts'

const SOON = { withinMs: 20_000 }
const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** A server of HTTP/1.1 that answers each request by `act`, as it is; counts its requests. */
async function rawServer(act: (socket: TLSSocket) => void) {
  const sockets = new Set<Socket>()
  let requests = 0
  const server: Server = createServer({ ...TLS, ALPNProtocols: ['http/1.1'] }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (piece: Buffer) => {
      if (!piece.includes('HTTP/1.1')) return
      requests += 1
      act(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `https://127.0.0.1:${port}`, requests: () => requests, sockets }
}

const KINDS = [
  { kind: 'a read', parts: {} },
  { kind: 'a watch', parts: { isLongRunning: true } },
  { kind: 'a write', parts: { method: 'POST', body: Buffer.from('{}') } },
] as const

describe('informational responses', () => {
  test.each(KINDS)(
    'ten may come before the head of $kind over https; with more it is given up, once (13.3)',
    async ({ parts }) => {
      for (const { count, outcome } of [
        { count: 10, outcome: 'whole: ok' },
        { count: 11, outcome: 'unavailable' },
      ]) {
        const server = await rawServer((socket) =>
          socket.write(EARLY_HINTS.repeat(count) + (count > 10 ? '' : WHOLE)),
        )
        const { upstream } = await upstreamTo(server.url)
        expect(await outcomeOf(upstream.send(call(parts)))).toBe(outcome)
        expect(server.requests()).toBe(1)
      }
    },
  )

  test.each(KINDS)(
    'ten may come before the head of $kind over h2; with more it is given up, once (13.3)',
    async ({ parts }) => {
      for (const { count, outcome } of [
        { count: 10, outcome: 'whole: ok' },
        { count: 11, outcome: 'unavailable' },
      ]) {
        const { upstream, server } = await startServerAndUpstream('h2', (_, outgoing) => {
          const { stream } = outgoing as never as {
            stream: { additionalHeaders: (headers: object) => void }
          }
          for (let sent = 0; sent < count; sent += 1)
            stream.additionalHeaders({ ':status': 103, link: '</a>' })
          if (count <= 10) outgoing.end('ok')
        })
        const sent = { isLongRunning: true, ...parts }
        expect(await outcomeOf(upstream.send(call(sent)))).toBe(outcome)
        expect(server.received).toHaveLength(1)
      }
    },
  )

  test('are counted before a 101, too (13.3)', async () => {
    const server = await rawServer((socket) => socket.write(EARLY_HINTS.repeat(11)))
    const { upstream } = await upstreamTo(server.url)
    const sent = upstream.upgrade({ ...call({ isLongRunning: true }), protocol: 'websocket' })
    await expect(sent).rejects.toThrow('the API server did not answer')
    await eventually(
      'the connection is closed',
      () => [...server.sockets].every(({ destroyed }) => destroyed) || undefined,
      SOON,
    )
  })

  test('endless ones end with their connection, and do not hold back another request (13.3)', async () => {
    let sent = 0
    const flood = EARLY_HINTS.repeat(1000)
    const server = await rawServer((socket) => {
      const more = (): void => {
        while (!socket.destroyed && sent < 64 * 1024 * 1024 && socket.write(flood))
          sent += flood.length
      }
      socket.on('drain', more)
      more()
    })
    const { upstream } = await upstreamTo(server.url)
    expect(await outcomeOf(upstream.send(call()))).toBe('unavailable')
    expect(sent).toBeLessThan(32 * 1024 * 1024)
  })

  test('a plain request that is answered by 101 has no answer (13.2)', async () => {
    const server = await rawServer((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    )
    const { upstream } = await upstreamTo(server.url)
    expect(await outcomeOf(upstream.send(call()))).toBe('unavailable')
  })
})

test('a body in chunks of one byte is read in many turns of the event loop (13.3)', async () => {
  const CHUNKS = 20_000
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  const server = await rawServer((socket) =>
    socket.write(`${head}${'1\r\nx\r\n'.repeat(CHUNKS)}0\r\n\r\n`),
  )
  const { upstream } = await upstreamTo(server.url)
  const { body } = await upstream.send(call())
  let turns = 0
  let hasEnded = false
  const count = (): void => {
    turns += 1
    if (!hasEnded) setImmediate(count)
  }
  count()
  const received = (await buffer(body)).length
  hasEnded = true
  expect(received).toBe(CHUNKS)
  expect(turns).toBeGreaterThan(CHUNKS / 64 / 2)
})

test('a body in HTTP/2 frames of one byte is passed on in few pieces (13.3)', async () => {
  const FRAMES = 4000
  const server = await startFrameServer({
    onRequest: ({ head, data }, stream) => {
      head(stream)
      for (let at = 1; at <= FRAMES; at += 1) data(stream, 'x', at === FRAMES)
    },
  })
  const { upstream } = await upstreamTo(server.url)
  const { body } = await upstream.send(call())
  let pieces = 0
  body.on('data', () => (pieces += 1))
  expect((await buffer(body)).length).toBe(FRAMES)
  expect(pieces).toBeLessThan(FRAMES / 8)
})

describe('one deadline', () => {
  test.each(['https', 'http'] as const)(
    'over %s is for the head and what comes before it (13.3)',
    async (wire) => {
      const clock = manualClock(0)
      const { upstream, server } = await startServerAndUpstream(
        wire,
        (incoming, outgoing) => {
          if (incoming.url === '/behind') outgoing.end()
          else outgoing.writeEarlyHints({ link: '</a>' })
        },
        { clock },
      )
      const outcomes: string[] = []
      const follow = (path: string, isLongRunning: boolean): void =>
        void outcomeOf(upstream.send(call({ path, isLongRunning }))).then((outcome) =>
          outcomes.push(`${path} ${outcome}`),
        )
      follow('/read', false)
      follow('/watch', true)
      await eventually('both arrive', () => server.received[1], SOON)
      await advanceWithRequests(clock, upstream, 59_000)
      expect(outcomes).toEqual([])
      await advanceWithRequests(clock, upstream, 1000)
      await eventually('one is given up', () => outcomes[0], SOON)
      expect(outcomes).toEqual(['/read unavailable'])
    },
  )

  test.each(WIRES)(
    'over %s moves while the client sends its body, and is there when the server reads none of it (13.3)',
    async (wire) => {
      const clock = manualClock(0)
      const { upstream, server } = await startServerAndUpstream(
        wire,
        (incoming, outgoing) => void (incoming.url === '/behind' && outgoing.end()),
        { clock },
      )
      const body = new PassThrough()
      body.write('begun')
      let outcome = ''
      void outcomeOf(upstream.send(call({ method: 'POST', body }))).then((text) => (outcome = text))
      await eventually('it arrives', () => server.received[0], SOON)
      await advanceWithRequests(clock, upstream, 50_000)
      body.end('the end')
      await once(body, 'end')
      await advanceWithRequests(clock, upstream, 50_000)
      expect(outcome).toBe('')
      await advanceWithRequests(clock, upstream, 10_000)
      await eventually('it is given up', () => outcome || undefined, SOON)
      expect(outcome).toBe('unavailable')
    },
  )
})

test('an upgrade that waits in vain for a connection was not sent (13.1)', async () => {
  // The handshake of TLS never ends.
  const sockets: Socket[] = []
  const server = createTcp((socket) => void sockets.push(socket.on('error', () => undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const clock = manualClock(0)
  const { port } = server.address() as AddressInfo
  const { upstream } = await upstreamTo(`https://127.0.0.1:${port}`, { clock })
  const sent = upstream
    .upgrade({ ...call(), protocol: 'websocket' })
    .catch((error: unknown) => error)
  await eventually('it connects', () => sockets.length > 0 || undefined, SOON)
  await clock.advance(HEAD_WITHIN_MS)
  expect(await sent).toMatchObject({ outcome: 'unprocessed' })
  expect(sockets).toHaveLength(1)
})
