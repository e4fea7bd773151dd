// What an upstream does when the server, the connection or the client breaks off (contract 13.3).
import { once } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { UpstreamUnavailable } from '../../../src/kube/upstream.ts'
import { manualClock } from '../../support/clock.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { CODES, type Speaker, startFrames } from './frames.ts'
import {
  type Act,
  breakConnection,
  call,
  echo,
  pass,
  stage,
  startUpstreamServer,
  textOf,
  upstreamTo,
  WIRES,
} from './upstream-stage.ts'

const SOON = { withinMs: 5000 }
const MB = 1024 * 1024

/** `whole: …`, `broken`, or `unavailable`. */
const outcomeOf = async (sent: Promise<{ body: Readable }>): Promise<string> => {
  try {
    const { body } = await sent
    const text = Buffer.concat((await body.toArray()) as Buffer[]).toString()
    return `whole: ${text}`
  } catch (error) {
    return error instanceof UpstreamUnavailable ? 'unavailable' : 'broken'
  }
}

describe('half an answer never looks like a whole one', () => {
  test.each<{ name: string; say: (speaker: Speaker, stream: number) => void; outcome: string }>([
    {
      name: 'a whole one',
      say: (speaker, stream) => speaker.data(stream, 'half', true),
      outcome: 'whole: half',
    },
    // A reset without an error in the middle is the one that Node does not tell from an end; no server may
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
      name: 'a connection that ends in order',
      say: (speaker, stream) => {
        speaker.data(stream, 'half')
        speaker.end()
      },
      outcome: 'broken',
    },
    {
      name: 'a farewell with an error',
      say: (speaker, stream) => {
        speaker.data(stream, 'half')
        speaker.goaway(stream, CODES.internal)
      },
      outcome: 'broken',
    },
    {
      name: 'a farewell in order, and the rest',
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

  test.each(WIRES)('over %s: a connection that breaks', async (wire) => {
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

  test.each(WIRES)("over %s: is passed on, and the body stays the client's", async (wire) => {
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
  })

  test('over h2, as Go says it: the answer is whole, then the stream is reset', async () => {
    const server = await startFrames({
      asked: (speaker, stream) => {
        speaker.head(stream)
        speaker.data(stream, 'too much', true)
        speaker.reset(stream, CODES.none)
      },
    })
    const { upstream } = await upstreamTo(server.url)
    for (const body of [begun(), endless()]) {
      const sent = upstream.send(call({ method: 'POST', body }))
      // Whoever passes it on may take a while to begin.
      await sent.then(() => new Promise((resolve) => setImmediate(resolve)))
      expect(await outcomeOf(sent)).toBe('whole: too much')
      body.destroy()
    }
  })

  test.each(WIRES)('over %s: of a body without an end no more is taken', async (wire) => {
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

describe('what may be sent twice', () => {
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
  ])('$method with $body.name, $fails.name: $outcome after $asked', async (row) => {
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
    expect(server.heard.filter((word) => word === 'asked')).toHaveLength(row.asked)
  })

  test.each(WIRES)('over %s: nothing a third time', async (wire) => {
    const { upstream, server, told } = await stage(wire, () => breakConnection(server))
    expect(await outcomeOf(upstream.send(call()))).toBe('unavailable')
    expect(server.received).toEqual(['GET /', 'GET /'])
    expect(told).toEqual(['GET <error>', 'GET <error>'])
  })

  test.each(WIRES)('over %s: no server', async (wire) => {
    const { url, server } = await startUpstreamServer(wire, echo)
    await new Promise((resolve) => server.close(resolve))
    const { upstream } = await upstreamTo(url)
    const body = new PassThrough()
    expect(await outcomeOf(upstream.send(call({ method: 'POST', body })))).toBe('unavailable')
    expect(body.destroyed).toBe(false)
  })

  test.each(WIRES)('over %s: a server that comes back is found again', async (wire) => {
    const { upstream, server } = await stage(wire, echo)
    await textOf(await upstream.send(call()))
    breakConnection(server)
    for (let n = 0; n < 20; n += 1)
      expect(await outcomeOf(upstream.send(call()))).toBe('whole: GET / ')
  })
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
  )('over $wire: with $name it is asked $asked times', async ({ wire, body, asked }) => {
    const { upstream, server } = await stage(wire, act)
    const sent = upstream.send(call({ method: 'POST', body: body() }))
    await expect(sent).rejects.toThrow('refuses the credential of this process')
    await expect(sent).rejects.toBeInstanceOf(UpstreamUnavailable)
    expect(server.received).toHaveLength(asked)
  })
})

describe('an exchange that is ended', () => {
  const WHEN = [
    { when: 'before it is sent', act: () => undefined },
    { when: 'before the head', act: () => undefined },
    { when: 'in the middle of the answer', act: ((_, outgoing) => outgoing.write('half')) as Act },
    { when: 'in the middle of the body', act: ((incoming) => incoming.resume()) as Act },
  ] as const
  test.each(WIRES.flatMap((wire) => WHEN.map((row) => ({ wire, ...row }))))(
    'over $wire, $when: the server is told, and others go on',
    async ({ wire, when, act }) => {
      let closed = 0
      const { upstream, server, told } = await stage(wire, (incoming, outgoing) => {
        if (incoming.url === '/other') return echo(incoming, outgoing)
        outgoing.once('close', () => (closed += 1))
        act(incoming, outgoing)
      })
      const other = new PassThrough()
      const beside = upstream.send(call({ method: 'PUT', path: '/other', body: other }))
      const abort = new AbortController()
      const body = when === 'in the middle of the body' ? new PassThrough() : null
      body?.write('begun')
      if (when === 'before it is sent') abort.abort()
      const sent = upstream.send(call({ method: 'POST', path: '/x', body, signal: abort.signal }))
      if (when === 'in the middle of the answer') await once((await sent).body, 'readable')
      if (when !== 'before it is sent') {
        await eventually('it arrives', () => server.received.includes('POST /x') || undefined, SOON)
      }
      abort.abort()
      expect(['broken', 'unavailable']).toContain(await outcomeOf(sent))
      if (when !== 'before it is sent')
        await eventually('the server is told', () => closed === 1 || undefined, SOON)
      other.end('of another')
      expect(await textOf(await beside)).toBe('PUT /other of another')
      expect(told.filter((word) => word.includes('<error>'))).toEqual([])
    },
  )

  test.each(WIRES)('over %s: destroying the body of the answer ends it too', async (wire) => {
    let closed = 0
    const { upstream } = await stage(wire, (_, outgoing) => {
      outgoing.once('close', () => (closed += 1))
      outgoing.write('half')
    })
    const { body } = await upstream.send(call())
    body.destroy()
    await eventually('the server is told', () => closed === 1 || undefined, SOON)
  })

  test.each(WIRES)('over %s: a body of a client that is gone ends it too', async (wire) => {
    let closed = 0
    const { upstream, server } = await stage(wire, (incoming, outgoing) => {
      outgoing.once('close', () => (closed += 1))
      incoming.resume()
    })
    const body = new PassThrough()
    body.write('begun')
    const sent = upstream.send(call({ method: 'POST', body }))
    await eventually('it arrives', () => server.received[0], SOON)
    body.destroy()
    expect(await outcomeOf(sent)).toBe('unavailable')
    await eventually('the server is told', () => closed === 1 || undefined, SOON)
  })
})

describe('time', () => {
  test('a head that does not come within a minute is not waited for; that of a watch is', async () => {
    const clock = manualClock(0)
    const { upstream, server } = await stage(
      'h2',
      (incoming, outgoing) => void (incoming.url === '/behind' && outgoing.end()),
      { clock },
    )
    const outcomes: string[] = []
    const follow = (name: string, isLongRunning: boolean): void => {
      const sent = outcomeOf(upstream.send(call({ path: `/${name}`, isLongRunning })))
      void sent.then((outcome) => outcomes.push(`${name} ${outcome}`))
    }
    follow('get', false)
    follow('watch', true)
    await eventually('both arrive', () => server.received[1], SOON)
    await pass(clock, upstream, 59_000)
    expect(outcomes).toEqual([])
    await pass(clock, upstream, 1000)
    await eventually('one is given up', () => outcomes[0], SOON)
    await pass(clock, upstream, 60_000)
    expect(outcomes).toEqual(['get unavailable'])
    const asked = server.received.filter((request) => request !== 'GET /behind')
    expect(asked.toSorted()).toEqual(['GET /get', 'GET /watch'])
  })

  test('a connection on which nobody answers is given up, watches and all', async () => {
    const clock = manualClock(0)
    let isAlive = true
    const server = await startFrames({
      isAlive: () => isAlive,
      asked: (speaker, stream, nth) => speaker.head(stream, nth > 1),
    })
    const { upstream } = await upstreamTo(server.url, { clock })
    const { body } = await upstream.send(call({ isLongRunning: true }))
    const broken = new Promise((resolve) => body.once('close', resolve))
    await pass(clock, upstream, 120_000)
    expect(body.destroyed).toBe(false)
    isAlive = false
    await clock.advance(30_000)
    await broken
    isAlive = true
    await upstream.send(call())
    expect(server.opened()).toBe(2)
  })

  test('a connection without requests is given up after a minute', async () => {
    const clock = manualClock(0)
    const { upstream, server } = await stage('h2', echo, { clock })
    await pass(clock, upstream, 120_000)
    expect(server.opened()).toBe(1)
    for (let n = 0; n < 6; n += 1) {
      await clock.advance(10_000)
      for (const session of server.sessions) await pinged(session)
    }
    await eventually('it is gone', () => server.sockets.size === 0 || undefined, SOON)
  })
})

/** The other end has taken what came before. */
const pinged = (session: ServerHttp2Session): Promise<void> =>
  new Promise((resolve) => (session.destroyed ? resolve() : session.ping(() => resolve())))
