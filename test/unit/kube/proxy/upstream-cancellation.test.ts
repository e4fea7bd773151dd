// Requests that end early: by the client, by a timeout, by a lost server (13.3).
import { once } from 'node:events'
import type { ServerHttp2Session } from 'node:http2'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import {
  type Act,
  WIRES,
  advanceWithRequests,
  call,
  echo,
  outcomeOf,
  startFrameServer,
  startServerAndUpstream,
  textOf,
  upstreamTo,
} from './upstream-server.ts'

const SOON = { withinMs: 20_000 }

describe('a request that the client ends', () => {
  const WHEN = [
    { when: 'before it is sent', respond: () => undefined },
    { when: 'before the head', respond: () => undefined },
    {
      when: 'in the middle of the answer',
      respond: ((_, outgoing) => outgoing.write('half')) as Act,
    },
    { when: 'in the middle of the body', respond: ((incoming) => incoming.resume()) as Act },
  ] as const
  test.each(WIRES.flatMap((wire) => WHEN.map((row) => ({ wire, ...row }))))(
    'over $wire, $when: ends on the server too, and other requests go on',
    async ({ wire, when, respond }) => {
      let closed = 0
      const { upstream, server, responses } = await startServerAndUpstream(
        wire,
        (incoming, outgoing) => {
          if (incoming.url === '/other') return echo(incoming, outgoing)
          outgoing.once('close', () => (closed += 1))
          respond(incoming, outgoing)
        },
      )
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
        await eventually('the request ends on the server', () => closed === 1 || undefined, SOON)
      other.end('of another')
      expect(await textOf(await beside)).toBe('PUT /other of another')
      expect(responses.filter((word) => word.includes('<error>'))).toEqual([])
    },
  )

  test.each(WIRES)(
    'over %s: ends on the server when the body of the answer is destroyed',
    async (wire) => {
      let closed = 0
      const { upstream } = await startServerAndUpstream(wire, (_, outgoing) => {
        outgoing.once('close', () => (closed += 1))
        outgoing.write('half')
      })
      const { body } = await upstream.send(call())
      body.destroy()
      await eventually('the request ends on the server', () => closed === 1 || undefined, SOON)
    },
  )

  test.each(WIRES)(
    'over %s: ends on the server when the body of the request breaks off',
    async (wire) => {
      let closed = 0
      const { upstream, server } = await startServerAndUpstream(wire, (incoming, outgoing) => {
        outgoing.once('close', () => (closed += 1))
        incoming.resume()
      })
      const body = new PassThrough()
      body.write('begun')
      const sent = upstream.send(call({ method: 'POST', body }))
      await eventually('it arrives', () => server.received[0], SOON)
      body.destroy()
      expect(await outcomeOf(sent)).toBe('unavailable')
      await eventually('the request ends on the server', () => closed === 1 || undefined, SOON)
    },
  )
})

describe('a timeout', () => {
  test('ends a request without response headers after a minute, except watches', async () => {
    const clock = manualClock(0)
    const { upstream, server } = await startServerAndUpstream(
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
    await advanceWithRequests(clock, upstream, 59_000)
    expect(outcomes).toEqual([])
    await advanceWithRequests(clock, upstream, 1000)
    await eventually('one is given up', () => outcomes[0], SOON)
    await advanceWithRequests(clock, upstream, 60_000)
    expect(outcomes).toEqual(['get unavailable'])
    const sentCount = server.received.filter((request) => request !== 'GET /behind')
    expect(sentCount.toSorted()).toEqual(['GET /get', 'GET /watch'])
  })

  test('closes a connection that answers no ping, with its watches', async () => {
    const clock = manualClock(0)
    let isAlive = true
    const server = await startFrameServer({
      isAlive: () => isAlive,
      onRequest: (sender, stream, count) => sender.head(stream, count > 1),
    })
    const { upstream } = await upstreamTo(server.url, { clock })
    const { body } = await upstream.send(call({ isLongRunning: true }))
    const broken = new Promise((resolve) => body.once('close', resolve))
    await advanceWithRequests(clock, upstream, 120_000)
    expect(body.destroyed).toBe(false)
    isAlive = false
    await clock.advance(30_000)
    await broken
    isAlive = true
    await upstream.send(call())
    expect(server.opened()).toBe(2)
  })

  test('closes a connection without requests after a minute', async () => {
    const clock = manualClock(0)
    const { upstream, server } = await startServerAndUpstream('h2', echo, { clock })
    await advanceWithRequests(clock, upstream, 120_000)
    expect(server.opened()).toBe(1)
    for (let n = 0; n < 6; n += 1) {
      await clock.advance(10_000)
      for (const session of server.sessions) await pinged(session)
    }
    await eventually('it is gone', () => server.sockets.size === 0 || undefined, SOON)
  })
})

/** Waits until the server has read the bytes sent so far. */
const pinged = (session: ServerHttp2Session): Promise<void> =>
  new Promise((resolve) => (session.destroyed ? resolve() : session.ping(() => resolve())))
