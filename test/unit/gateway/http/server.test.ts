import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { Answer } from '../../../../src/gateway/http/answer.ts'
import { failure } from '../../../../src/gateway/http/answer.ts'
import { createGatewayServer, type Respond } from '../../../../src/gateway/http/server.ts'
import { eventually } from '../../../support/eventually.ts'
import { serverPair } from '../../../support/server-pair.ts'
import { answersIn, served } from '../served.ts'

const hello: Answer = { status: 200, headers: {}, body: Buffer.from('hello') }
const greet: Respond = async () => hello

/** A request in the form that every row differs from. */
const get = (lines: readonly string[] = []): string =>
  ['GET / HTTP/1.1', 'Host: h', 'Connection: close', ...lines, '', ''].join('\r\n')

describe('what is no HTTP never gets to the pipeline (threats A10, A11)', () => {
  test.each([
    {
      name: 'Content-Length and Transfer-Encoding',
      text: get(['Content-Length: 5', 'Transfer-Encoding: chunked']),
    },
    { name: 'two lengths', text: get(['Content-Length: 5', 'Content-Length: 6']) },
    { name: 'an encoding behind chunked', text: get(['Transfer-Encoding: chunked, identity']) },
    { name: 'a space before the colon', text: get(['Content-Length : 5']) },
    { name: 'a folded header', text: get(['A: b', ' c']) },
    { name: 'NUL in a header', text: get(['A: b\0c']) },
    { name: 'a control character in the target', text: get().replace('/ ', '/\x01 ') },
    { name: 'an unknown method', text: get().replace('GET', 'BREW') },
    { name: 'no Host', text: get().replace('Host: h\r\n', '') },
    { name: 'HTTP/2 without being asked', text: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
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
    const { say } = await served(greet)
    const text = await say(get([`A: ${'x'.repeat(17_000)}`]))
    expect(answersIn(text).map(({ code }) => code)).toEqual([431])
  })
})

describe('an answer', () => {
  test('has its length, and no guesses of a browser about it', async () => {
    const { say } = await served(greet)
    expect(answersIn(await say(get()))).toMatchObject([
      {
        code: 200,
        body: 'hello',
        headers: { 'content-length': '5', 'x-content-type-options': 'nosniff' },
      },
    ])
  })

  test('that is not modified has no length', async () => {
    const { say } = await served(async () => ({ ...hello, status: 304, body: Buffer.alloc(0) }))
    const [answer] = answersIn(await say(get()))
    expect(answer?.code).toBe(304)
    expect(answer?.headers).not.toHaveProperty('content-length')
  })

  test('of a failure is a Status of Kubernetes', () => {
    const { status, headers, body } = failure('ServiceUnavailable', 'not yet', {
      'retry-after': '5',
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

  test('may find nobody there any more', async () => {
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
  test('nothing older than 1.2', async () => {
    const { connect } = await served(greet)
    await expect(connect({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).rejects.toThrow(
      /protocol/,
    )
    expect((await connect({ maxVersion: 'TLSv1.2' })).getProtocol()).toBe('TLSv1.2')
    expect((await connect()).getProtocol()).toBe('TLSv1.3')
  })

  test('HTTP/1.1 is what is spoken', async () => {
    const { connect } = await served(greet)
    const socket = await connect({ ALPNProtocols: ['h2', 'http/1.1'] })
    expect(socket.alpnProtocol).toBe('http/1.1')
    await expect(connect({ ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/)
  })

  test('a new certificate is shown to new connections, and open ones go on', async () => {
    const { server, connect } = await served(greet)
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

describe('the end (contract 8.3)', () => {
  test('idle connections end at once, and a request under way is answered first', async () => {
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

  test('an address that is taken is named', async () => {
    const { port } = await served(greet)
    const second = createGatewayServer()
    await expect(second.listen({ host: '127.0.0.1', port }, greet)).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: EADDRINUSE`,
    )
  })
})
