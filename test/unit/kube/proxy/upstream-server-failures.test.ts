// An upstream whose server or connection fails, or answers early (contract 13.3).
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { eventually, staysTrue } from '../../../support/eventually.ts'
import {
  ERROR_CODES,
  type FrameSender,
  type Act,
  WIRES,
  breakConnection,
  call,
  echo,
  outcomeOf,
  startFrameServer,
  startServerAndUpstream,
  startUpstreamServer,
  textOf,
  upstreamTo,
} from './upstream-server.ts'

const MB = 1024 * 1024
const SOON = { withinMs: 5000 }

describe('a truncated answer never looks complete', () => {
  test.each<{ name: string; say: (sender: FrameSender, stream: number) => void; outcome: string }>([
    {
      name: 'a complete answer',
      say: (sender, stream) => sender.data(stream, 'half', true),
      outcome: 'whole: half',
    },
    // Node reports a reset without an error code as an end; no server may
    // send it (RFC 9113, 8.1).
    ...Object.entries(ERROR_CODES)
      .filter(([name]) => name !== 'none')
      .map(([name, code]) => ({
        name: `a reset (${name})`,
        say: (sender: FrameSender, stream: number): void => {
          sender.data(stream, 'half')
          sender.reset(stream, code)
        },
        outcome: 'broken',
      })),
    {
      name: 'a connection that ends without an error',
      say: (sender, stream) => {
        sender.data(stream, 'half')
        sender.end()
      },
      outcome: 'broken',
    },
    {
      name: 'a GOAWAY with an error',
      say: (sender, stream) => {
        sender.data(stream, 'half')
        sender.goaway(stream, ERROR_CODES.internal)
      },
      outcome: 'broken',
    },
    {
      name: 'a GOAWAY without an error, then the rest',
      say: (sender, stream) => {
        sender.data(stream, 'half')
        sender.goaway(stream, ERROR_CODES.none)
        sender.data(stream, ' and half', true)
      },
      outcome: 'whole: half and half',
    },
  ])('it is an error over h2: $name', async ({ say, outcome }) => {
    const server = await startFrameServer({
      onRequest: (sender, stream) => {
        sender.head(stream)
        say(sender, stream)
      },
    })
    const { upstream } = await upstreamTo(server.url)
    expect(await outcomeOf(upstream.send(call()))).toBe(outcome)
  })

  test.each(WIRES)('over %s: a broken connection breaks the body', async (wire) => {
    const { upstream, server } = await startServerAndUpstream(wire, (_, outgoing) => {
      outgoing.write('half')
      setImmediate(() => breakConnection(server))
    })
    expect(await outcomeOf(upstream.send(call()))).toBe('broken')
  })

  test.each(WIRES)(
    'over %s: what arrived before the break is read before it (13.3)',
    async (wire) => {
      const { upstream, server } = await startServerAndUpstream(wire, (_, outgoing) => {
        outgoing.write('half')
      })
      const { body } = await upstream.send(call({ isLongRunning: true }))
      await eventually('the half is here', () => body.readableLength === 4 || undefined, SOON)
      breakConnection(server)
      // The reader comes after the break.
      await delay(100)
      const pieces: string[] = []
      const reading = (async () => {
        for await (const piece of body) pieces.push(String(piece))
      })()
      await expect(reading).rejects.toBeInstanceOf(Error)
      expect(pieces.join('')).toBe('half')
    },
  )
})

describe('an answer before the body has ended', () => {
  const begun = (): PassThrough => {
    const body = new PassThrough()
    body.write('begun')
    return body
  }
  const endless = (took: (bytes: number) => void = () => undefined): Readable =>
    new Readable({
      read(): void {
        took(65_536)
        this.push(Buffer.alloc(65_536))
      },
    })

  /** An endless body that respects back-pressure; only the answer stops it. */
  const trickle = (): Readable =>
    new Readable({
      read(): void {
        setImmediate(() => this.push(Buffer.alloc(10)))
      },
    })

  test.each(WIRES)(
    'over %s: reaches the caller, and the body of the request stays open',
    async (wire) => {
      const { upstream, server } = await startServerAndUpstream(wire, (incoming, outgoing) => {
        if (incoming.url === '/next') return echo(incoming, outgoing)
        outgoing.writeHead(413)
        outgoing.end('too much')
      })
      const body = begun()
      const answer = await upstream.send(call({ method: 'POST', body }))
      expect([answer.status, await textOf(answer)]).toEqual([413, 'too much'])
      expect(body.destroyed).toBe(false)
      body.end('too late')
      expect(await textOf(await upstream.send(call({ path: '/next' })))).toBe('GET /next ')
      expect(server.received).toEqual(['POST /', 'GET /next'])
    },
  )

  test('over h2, as a Go server sends it: a complete answer, then a reset of the stream', async () => {
    // More than the stream buffers: a reset could drop the rest.
    const long = 'x'.repeat(60_000)
    const server = await startFrameServer({
      onRequest: (sender, stream) => {
        sender.head(stream)
        for (let n = 0; n < 3; n += 1) sender.data(stream, long)
        sender.data(stream, 'too much', true)
        sender.reset(stream, ERROR_CODES.none)
      },
    })
    const { upstream } = await upstreamTo(server.url)
    for (const body of [begun(), endless(), trickle()]) {
      const sent = upstream.send(call({ method: 'POST', body }))
      // The caller begins to read late.
      await sent
      for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve))
      expect(await outcomeOf(sent)).toBe(`whole: ${long.repeat(3)}too much`)
      body.destroy()
    }
  })

  test.each(WIRES)('over %s: stops the reading of an endless body', async (wire) => {
    let pulled = 0
    const { upstream } = await startServerAndUpstream(wire, (_, outgoing) => {
      outgoing.writeHead(413, { connection: 'close' })
      outgoing.end('too much')
    })
    const body = endless((bytes) => (pulled += bytes))
    const answer = await upstream.send(call({ method: 'POST', body }))
    expect([answer.status, await textOf(answer)]).toEqual([413, 'too much'])
    await staysTrue('no more is taken', () => expect(pulled).toBeLessThan(16 * MB), { forMs: 300 })
    body.destroy()
  })
})

describe('a request without an answer', () => {
  const buffered = (): Buffer => Buffer.from('x')
  const stream = (): Readable => Readable.from([Buffer.from('x')])
  const none = (): null => null
  const lost = (sender: FrameSender): void => sender.end()
  const refused = (sender: FrameSender, id: number): void => sender.reset(id, ERROR_CODES.refused)
  const unseen = (sender: FrameSender): void => sender.goaway(0, ERROR_CODES.none)
  const begun = (sender: FrameSender, id: number): void => {
    sender.head(id)
    sender.reset(id, ERROR_CODES.internal)
  }
  test.each([
    { method: 'GET', body: none, fails: lost, sentCount: 2, outcome: 'whole: ok' },
    { method: 'HEAD', body: none, fails: lost, sentCount: 2, outcome: 'whole: ok' },
    { method: 'DELETE', body: none, fails: lost, sentCount: 1, outcome: 'unavailable' },
    { method: 'POST', body: none, fails: lost, sentCount: 1, outcome: 'unavailable' },
    { method: 'POST', body: buffered, fails: lost, sentCount: 1, outcome: 'unavailable' },
    { method: 'GET', body: buffered, fails: lost, sentCount: 1, outcome: 'unavailable' },
    { method: 'PATCH', body: stream, fails: lost, sentCount: 1, outcome: 'unavailable' },
    { method: 'POST', body: none, fails: refused, sentCount: 2, outcome: 'whole: ok' },
    { method: 'POST', body: buffered, fails: refused, sentCount: 2, outcome: 'whole: ok' },
    { method: 'POST', body: stream, fails: refused, sentCount: 1, outcome: 'unavailable' },
    { method: 'POST', body: buffered, fails: unseen, sentCount: 2, outcome: 'whole: ok' },
    { method: 'GET', body: none, fails: begun, sentCount: 1, outcome: 'broken' },
  ])('$method with $body.name, $fails.name: $outcome after $sentCount requests', async (row) => {
    const server = await startFrameServer({
      onRequest: (sender, id, count) => {
        if (count === 1) return row.fails(sender, id)
        sender.head(id, row.method === 'HEAD')
        if (row.method !== 'HEAD') sender.data(id, 'ok', true)
      },
    })
    const { upstream } = await upstreamTo(server.url)
    const outcome = await outcomeOf(upstream.send(call({ method: row.method, body: row.body() })))
    expect(outcome.replace(/^whole: $/, 'whole: ok')).toBe(row.outcome)
    expect(server.received.filter((word) => word === 'request')).toHaveLength(row.sentCount)
  })

  test.each(WIRES)('over %s: is not sent a third time', async (wire) => {
    const { upstream, server, responses } = await startServerAndUpstream(wire, () =>
      breakConnection(server),
    )
    expect(await outcomeOf(upstream.send(call()))).toBe('unavailable')
    expect(server.received).toEqual(['GET /', 'GET /'])
    expect(responses).toEqual(['GET <error>', 'GET <error>'])
  })

  test.each(WIRES)('over %s: fails when no server listens', async (wire) => {
    const { url, server } = await startUpstreamServer(wire, echo)
    await new Promise((resolve) => server.close(resolve))
    const { upstream } = await upstreamTo(url)
    const body = new PassThrough()
    expect(await outcomeOf(upstream.send(call({ method: 'POST', body })))).toBe('unavailable')
    expect(body.destroyed).toBe(false)
  })

  test.each(WIRES)(
    'over %s: does not affect later requests once the server is back',
    async (wire) => {
      const { upstream, server } = await startServerAndUpstream(wire, echo)
      await textOf(await upstream.send(call()))
      breakConnection(server)
      for (let n = 0; n < 20; n += 1)
        expect(await outcomeOf(upstream.send(call()))).toBe('whole: GET / ')
    },
  )
})

describe('our own credential is refused (401)', () => {
  const respond: Act = (incoming, outgoing) => {
    incoming.resume()
    incoming.once('end', () => {
      outgoing.writeHead(401, { 'www-authenticate': 'Bearer' })
      outgoing.end('Unauthorized')
    })
  }
  test.each(
    WIRES.flatMap((wire) => [
      { wire, name: 'no body', body: (): Readable | Buffer | null => null, sentCount: 2 },
      { wire, name: 'a buffer', body: () => Buffer.from('x'), sentCount: 2 },
      { wire, name: 'a stream', body: () => Readable.from([Buffer.from('x')]), sentCount: 1 },
    ]),
  )(
    'over $wire: a request with $name is sent $sentCount times',
    async ({ wire, body, sentCount }) => {
      const { upstream, server } = await startServerAndUpstream(wire, respond)
      const sent = upstream.send(call({ method: 'POST', body: body() }))
      await expect(sent).rejects.toThrow('refuses the credential of this process')
      await expect(sent).rejects.toBeInstanceOf(UpstreamUnavailable)
      expect(server.received).toHaveLength(sentCount)
    },
  )

  test.each(WIRES)(
    'over %s: a 401 of a proxied backend reaches the caller after one request',
    async (wire) => {
      const { upstream, server } = await startServerAndUpstream(wire, respond)
      const answer = await upstream.send(call({ method: 'POST', isProxied: true }))
      expect([answer.status, await textOf(answer)]).toEqual([401, 'Unauthorized'])
      expect(server.received).toHaveLength(1)
    },
  )
})
