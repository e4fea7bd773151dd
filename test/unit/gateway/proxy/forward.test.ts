// A request from a client's socket through the gateway's server to an upstream, and back (13.1, 13.3).
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { type KeyCaller, userInfoOf } from '../../../../src/authn/caller.ts'
import { type RunsAs, forward, isLongRunning } from '../../../../src/gateway/proxy/forward.ts'
import { parseRequest } from '../../../../src/gateway/request/parse.ts'
import type { Upstream } from '../../../../src/kube/proxy/types.ts'
import type { RequestHandler } from '../../../../src/serving/http/server.ts'
import { eventually } from '../../../support/eventually.ts'
import { viewOf } from '../../../support/key-builder.ts'
import {
  type Act,
  type UpstreamServer,
  WIRES,
  type Wire,
  breakConnection,
  startUpstreamServer,
  upstreamTo,
} from '../../kube/proxy/upstream-server.ts'
import { receivedOn } from '../../serving/http/raw-status-response.ts'
import { type Served, answersIn, served } from '../listening-server.ts'

const SOON = { withinMs: 20_000 }
const MB = 1024 * 1024
const key = viewOf({ metadata: { name: 'ci' }, spec: { user: 'ada', groups: ['dev'] } })
const identity = userInfoOf(key)
if (!identity) throw new Error('the key of this test names a user')
const CALLER: KeyCaller = { key, identity, scope: null, expiresMs: null }

const respondBy =
  (upstream: Upstream, as: RunsAs): RequestHandler =>
  async (call) => {
    const reading = parseRequest(call.method, { kind: 'Management' }, call.target)
    if (!reading.ok) return reading.answer
    return forward(upstream, reading.request, call, as, { signal: call.gone })
  }

interface Stage extends Served {
  readonly behind: UpstreamServer
}

/** A gateway that forwards everything to a server with this behaviour. */
async function stage(wire: Wire, act: Act, as: RunsAs = { caller: CALLER }): Promise<Stage> {
  const behind = await startUpstreamServer(wire, act)
  const { upstream } = await upstreamTo(behind.url)
  return { ...(await served(respondBy(upstream, as))), behind }
}

/** A request as bytes; with `close`, its answer ends the connection. */
const bytes = (head: readonly string[], body = ''): string =>
  `${[...head, 'host: gateway'].join('\r\n')}\r\n\r\n${body}`
const CLOSE = 'connection: close'

const reading =
  (seen: (incoming: IncomingMessage, body: string) => void): Act =>
  (incoming, outgoing) => {
    void buffer(incoming).then((body) => {
      seen(incoming, body.toString())
      outgoing.end('ok')
    })
  }

describe.each(WIRES)('forwarding over %s', (wire) => {
  test('runs a request as the caller, whatever identity the client claims (A1, A2, A6)', async () => {
    let headers: IncomingMessage['headers'] = {}
    let groups: readonly string[] = []
    const { say } = await stage(
      wire,
      reading((incoming) => {
        headers = incoming.headers
        groups = incoming.rawHeaders.filter(
          (_, at, raw) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === 'impersonate-group',
        )
      }),
    )
    const names = 'Impersonate-User, Impersonate-Group, Impersonate-Extra-Platform.sh%2faccess-Key'
    const text = await say(
      bytes([
        'GET /api/v1/pods?limit=1 HTTP/1.1',
        `Connection: close, ${names}, authorization, x-forwarded-for`,
        'Authorization: Bearer of-the-client',
        'X-Remote-User: root',
        'X-Forwarded-For: 203.0.113.9',
        'Cookie: a=b',
        'Audit-ID: foreign',
        'X-Request-Id: foreign',
        'Accept: application/json',
      ]),
    )
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/)
    const ours = /^(?::|host$|connection$)/
    const carried = Object.fromEntries(Object.entries(headers).filter(([name]) => !ours.test(name)))
    expect(carried).toEqual({
      accept: 'application/json',
      authorization: 'Bearer our-own',
      'impersonate-user': 'ada',
      'impersonate-group': identity.groups.join(', '),
      'impersonate-extra-platform.sh%2faccess-key': 'ci',
      'x-forwarded-for': '127.0.0.1',
      // The ID of the request here, and not one that the client sends (13.1).
      'audit-id': answersIn(text)[0]?.headers['x-request-id'],
    })
    expect(groups).toEqual(identity.groups)
  })

  const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

  test.each([
    {
      name: 'each header once',
      sent: [`Traceparent: ${TRACE}`, 'tracestate: a=1', 'Tracestate: b=2'],
      arrives: [`traceparent: ${TRACE}`, 'tracestate: a=1, b=2'],
    },
    {
      name: 'no repeated header',
      sent: [`traceparent: ${TRACE}`, `traceparent: ${TRACE}`, 'tracestate: a=1'],
      arrives: [],
    },
  ])('passes the trace context on: $name (13.1)', async ({ sent, arrives }) => {
    let raw: readonly string[] = []
    const { say } = await stage(
      wire,
      reading((incoming) => (raw = incoming.rawHeaders)),
    )
    await say(bytes(['GET /x HTTP/1.1', CLOSE, ...sent]))
    const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${raw[at + 1]}`] : []))
    expect(pairs.filter((pair) => pair.startsWith('trace'))).toEqual(arrives)
  })

  test.each([
    { name: 'none', head: ['GET /x HTTP/1.1'], sent: '', seen: 'GET /x ' },
    {
      name: 'a DELETE with options',
      head: ['DELETE /x HTTP/1.1', 'content-length: 4'],
      sent: '{  }',
      seen: 'DELETE /x {  }',
    },
    {
      name: 'a GET with a body that looks like a request',
      head: ['GET /x HTTP/1.1', 'content-length: 33'],
      sent: 'GET /stolen HTTP/1.1\r\nhost: a\r\n\r\n',
      seen: 'GET /x GET /stolen HTTP/1.1\r\nhost: a\r\n\r\n',
    },
    {
      name: 'chunks',
      head: ['POST /x HTTP/1.1', 'transfer-encoding: chunked'],
      sent: '2\r\nab\r\n1;x=y\r\nc\r\n0\r\nx-late: 1\r\n\r\n',
      seen: 'POST /x abc',
    },
    {
      name: 'an empty one',
      head: ['POST /x HTTP/1.1', 'content-length: 0'],
      sent: '',
      seen: 'POST /x ',
    },
  ])('passes bodies on, and reads the next request after them: $name (A11)', async (row) => {
    const seen: string[] = []
    const { say } = await stage(
      wire,
      reading((incoming, body) => seen.push(`${incoming.method} ${incoming.url} ${body}`)),
    )
    const text = await say(bytes(row.head, row.sent) + bytes(['GET /next HTTP/1.1', CLOSE]))
    expect(text.match(/HTTP\/1.1 200 OK/g)).toHaveLength(2)
    // They may arrive in any order.
    expect(seen.toSorted()).toEqual([row.seen, 'GET /next '].toSorted())
  })

  test('aborts a response that upstream aborts, so that it does not look complete', async () => {
    const { connect, behind } = await stage(wire, (_, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.write('{"half":')
    })
    const socket = await connect()
    const { received, closed } = receivedOn(socket)
    socket.write(bytes(['GET /x HTTP/1.1']))
    await eventually('half of it', () => received().includes('{"half":') || undefined, SOON)
    breakConnection(behind)
    await closed
    expect(received()).not.toMatch(/0\r\n\r\n$/)
  })

  test('ends the upstream request when its client goes away', async () => {
    let closed = 0
    const { connect, behind } = await stage(wire, (_, outgoing) => {
      outgoing.once('close', () => (closed += 1))
      outgoing.write('begun')
    })
    const socket = await connect()
    socket.write(bytes(['GET /x HTTP/1.1']))
    await once(socket, 'data')
    socket.destroy()
    await eventually('it is ended', () => closed === 1 || undefined, SOON)
    expect(behind.received).toEqual(['GET /x'])
  })

  test('does not send a request that was aborted before it had a connection', async () => {
    const behind = await startUpstreamServer(wire, (_, outgoing) => outgoing.end('ok'))
    const { upstream } = await upstreamTo(behind.url)
    const sendBy = (method: string, path: string, signal: AbortSignal) =>
      upstream.send({
        method,
        path,
        headers: {},
        impersonation: null,
        body: null,
        isLongRunning: false,
        signal,
      })
    for (const path of ['/first', '/second']) {
      const ending = new AbortController()
      const sent = sendBy('DELETE', path, ending.signal)
      ending.abort()
      await expect(sent).rejects.toThrow('the API server did not answer')
      const { body } = await sendBy('GET', '/next', new AbortController().signal)
      body.resume()
    }
    expect(behind.received).toEqual(['GET /next', 'GET /next'])
  })

  test('applies back-pressure to upstream while the client does not read', async () => {
    let written = 0
    let isHeld = false
    const PIECE = Buffer.alloc(64 * 1024)
    const { connect } = await stage(wire, (_, outgoing) => {
      const write = (): void => {
        isHeld = false
        while (!isHeld && written < 128 * MB) {
          written += PIECE.length
          isHeld = !outgoing.write(PIECE)
        }
      }
      outgoing.on('drain', write)
      write()
    })
    const socket = await connect()
    socket.pause()
    socket.write(bytes(['GET /x HTTP/1.1']))
    let before = -1
    await eventually(
      'it is held',
      () => {
        const isStill = isHeld && written === before
        before = written
        return isStill || undefined
      },
      SOON,
    )
    expect(written).toBeLessThanOrEqual(32 * MB)
    socket.destroy()
  })

  test('answers 503 with Retry-After without an upstream or when upstream refuses the credential of the gateway', async () => {
    const { say, behind } = await stage(wire, (_, outgoing) => {
      outgoing.writeHead(401, { 'www-authenticate': 'Bearer realm="behind"' })
      outgoing.end('Unauthorized')
    })
    const refused = await say(bytes(['GET /x HTTP/1.1', CLOSE]))
    behind.server.close()
    breakConnection(behind)
    const gone = await say(bytes(['GET /x HTTP/1.1', CLOSE]))
    for (const text of [refused, gone]) {
      const [answer] = answersIn(text)
      expect(answer).toMatchObject({ code: 503, headers: { 'retry-after': '1' } })
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({ kind: 'Status', code: 503 })
      expect(answer?.headers).not.toHaveProperty('www-authenticate')
    }
  })

  test.each(['GET', 'HEAD'])('keeps the length of an answer: %s', async (method) => {
    const { say } = await stage(wire, (_, outgoing) => {
      outgoing.writeHead(200, { 'content-length': '5', 'set-cookie': 'a=b', server: 'behind' })
      outgoing.end(method === 'GET' ? 'hello' : undefined)
    })
    const text = await say(bytes([`${method} /x HTTP/1.1`, CLOSE]))
    expect(text).toContain('content-length: 5\r\n')
    expect(text).not.toMatch(/set-cookie|server:|transfer-encoding/i)
    expect(text.endsWith(method === 'GET' ? '\r\n\r\nhello' : '\r\n\r\n')).toBe(true)
  })

  test('passes a redirect on without following it (A9)', async () => {
    const { say, behind } = await stage(wire, (_, outgoing) => {
      outgoing.writeHead(302, { location: 'https://elsewhere.example/' })
      outgoing.end()
    })
    const text = await say(bytes(['GET /x HTTP/1.1', CLOSE]))
    expect(text).toMatch(/^HTTP\/1.1 302 [^]*location: https:\/\/elsewhere.example\/\r\n/)
    expect(behind.received).toEqual(['GET /x'])
  })
})

test('a request of the gateway itself has no impersonation headers', async () => {
  let names: readonly string[] = []
  const { say } = await stage(
    'h2',
    reading(({ headers }) => (names = Object.keys(headers))),
    'gateway',
  )
  await say(bytes(['GET /x HTTP/1.1', CLOSE]))
  expect(names.filter((name) => name.includes('impersonate'))).toEqual([])
  expect(names).toContain('authorization')
})

test('a watch has no content encoding, every other response the one that the client accepts (13.4)', async () => {
  const seen: unknown[] = []
  const { say } = await stage(
    'h2',
    reading(({ headers, url }) => seen.push([url, headers['accept-encoding']])),
  )
  for (const path of ['/api/v1/pods', '/api/v1/pods?watch=1'])
    await say(bytes([`GET ${path} HTTP/1.1`, 'accept-encoding: gzip', CLOSE]))
  expect(seen).toEqual([
    ['/api/v1/pods', 'gzip'],
    ['/api/v1/pods?watch=1', undefined],
  ])
})

test.each([
  ['GET', '/api/v1/pods', false],
  ['GET', '/api/v1/pods?watch=true', true],
  ['GET', '/api/v1/namespaces/a/pods/b/log', true],
  ['GET', '/api/v1/namespaces/a/pods/b/proxy/x', true],
  ['POST', '/api/v1/namespaces/a/pods/b/exec', true],
  ['POST', '/api/v1/namespaces/a/pods/b/eviction', false],
  ['GET', '/version', false],
])('the time limit for the response headers, of %s %s: %s', (method, path, expected) => {
  const request = parseRequest(method, { kind: 'Management' }, path)
  expect(request.ok && isLongRunning(request.request.attributes)).toBe(expected)
})
