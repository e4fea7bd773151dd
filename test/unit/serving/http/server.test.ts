import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Answer, refuse } from '../../../../src/serving/http/answer.ts'
import { type RequestHandler, createHttpServer } from '../../../../src/serving/http/server.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { eventually } from '../../../support/eventually.ts'
import { answersIn, served } from '../../gateway/listening-server.ts'

const hello: Answer = { status: 200, headers: {}, body: Buffer.from('hello') }
const answerHello: RequestHandler = async () => hello

/** A valid GET, which each row changes. */
const get = (lines: readonly string[] = []): string =>
  ['GET / HTTP/1.1', 'Host: h', 'Connection: close', ...lines, '', ''].join('\r\n')

describe('a request that is not valid HTTP never reaches the pipeline (threats A10, A11)', () => {
  test.each([
    {
      name: 'Content-Length and Transfer-Encoding',
      text: get(['Content-Length: 5', 'Transfer-Encoding: chunked']),
    },
    { name: 'two lengths', text: get(['Content-Length: 5', 'Content-Length: 6']) },
    { name: 'an encoding after chunked', text: get(['Transfer-Encoding: chunked, identity']) },
    { name: 'a length with a sign', text: get(['Content-Length: +5']) },
    { name: 'a space before the length', text: get([' Content-Length: 5']) },
    {
      name: 'a space before the length, in the first header',
      text: get().replace('Host', ' Content-Length: 5\r\nHost'),
    },
    { name: 'lines that end with LF only', text: get().replaceAll('\r\n', '\n') },
    { name: 'headers that end with LF only', text: `${get().slice(0, -2)}\n` },
    { name: 'a space before the colon', text: get(['Content-Length : 5']) },
    { name: 'a folded header', text: get(['A: b', ' c']) },
    { name: 'NUL in a header', text: get(['A: b\0c']) },
    { name: 'a control character in the target', text: get().replace('/ ', '/\x01 ') },
    { name: 'an unknown method', text: get().replace('GET', 'BREW') },
    { name: 'no Host', text: get().replace('Host: h\r\n', '') },
    { name: 'HTTP/2 without negotiation', text: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
    { name: 'garbage', text: '\x16\x03\x01\r\n\r\n' },
  ])('$name: 400, and the connection ends', async ({ text }) => {
    let calls = 0
    const { say } = await served(async () => {
      calls += 1
      return hello
    })
    expect(await say(text)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(calls).toBe(0)
  })

  test('headers of more than 16 KiB: 431', async () => {
    const { say } = await served(answerHello)
    const text = await say(get([`A: ${'x'.repeat(17_000)}`]))
    expect(answersIn(text).map(({ code }) => code)).toEqual([431])
  })
})

describe('no part of a body becomes a request (threats A8, A11)', () => {
  /** Reads and records the body of each request. */
  async function taking() {
    const taken: Promise<object>[] = []
    const server = await served(async ({ target, headers, rawHeaders, body }) => {
      const sent = buffer(body).then(String, () => 'broken off')
      const isSmuggled = 'a' in headers || rawHeaders.includes('A')
      taken.push(sent.then((all) => ({ target, sent: all, isSmuggled })))
      await sent
      return hello
    })
    return { ...server, taken: () => Promise.all(taken) }
  }
  const post = (lines: readonly string[], body: string): string =>
    `${['POST / HTTP/1.1', 'Host: h', ...lines, '', ''].join('\r\n')}${body}`
  const chunked = (body: string): string => post(['Transfer-Encoding: chunked'], body)
  const NEXT = get().replace('/ ', '/next ')
  const whole = { target: '/', sent: 'hello', isSmuggled: false }
  const broken = { ...whole, sent: 'broken off' }
  const next = { target: '/next', sent: '', isSmuggled: false }

  test.each([
    {
      name: 'a body in an unknown encoding',
      text: post(['Transfer-Encoding: xchunked'], `0\r\n\r\n${NEXT}`),
      codes: [400],
      is: [broken],
    },
    {
      name: 'trailers are not headers',
      text: chunked(`5\r\nhello\r\n0\r\nA: b\r\n\r\n${NEXT}`),
      codes: [200, 200],
      is: [whole, next],
    },
    {
      name: 'a flood of trailers',
      text: chunked(`5\r\nhello\r\n0\r\n${'A: b\r\n'.repeat(5000)}\r\n${NEXT}`),
      codes: [431],
      is: [broken],
    },
    {
      name: 'a flood of chunk extensions',
      text: chunked(`5;${'a'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n${NEXT}`),
      codes: [413],
      is: [broken],
    },
    {
      name: 'a chunk that ends with LF only',
      text: chunked(`5\nhello\r\n0\r\n\r\n${NEXT}`),
      codes: [400],
      is: [broken],
    },
    {
      name: 'a chunk shorter than its size',
      text: chunked(`fffffffffffffffff\r\nhello\r\n${NEXT}`),
      codes: [400],
      is: [broken],
    },
    {
      name: 'the body of a GET',
      text: `${get(['Content-Length: 5']).replace('Connection: close\r\n', '')}hello${NEXT}`,
      codes: [200, 200],
      is: [whole, next],
    },
    {
      name: 'a request after an upgrade',
      text: post(['Connection: upgrade', 'Upgrade: x', 'Content-Length: 5'], `hello${NEXT}`),
      codes: [200],
      is: [{ ...whole, sent: '' }],
    },
    {
      name: 'a request after a CONNECT',
      text: `CONNECT h:1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello${NEXT}`,
      codes: [200],
      is: [{ ...whole, target: 'h:1', sent: '' }],
    },
  ])('$name', async ({ text: sent, codes, is }) => {
    const { say, taken } = await taking()
    expect(answersIn(await say(sent)).map(({ code }) => code)).toEqual(codes)
    expect(await taken()).toEqual(is)
  })
})

describe('a response', () => {
  test('has its length, and forbids a browser to guess its type', async () => {
    const { say } = await served(answerHello)
    expect(answersIn(await say(get()))).toMatchObject([
      {
        code: 200,
        body: 'hello',
        headers: { 'content-length': '5', 'x-content-type-options': 'nosniff' },
      },
    ])
  })

  test('of 304 has no length', async () => {
    const { say } = await served(async () => ({ ...hello, status: 304, body: Buffer.alloc(0) }))
    const [answer] = answersIn(await say(get()))
    expect(answer?.code).toBe(304)
    expect(answer?.headers).not.toHaveProperty('content-length')
  })

  test('of a failure is a Status of Kubernetes', () => {
    const { status, headers, body } = refuse({
      name: 'notYet',
      code: 503,
      reason: 'ServiceUnavailable',
      message: 'not yet',
      headers: { 'retry-after': '5' },
      because: '',
    })
    expect({ status, headers }).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
    expect(JSON.parse(body.toString())).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'not yet',
      reason: 'ServiceUnavailable',
      code: 503,
    })
  })

  test.each([
    { name: 'whole', body: () => Buffer.from('hello') },
    { name: 'streamed', body: () => Readable.from([Buffer.from('hello')]) },
  ])(
    'that comes $name has the headers that the API server sent, byte by byte',
    async ({ body }) => {
      const warning = '299 - "имя: ça ne va pas"'
      // Node and undici give each byte of a header as one character.
      const headers = { warning: Buffer.from(warning).toString('latin1') }
      const { say } = await served(async () => ({ status: 200, headers, body: body() }))
      expect(answersIn(await say(get()))[0]).toMatchObject({ code: 200, headers: { warning } })
    },
  )

  test('that streams has its headers sent before the first byte of its body', async () => {
    const { connect } = await served(async () => ({
      status: 200,
      headers: {},
      body: new Readable({ read: () => undefined }),
    }))
    const socket = await connect()
    socket.write(get())
    const [part] = await once(socket, 'data')
    expect(String(part)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s)
  })

  test.each([
    { name: 'has an invalid header', broken: { headers: { a: 'b\nc' } } },
    { name: 'has an invalid status', broken: { status: 7 } },
  ])('that $name ends only its connection', async (row) => {
    const body = new Readable({ read: () => undefined })
    const { connect, say, observed } = await served(async ({ target }) =>
      target === '/' ? hello : { status: 200, headers: {}, body, ...row.broken },
    )
    for (const request of [get(), get(['Content-Length: 300000'])]) {
      const socket = await connect()
      const closed = once(socket, 'close')
      socket.write(`${request.replace('/ ', '/broken ')}${'x'.repeat(1000)}`)
      await closed
    }
    expect(observed).toEqual([expect.any(Error), expect.any(Error)])
    expect(body.destroyed).toBe(true)
    expect(answersIn(await say(get()))).toMatchObject([{ code: 200 }])
  })

  test('may come after its client has left', async () => {
    const late = Promise.withResolvers<Answer>()
    const { connect, say } = await served(({ target }) =>
      target === '/' ? Promise.resolve(hello) : late.promise,
    )
    const requests = ['GET /late', 'CONNECT h:1'].map(
      (start) => `${start} HTTP/1.1\r\nHost: h\r\n\r\n`,
    )
    for (const request of requests) {
      const socket = await connect()
      socket.write(request)
      socket.destroy()
    }
    late.resolve(hello)
    expect(answersIn(await say(get()))).toMatchObject([{ code: 200 }])
  })
})

describe('TLS (contract 9.7)', () => {
  test('has no version below 1.2', async () => {
    const { connect } = await served(answerHello)
    await expect(connect({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).rejects.toThrow(
      /protocol/,
    )
    expect((await connect({ maxVersion: 'TLSv1.2' })).getProtocol()).toBe('TLSv1.2')
    expect((await connect()).getProtocol()).toBe('TLSv1.3')
  })

  test('negotiates HTTP/1.1', async () => {
    const { connect } = await served(answerHello)
    const socket = await connect({ ALPNProtocols: ['h2', 'http/1.1'] })
    expect(socket.alpnProtocol).toBe('http/1.1')
    await expect(connect({ ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/)
  })

  test('shows a new certificate to new connections, and keeps open ones', async () => {
    const { server, connect } = await served(answerHello)
    const open = await connect()
    const next = serverPair('next')
    server.show(next)
    const fresh = await connect({ ca: next.caPem })
    expect(fresh.getPeerCertificate().subject.CN).toBe('next')
    await expect(connect()).rejects.toThrow(/certificate/)
    open.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    const [part] = await once(open, 'data')
    expect(String(part)).toMatch(/^HTTP\/1\.1 200 OK/)
  })
})

describe('the shutdown of the server (contract 8.3)', () => {
  test('ends idle connections at once, and others after the response to their request', async () => {
    const held = Promise.withResolvers<Answer>()
    const calls: string[] = []
    const { server, connect } = await served(({ target }) => {
      calls.push(target)
      return target === '/held' ? held.promise : Promise.resolve(hello)
    })
    const idle = await connect()
    idle.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    await once(idle, 'data')
    const busy = await connect()
    busy.write('GET /held HTTP/1.1\r\nHost: h\r\n\r\n')
    await eventually('it is under way', () => calls.includes('/held') || undefined, {
      withinMs: 10_000,
    })
    const closed = server.close()
    await once(idle, 'close')
    await expect(connect()).rejects.toThrow(/ECONNREFUSED/)
    held.resolve(hello)
    const [part] = await once(busy, 'data')
    expect(String(part)).toMatch(/^HTTP\/1\.1 200 OK/)
    expect(String(part)).toMatch(/\r\nconnection: close\r\n/i)
    await closed
  })

  test('the error names an address that is in use', async () => {
    const { port } = await served(answerHello)
    const handler = { respond: answerHello, refused: () => hello }
    const second = createHttpServer({ dropped: () => undefined, unsent: () => undefined })
    await expect(second.listen({ host: '127.0.0.1', port }, handler)).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: EADDRINUSE`,
    )
  })
})

test('a client by IPv4 has an IPv4 address, also on a socket for both families (contract 21.3)', async () => {
  const server = createHttpServer({ dropped: () => undefined, unsent: () => undefined })
  const pair = serverPair('localhost')
  server.show(pair)
  onTestFinished(() => server.close())
  const clients: string[] = []
  const respond: RequestHandler = async ({ remoteAddress }) => {
    clients.push(remoteAddress)
    return hello
  }
  const port = await server.listen({ host: null, port: 0 }, { respond, refused: () => hello })
  const socket = connectTls({ host: '127.0.0.1', port, ca: pair.caPem, servername: 'localhost' })
  socket.on('error', () => undefined).resume()
  socket.write(get())
  await once(socket, 'close')
  expect(clients).toEqual(['127.0.0.1'])
})
