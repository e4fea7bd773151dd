import { once } from 'node:events'
import { createServer as createPlainServer, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createAddressGuard } from '../../../src/runtime/address-guard.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createHttpClient, type ServerTrust } from '../../../src/runtime/http-client.ts'
import { serverPair } from '../../support/certificate-builder.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A client of a local server that answers each path as a test says. */
async function served(
  answers: Readonly<Record<string, (response: ServerResponse) => unknown>>,
  guarded = false,
) {
  const pair = serverPair('server')
  const asked: string[] = []
  const bodies: string[] = []
  const server = createServer(
    { cert: pair.certificatePem, key: pair.keyPem },
    (request, response) => {
      asked.push(request.url ?? '')
      let body = `${request.method} `
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => bodies.push(body))
      answers[request.url ?? '']?.(response)
    },
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = new AbortController()
  closers.push(() => {
    stop.abort()
    server.close()
    server.closeAllConnections()
  })
  const client = createHttpClient({
    trust: { ca: pair.caPem },
    guard: guarded
      ? createAddressGuard(
          () => 'is a loopback address',
          () => undefined,
        )
      : null,
    maxSockets: 1,
    clock: systemClock(),
    signal: stop.signal,
  })
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sent = (path: string) => ({
    url: `${origin}${path}`,
    headers: {},
    statuses: [200],
    maxBytes: 10,
    withinMs: 1000,
  })
  const get = (path: string) => client.get(sent(path))
  const post = (path: string, body: string) =>
    client.post({ ...sent(path), body: Buffer.from(body) })
  return { get, post, asked, bodies, cut: () => server.closeAllConnections() }
}

test('an answer has its status, its headers and its body', async () => {
  const { get } = await served({
    '/': (response) => response.setHeader('etag', '"1"').end('hello'),
  })
  const { status, headers, body } = await get('/')
  expect([status, headers.etag, body?.toString()]).toEqual([200, '"1"', 'hello'])
})

test('a redirect is an answer, which is not followed', async () => {
  const { get, asked } = await served({
    '/': (response) => response.writeHead(302, { location: '/other' }).end('moved'),
  })
  expect(await get('/')).toMatchObject({ status: 302, body: null })
  expect(asked).toEqual(['/'])
})

test('a body beyond its limit is an error', async () => {
  const { get } = await served({ '/': (response) => response.end('more than ten') })
  await expect(get('/')).rejects.toThrow('the answer has more than 10 bytes')
})

test('an answer that does not end in time is an error', async () => {
  const { get } = await served({ '/': (response) => response.write('he') })
  await expect(get('/')).rejects.toThrow('no answer within 1000 ms')
})

test('a server at a refused address gets no request (9.5)', async () => {
  const { get, asked } = await served({ '/': (response) => response.end() }, true)
  await expect(get('/')).rejects.toThrow('is a loopback address')
  expect(asked).toEqual([])
})

test('a POST has its body, and an answer as a GET has', async () => {
  const { post, bodies } = await served({
    '/': (response) => response.end('hello'),
    '/other': (response) => response.writeHead(409).end('no'),
  })
  expect(await post('/', 'drei €')).toMatchObject({ status: 200, body: Buffer.from('hello') })
  expect(await post('/', '')).toMatchObject({ status: 200 })
  expect(await post('/other', 'x'.repeat(300_000))).toMatchObject({ status: 409, body: null })
  expect(bodies.slice(0, 2)).toEqual(['POST drei €', 'POST '])
})

test('a POST on a connection that the server has closed meanwhile is sent on another one', async () => {
  const { post, cut, asked } = await served({ '/': (response) => response.end('hello') })
  await post('/', 'one')
  cut()
  expect(await post('/', 'x'.repeat(1_000_000))).toMatchObject({ status: 200 })
  expect(asked.length).toBeGreaterThanOrEqual(2)
})

test('a POST whose answer has no end, or is too large, is an error', async () => {
  const { post } = await served({
    '/large': (response) => response.end('more than ten'),
    '/slow': (response) => response.write('he'),
  })
  await expect(post('/large', 'x')).rejects.toThrow('the answer has more than 10 bytes')
  await expect(post('/slow', 'x')).rejects.toThrow('no answer within 1000 ms')
})

/** Sends two requests, one after the other. Returns how many connections came. */
async function connectionsOf(trust: ServerTrust, maxSockets: number | null): Promise<number> {
  const pair = serverPair('server')
  const server =
    trust === 'plain'
      ? createPlainServer()
      : createServer({ cert: pair.certificatePem, key: pair.keyPem })
  let connections = 0
  server.on('connection', () => (connections += 1))
  server.on('request', (_, response: ServerResponse) => response.end('hello'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = new AbortController()
  closers.push(() => {
    stop.abort()
    server.close()
    server.closeAllConnections()
  })
  const clock = systemClock()
  const client = createHttpClient({ trust, guard: null, maxSockets, clock, signal: stop.signal })
  const scheme = trust === 'plain' ? 'http' : 'https'
  const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const sent = { url, headers: {}, statuses: [200], maxBytes: 10, withinMs: 2000 }
  for (const _ of [1, 2])
    expect(await client.get(sent)).toMatchObject({ body: Buffer.from('hello') })
  return connections
}

test('a server without TLS is asked where the trust is plain (25.6)', async () => {
  expect(await connectionsOf('plain', 1)).toBe(1)
})

test('a server with any certificate is asked where the trust is unverified, else none is (25.6)', async () => {
  expect(await connectionsOf('unverified', 1)).toBe(1)
  await expect(connectionsOf({ ca: serverPair('other').caPem }, 1)).rejects.toThrow(/certificate/)
  await expect(connectionsOf({ ca: null }, 1)).rejects.toThrow(/certificate/)
})

test('a client without connections to keep opens one for each request (25.6)', async () => {
  expect(await connectionsOf('unverified', null)).toBe(2)
  expect(await connectionsOf('plain', null)).toBe(2)
})
