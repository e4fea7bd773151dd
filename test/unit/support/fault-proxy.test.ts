import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { createAuthority, issueServing } from '../../../tools/control-plane/certificates.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import {
  type FaultProxy,
  first,
  isWrite,
  nth,
  refusal,
  startProxy,
} from '../../support/fault-proxy.ts'

// A server that records requests, and streams a line when the test says so.
const directory = await mkdtemp(join(tmpdir(), 'proxy-'))
const authority = createAuthority('server')
const { certificatePem: cert, keyPem: key } = issueServing(authority, ['127.0.0.1'])
const heard: string[] = []
const streams = new Set<{ write(line: string): void; end(): void; destroy(): void }>()
const server = createServer({ cert, key }, (incoming, outgoing) => {
  void text(incoming).then((body) => {
    heard.push(`${incoming.method} ${incoming.url} ${body}`.trimEnd())
    outgoing.writeHead(incoming.method === 'POST' ? 201 : 200, { 'x-from': 'server' })
    if (incoming.url?.includes('watch=true')) {
      streams.add(outgoing)
      outgoing.once('close', () => streams.delete(outgoing))
      outgoing.write('first\n')
    } else outgoing.end(`for ${incoming.headers.authorization}`)
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const caFile = join(directory, 'ca.crt')
await writeFile(caFile, authority.certificatePem)
const upstream = { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, caFile }

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await rm(directory, { recursive: true })
})

beforeEach(() => {
  heard.length = 0
})

const soon = { withinMs: 5_000 }

test('passes requests and responses unchanged, and records them', async () => {
  await using proxy = await startProxy(upstream)
  const { status, from, body } = await ask(proxy, 'POST', '/things?dry=1', '{"a":1}')
  expect({ status, from, body }).toEqual({ status: 201, from: 'server', body: 'for Bearer t' })
  expect(heard).toEqual(['POST /things?dry=1 {"a":1}'])
  expect(proxy.requests).toEqual([
    expect.objectContaining({ method: 'POST', path: '/things', body: '{"a":1}', status: 201 }),
  ])
  expect(proxy.requests[0]?.query.get('dry')).toBe('1')
})

test('the fault proxy answers in place of the server', async () => {
  await using proxy = await startProxy(upstream)
  const rule = proxy.on(first(1, isWrite), refusal(429, 7))
  const refused = await ask(proxy, 'POST', '/things')
  expect(refused).toMatchObject({ status: 429, retryAfter: '7' })
  expect(JSON.parse(refused.body)).toMatchObject({ kind: 'Status', code: 429 })
  expect(heard).toEqual([])
  expect((await ask(proxy, 'POST', '/things')).status).toBe(201)
  expect(rule.hits.map(({ status }) => status)).toEqual([429])
})

test('breaks the connection of the nth request only', async () => {
  await using proxy = await startProxy(upstream)
  proxy.on(nth(2, isWrite), { kind: 'destroy' })
  expect((await ask(proxy, 'POST', '/1')).status).toBe(201)
  await expect(ask(proxy, 'POST', '/2')).rejects.toThrow(/hang up|ECONNRESET/)
  expect((await ask(proxy, 'POST', '/3')).status).toBe(201)
  expect(heard).toEqual(['POST /1', 'POST /3'])
})

test('holds a request until it is released', async () => {
  await using proxy = await startProxy(upstream)
  const rule = proxy.on(isWrite, { kind: 'hold' })
  const answer = ask(proxy, 'POST', '/held')
  expect(await rule.reached(soon)).toMatchObject({ path: '/held', status: null })
  expect(heard).toEqual([])
  rule.release()
  expect((await answer).status).toBe(201)
  expect(heard).toEqual(['POST /held'])
})

test('a released request arrives late when its client is gone, a removed one never', async () => {
  await using proxy = await startProxy(upstream)
  for (const end of ['remove', 'release'] as const) {
    const rule = proxy.on(isWrite, { kind: 'hold' })
    const client = new AbortController()
    const answer = ask(proxy, 'POST', `/${end}`, '', client.signal)
    await rule.reached(soon)
    client.abort()
    await expect(answer).rejects.toThrow('aborted')
    rule[end]()
  }
  await eventually('the late request arrives', () => heard[0], soon)
  expect(heard).toEqual(['POST /release'])
})

test('the fault proxy drops the response after the server has handled the request', async () => {
  await using proxy = await startProxy(upstream)
  const rule = proxy.on(isWrite, { kind: 'swallow' })
  let told = false
  const answer = ask(proxy, 'POST', '/done').finally(() => (told = true))
  expect(await rule.reached(soon)).toMatchObject({ path: '/done', status: 201 })
  expect(heard).toEqual(['POST /done'])
  expect(told).toBe(false)
  rule.release()
  await expect(answer).rejects.toThrow(/hang up|ECONNRESET/)
})

test('delays a request', async () => {
  await using proxy = await startProxy(upstream)
  proxy.on(isWrite, { kind: 'delay', ms: 100 })
  const startMs = performance.now()
  expect((await ask(proxy, 'POST', '/late')).status).toBe(201)
  expect(performance.now() - startMs).toBeGreaterThan(99)
})

test('streams, stalls, and aborts responses', async () => {
  await using proxy = await startProxy(upstream)
  const frozen = await watch(proxy, '/frozen')
  const cut = await watch(proxy, '/cut')
  await eventually(
    'both streams flow',
    () => (frozen.got + cut.got).length === 12 || undefined,
    soon,
  )

  proxy.freeze(({ path }) => path === '/frozen')
  proxy.cut(({ path }) => path === '/cut')
  await expect(cut.ended).rejects.toThrow('aborted')
  for (const stream of streams) {
    stream.write('second\n')
    stream.end()
  }
  await staysTrue('the frozen stream is silent', () => expect(frozen.state).toBe('open'), {
    forMs: 500,
  })
  expect(frozen.got).toBe('first\n')

  const fresh = await watch(proxy, '/frozen')
  await eventually('a new stream flows', () => fresh.got || undefined, soon)
  for (const stream of streams) stream.end()
  await fresh.ended
})

test('passes on that a server aborts or is unreachable', async () => {
  await using proxy = await startProxy(upstream)
  const broken = await watch(proxy, '/broken')
  for (const stream of streams) stream.destroy()
  await expect(broken.ended).rejects.toThrow('aborted')

  await using nowhere = await startProxy({ url: 'https://127.0.0.1:1', caFile })
  await expect(ask(nowhere, 'GET', '/')).rejects.toThrow(/hang up|ECONNRESET/)
})

test('the fault proxy redirects a kubeconfig with a token, refuses one with a client certificate', async () => {
  await using proxy = await startProxy(upstream)
  const config = (user: object) => ({
    clusters: [{ name: 'c', cluster: { server: upstream.url, 'certificate-authority-data': 'x' } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })
  const [token, certificate] = [join(directory, 'token'), join(directory, 'certificate')]
  await writeFile(token, JSON.stringify(config({ tokenFile: '/t' })))
  await writeFile(certificate, JSON.stringify(config({ 'client-certificate-data': 'x' })))

  const redirected = await proxy.kubeconfig(token)
  const written = JSON.parse(await readFile(redirected, 'utf8')) as ReturnType<typeof config>
  expect(written.clusters[0]?.cluster.server).toBe(proxy.url)
  expect(written.users).toEqual([{ name: 'u', user: { tokenFile: '/t' } }])
  await expect(proxy.kubeconfig(certificate)).rejects.toThrow("use a ServiceAccount's token")
})

interface Asked {
  readonly status: number
  readonly from: string | undefined
  readonly retryAfter: string | undefined
  readonly body: string
}

async function ask(
  proxy: FaultProxy,
  method: string,
  path: string,
  body = '',
  signal?: AbortSignal,
): Promise<Asked> {
  const incoming = await open(proxy, method, path, body, signal)
  const { statusCode: status = 0, headers } = incoming
  const from = headers['x-from'] as string | undefined
  return { status, from, retryAfter: headers['retry-after'], body: await text(incoming) }
}

/** An open stream, with the lines received so far. */
async function watch(proxy: FaultProxy, path: string) {
  const incoming = await open(proxy, 'GET', `${path}?watch=true`, '')
  const stream = { got: '', state: 'open', ended: Promise.resolve() }
  incoming.on('data', (chunk: Buffer) => (stream.got += chunk.toString()))
  stream.ended = new Promise((resolve, reject) => {
    incoming.once('end', resolve).once('error', reject)
  })
  const done = () => (stream.state = 'ended')
  stream.ended.then(done, done)
  return stream
}

function open(
  proxy: FaultProxy,
  method: string,
  path: string,
  body: string,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = {
    method,
    headers: { authorization: 'Bearer t' },
    rejectUnauthorized: false,
    agent: false,
    ...(signal ? { signal } : {}),
  }
  request(`${proxy.url}${path}`, options).once('response', resolve).once('error', reject).end(body)
  return promise
}
