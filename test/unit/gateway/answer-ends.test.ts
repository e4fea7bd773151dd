// How observers see the end of each answer: of admitted requests, of others, of those that the server itself refuses, and
// of tunnels.
import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { accessLog } from '../../../src/gateway/access-log.ts'
import type { GatewayHandlerOptions } from '../../../src/gateway/handler.ts'
import type { RequestObserver } from '../../../src/gateway/request-observer.ts'
import { InFlightRequests } from '../../../src/gateway/streams/in-flight.ts'
import type { Upstream } from '../../../src/kube/proxy/types.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { asAbortSignal } from '../../../src/runtime/concurrency/end-signal.ts'
import { CONNECTION_LIMITS } from '../../../src/serving/http/connection-limits.ts'
import { eventually } from '../../support/eventually.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { CALLER, serverHandlerFor } from './handler-builder.ts'
import { served } from './listening-server.ts'
import { EXEC, SPDY, echoing, head, readUntil, upgrading } from './upgrading-gateway.ts'

const MAPS = '/kubernetes/management/api/v1/configmaps'
const JSON_BODY = { 'content-type': 'application/json' }

/** Notes what it observes of each request. */
function noting() {
  const events: string[] = []
  const observer: RequestObserver = {
    name: 'test',
    received: ({ method }) => {
      events.push(`received ${method}`)
      return {
        decided: ({ context, answer }) => events.push(`decided ${context.target} ${answer.status}`),
        ended: (end) => events.push(`ended ${end}`),
      }
    },
  }
  const seen = (count = 3): Promise<readonly string[]> =>
    eventually('the events', async () => (events.length >= count ? events : undefined), {
      withinMs: 10_000,
    })
  return { observer, events, seen }
}

/** A gateway whose upstream answers by `send`, and a key that ends when the test says so. */
async function gatewayWith(
  send: Upstream['send'],
  given: Partial<GatewayHandlerOptions> = {},
  stalledMs = CONNECTION_LIMITS.stalledMs,
) {
  const { observer, seen } = noting()
  let isOver = false
  const inFlight = new InFlightRequests({
    clock: systemClock(),
    reauthenticate: (caller) => (isOver ? { ok: false, because: 'revoked' } : { ok: true, caller }),
    observer: { opened: () => undefined, closed: () => undefined, cut: () => undefined },
  })
  const { log, lines } = memoryLog('debug')
  const observers = [observer, accessLog(log, systemClock())]
  const handler = serverHandlerFor(CALLER, send, { inFlight, observers, ...given })
  const server = await served(handler, { stalledMs })
  const endKey = (): void => {
    isOver = true
    inFlight.look(null)
  }
  return { ...server, seen, endKey, lines, inFlight }
}

/** Sends the request, and waits until the answer begins. */
async function started(socket: TLSSocket, path: string): Promise<void> {
  socket.on('error', () => undefined)
  socket.write(head('GET', path, []))
  await once(socket, 'data')
}

const answering =
  (body: () => Readable): Upstream['send'] =>
  async () => ({ status: 200, headers: JSON_BODY, body: body() })

const whole = answering(() => Readable.from([Buffer.from('{}')]))

/** A body with these bytes and no end. */
const openBody = (text = '{"type":"ADDED"}\n'): PassThrough => {
  const body = new PassThrough()
  body.write(text)
  return body
}

describe('the end of any request', () => {
  test.each([
    { name: 'a forwarded request', path: MAPS, says: ['decided Management 200', 'ended complete'] },
    {
      name: 'a request for a public page',
      path: '/healthz',
      says: ['decided Public 200', 'ended complete'],
    },
    { name: 'a refused request', path: '/nowhere', says: ['decided Other 404', 'ended refused'] },
  ])('$name is observed from its arrival to its end', async ({ path, says }) => {
    const { say, seen } = await gatewayWith(whole)
    await say(head('GET', path, ['Connection: close']))
    expect(await seen()).toEqual(['received GET', ...says])
  })

  test('a request without Host, which the server itself refuses, is observed to its end', async () => {
    const { say, seen } = await gatewayWith(whole)
    await say('GET / HTTP/1.1\r\n\r\n')
    expect(await seen()).toEqual(['received GET', 'decided Other 400', 'ended refused'])
  })

  test('a request in which a stage fails ends as refused', async () => {
    const { say, seen } = await gatewayWith(() => Promise.reject(new Error('fault')))
    await say(head('GET', MAPS, ['Connection: close']))
    expect(await seen()).toEqual(['received GET', 'decided Management 500', 'ended refused'])
  })

  test('an answer with an invalid header ends as unsendable', async () => {
    const body = Buffer.from('x')
    const pages = { '/healthz': () => ({ status: 200, headers: { 'x-y': 'a\nb' }, body }) }
    const { say, seen } = await gatewayWith(whole, { pages })
    await say(head('GET', '/healthz', []))
    expect(await seen()).toEqual(['received GET', 'decided Public 200', 'ended unsendable'])
  })
})

describe('the end of a streamed answer', () => {
  const WATCH = `${MAPS}?watch=1`

  test.each([MAPS, WATCH])('the client ends %s', async (path) => {
    const { connect, seen, lines } = await gatewayWith(answering(openBody))
    const socket = await connect()
    await started(socket, path)
    socket.destroy()
    expect((await seen()).at(-1)).toBe('ended clientGone')
    expect(lines.at(-1)).toMatchObject({
      level: 'debug',
      sentence: 'answer ended early',
      fields: { keyName: 'ci', resource: 'configmaps', end: 'clientGone' },
    })
  })

  test('a client that leaves before its answer has gone', async () => {
    const { connect, seen } = await gatewayWith(({ signal }) =>
      once(asAbortSignal(signal), 'abort').then(() => ({
        status: 200,
        headers: {},
        body: Readable.from([]),
      })),
    )
    const socket = await connect()
    socket.write(head('GET', MAPS, []))
    await seen(1)
    socket.destroy()
    expect((await seen()).at(-1)).toBe('ended clientGone')
  })

  test.each([MAPS, WATCH])('a broken upstream ends %s', async (path) => {
    const body = openBody()
    const { connect, seen } = await gatewayWith(answering(() => body))
    await started(await connect(), path)
    body.destroy(new Error('the connection broke'))
    expect((await seen()).at(-1)).toBe('ended upstreamFailed')
  })

  test.each([WATCH, `${MAPS}/a/log`.replace('configmaps', 'namespaces/b/pods')])(
    'the end of the key ends %s',
    async (path) => {
      const { connect, seen, endKey } = await gatewayWith(answering(openBody))
      await started(await connect(), path)
      endKey()
      expect((await seen()).at(-1)).toBe('ended keyEnded')
    },
  )

  test('the end of the key comes before an answer of the upstream', async () => {
    const { connect, seen, endKey } = await gatewayWith(() => new Promise(() => undefined))
    const socket = await connect()
    socket.write(head('GET', MAPS, []))
    await seen(1)
    endKey()
    expect(await seen()).toEqual(['received GET', 'decided Management 401', 'ended keyEnded'])
  })

  test('a shutdown cuts a watch', async () => {
    const { connect, seen, inFlight } = await gatewayWith(answering(openBody))
    await started(await connect(), WATCH)
    inFlight.close()
    expect((await seen()).at(-1)).toBe('ended shutdown')
  })

  test('a server that closes cuts the last connections', async () => {
    const { connect, seen, server } = await gatewayWith(answering(openBody))
    await started(await connect(), MAPS)
    await server.close()
    expect((await seen()).at(-1)).toBe('ended shutdown')
  })

  test('a client that reads nothing has stalled', async () => {
    const big = (): Readable =>
      Readable.from(Array.from({ length: 64 }, () => Buffer.alloc(2 ** 20)))
    const { connect, seen } = await gatewayWith(answering(big), {}, 300)
    const socket = await connect()
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(head('GET', MAPS, []))
    expect((await seen()).at(-1)).toBe('ended clientStalled')
  })
})

describe('the end of a tunnel', () => {
  async function tunnel(act = echoing()) {
    const { observer, seen } = noting()
    const gateway = await upgrading(act, undefined, [observer])
    const plain = connectPlain(gateway.port, '127.0.0.1')
    const socket = await gateway.connect({ socket: plain })
    socket.on('error', () => undefined)
    socket.write(head('POST', EXEC, SPDY))
    await readUntil(socket, '101 Switching Protocols')
    return { ...gateway, plain, socket, seen }
  }

  test('a client that resets its connection has gone', async () => {
    const { plain, seen } = await tunnel()
    plain.resetAndDestroy()
    expect(await seen()).toEqual(['received POST', 'decided Management 101', 'ended clientGone'])
  })

  test('a session that both sides have ended is complete', async () => {
    const { socket, seen } = await tunnel()
    socket.end()
    socket.resume()
    expect((await seen()).at(-1)).toBe('ended complete')
  })

  test('the end of the key cuts the tunnel', async () => {
    const { end, socket, seen } = await tunnel()
    socket.resume()
    end()
    expect((await seen()).at(-1)).toBe('ended keyEnded')
  })
})
