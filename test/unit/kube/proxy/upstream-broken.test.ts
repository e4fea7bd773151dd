// An upstream when the server or the connection breaks off, or the answer comes early (contract 13.3).
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { UpstreamUnavailable } from '../../../../src/kube/proxy/types.ts'
import { staysTrue } from '../../../support/eventually.ts'
import { CODES, type Speaker, startFrames } from './http2-frame-builder.ts'
import {
  type Act,
  WIRES,
  breakConnection,
  call,
  echo,
  outcomeOf,
  stage,
  startUpstreamServer,
  textOf,
  upstreamTo,
} from './upstream-server.ts'

const MB = 1024 * 1024

describe('a truncated answer never looks complete', () => {
  test.each<{ name: string; say: (speaker: Speaker, stream: number) => void; outcome: string }>([
    {
      name: 'a complete answer',
      say: (speaker, stream) => speaker.data(stream, 'half', true),
      outcome: 'whole: half',
    },
    // A reset without an error in the middle is the one that Node reports as an end; no server may
    // send it (RFC 9113, 8.1).
    ...Object.entries(CODES)
      .filter(([name]) => name !== 'none')
      .map(([name, code]) => ({
        name: `a reset (${name})`,
        say: (speaker: Speaker, stream: number): void => {
          speaker.data(stream, 'half')
          speaker.reset(stream, code)
        },
        outcome: 'broken',
      })),
    {
      name: 'a connection that ends without an error',
      say: (speaker, stream) => {
        speaker.data(stream, 'half')
        speaker.end()
      },
      outcome: 'broken',
    },
    {
      name: 'a GOAWAY with an error',
      say: (speaker, stream) => {
        speaker.data(stream, 'half')
        speaker.goaway(stream, CODES.internal)
      },
      outcome: 'broken',
    },
    {
      name: 'a GOAWAY without an error, then the rest',
      say: (speaker, stream) => {
        speaker.data(stream, 'half')
        speaker.goaway(stream, CODES.none)
        speaker.data(stream, ' and half', true)
      },
      outcome: 'whole: half and half',
    },
  ])('over h2: $name', async ({ say, outcome }) => {
    const server = await startFrames({
      asked: (speaker, stream) => {
        speaker.head(stream)
        say(speaker, stream)
      },
    })
    const { upstream } = await upstreamTo(server.url)
    expect(await outcomeOf(upstream.send(call()))).toBe(outcome)
  })

  test.each(WIRES)('over %s: a broken connection breaks the body', async (wire) => {
    const { upstream, server } = await stage(wire, (_, outgoing) => {
      outgoing.write('half')
      setImmediate(() => breakConnection(server))
    })
    expect(await outcomeOf(upstream.send(call()))).toBe('broken')
  })
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

  /** Never more at a time than the stream takes: nothing but the answer stops it. */
  const trickle = (): Readable =>
    new Readable({
      read(): void {
        setImmediate(() => this.push(Buffer.alloc(10)))
      },
    })

  test.each(WIRES)(
    'over %s: reaches the caller, and the body of the request stays open',
    async (wire) => {
      const { upstream, server } = await stage(wire, (incoming, outgoing) => {
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
    const server = await startFrames({
      asked: (speaker, stream) => {
        speaker.head(stream)
        for (let n = 0; n < 3; n += 1) speaker.data(stream, long)
        speaker.data(stream, 'too much', true)
        speaker.reset(stream, CODES.none)
      },
    })
    const { upstream } = await upstreamTo(server.url)
    for (const body of [begun(), endless(), trickle()]) {
      const sent = upstream.send(call({ method: 'POST', body }))
      // A caller may begin to read late.
      await sent
      for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve))
      expect(await outcomeOf(sent)).toBe(`whole: ${long.repeat(3)}too much`)
      body.destroy()
    }
  })

  test.each(WIRES)('over %s: stops the reading of an endless body', async (wire) => {
    let pulled = 0
    const { upstream } = await stage(wire, (_, outgoing) => {
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
  const lost = (speaker: Speaker): void => speaker.end()
  const refused = (speaker: Speaker, id: number): void => speaker.reset(id, CODES.refused)
  const unseen = (speaker: Speaker): void => speaker.goaway(0, CODES.none)
  const begun = (speaker: Speaker, id: number): void => {
    speaker.head(id)
    speaker.reset(id, CODES.internal)
  }
  test.each([
    { method: 'GET', body: none, fails: lost, asked: 2, outcome: 'whole: ok' },
    { method: 'HEAD', body: none, fails: lost, asked: 2, outcome: 'whole: ok' },
    { method: 'DELETE', body: none, fails: lost, asked: 1, outcome: 'unavailable' },
    { method: 'POST', body: none, fails: lost, asked: 1, outcome: 'unavailable' },
    { method: 'POST', body: buffered, fails: lost, asked: 1, outcome: 'unavailable' },
    { method: 'GET', body: buffered, fails: lost, asked: 1, outcome: 'unavailable' },
    { method: 'PATCH', body: stream, fails: lost, asked: 1, outcome: 'unavailable' },
    { method: 'POST', body: none, fails: refused, asked: 2, outcome: 'whole: ok' },
    { method: 'POST', body: buffered, fails: refused, asked: 2, outcome: 'whole: ok' },
    { method: 'POST', body: stream, fails: refused, asked: 1, outcome: 'unavailable' },
    { method: 'POST', body: buffered, fails: unseen, asked: 2, outcome: 'whole: ok' },
    { method: 'GET', body: none, fails: begun, asked: 1, outcome: 'broken' },
  ])('$method with $body.name, $fails.name: $outcome after $asked requests', async (row) => {
    const server = await startFrames({
      asked: (speaker, id, nth) => {
        if (nth === 1) return row.fails(speaker, id)
        speaker.head(id, row.method === 'HEAD')
        if (row.method !== 'HEAD') speaker.data(id, 'ok', true)
      },
    })
    const { upstream } = await upstreamTo(server.url)
    const outcome = await outcomeOf(upstream.send(call({ method: row.method, body: row.body() })))
    expect(outcome.replace(/^whole: $/, 'whole: ok')).toBe(row.outcome)
    expect(server.received.filter((word) => word === 'request')).toHaveLength(row.asked)
  })

  test.each(WIRES)('over %s: is not sent a third time', async (wire) => {
    const { upstream, server, responses } = await stage(wire, () => breakConnection(server))
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
    'over %s: does not prevent the next one to a server that is back',
    async (wire) => {
      const { upstream, server } = await stage(wire, echo)
      await textOf(await upstream.send(call()))
      breakConnection(server)
      for (let n = 0; n < 20; n += 1)
        expect(await outcomeOf(upstream.send(call()))).toBe('whole: GET / ')
    },
  )
})

describe('our own credential is refused (401)', () => {
  const act: Act = (incoming, outgoing) => {
    incoming.resume()
    incoming.once('end', () => {
      outgoing.writeHead(401, { 'www-authenticate': 'Bearer' })
      outgoing.end('Unauthorized')
    })
  }
  test.each(
    WIRES.flatMap((wire) => [
      { wire, name: 'no body', body: (): Readable | Buffer | null => null, asked: 2 },
      { wire, name: 'a buffer', body: () => Buffer.from('x'), asked: 2 },
      { wire, name: 'a stream', body: () => Readable.from([Buffer.from('x')]), asked: 1 },
    ]),
  )('over $wire: a request with $name is sent $asked times', async ({ wire, body, asked }) => {
    const { upstream, server } = await stage(wire, act)
    const sent = upstream.send(call({ method: 'POST', body: body() }))
    await expect(sent).rejects.toThrow('refuses the credential of this process')
    await expect(sent).rejects.toBeInstanceOf(UpstreamUnavailable)
    expect(server.received).toHaveLength(asked)
  })

  test.each(WIRES)(
    'over %s: a 401 of a proxied backend reaches the caller after one request',
    async (wire) => {
      const { upstream, server } = await stage(wire, act)
      const answer = await upstream.send(call({ method: 'POST', isProxied: true }))
      expect([answer.status, await textOf(answer)]).toEqual([401, 'Unauthorized'])
      expect(server.received).toHaveLength(1)
    },
  )
})
