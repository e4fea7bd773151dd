// What a client, or the sign-in process, may use of the gateway by a request to sign in (contract 25.1).
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { PAGE, afterBody, gatewayTo, startBytes, startStandIn } from './signing-in.ts'

const MIB = 1024 ** 2
const WITHIN = { withinMs: 30_000 }
const POST = 'POST /auth/password/login'
const head = (start: string, ...headers: readonly string[]): string =>
  `${[`${start} HTTP/1.1`, 'Host: h', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`

describe('the body of a request to sign in (25.1)', () => {
  test('may have a megabyte', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { ask } = await gatewayTo(process)
    const body = 'x'.repeat(MIB)
    expect(await ask(POST, [`Content-Length: ${MIB}`], body)).toMatchObject({ code: 200 })
    expect(process.received[0]?.body).toHaveLength(MIB)
  })

  test('does not reach the process when its length is more', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { ask } = await gatewayTo(process)
    expect(await ask(POST, [`Content-Length: ${MIB + 1}`], 'x')).toMatchObject({ code: 413 })
    expect(process.received).toEqual([])
  })

  test('is ended when its chunks have more, and the process never takes it for whole', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { ask } = await gatewayTo(process)
    const piece = 'x'.repeat(0x10000)
    const chunks = `10000\r\n${piece}\r\n`.repeat(16)
    const answer = await ask(POST, ['Transfer-Encoding: chunked'], `${chunks}1\r\nx\r\n0\r\n\r\n`)
    expect(answer).toMatchObject({ code: 413 })
    await eventually('the request ends', () => process.sockets.size === 0 || undefined, WITHIN)
    expect(process.received.filter(({ isWhole }) => isWhole)).toEqual([])
  })

  test('streams: what has come of it is sent before the rest', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { connect } = await gatewayTo(process)
    const client = await connect()
    client.write(`${head(POST, 'Content-Length: 6')}abc`)
    await eventually('a part', () => process.received[0]?.body === 'abc' || undefined, WITHIN)
    client.write('def')
    const [answer] = (await once(client, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /)
    expect(process.received[0]).toMatchObject({ body: 'abcdef', isWhole: true })
  })
})

/** A gateway with requests that the process does not answer. */
async function crowded(count: number) {
  const waiting: ServerResponse[] = []
  const process = await startStandIn((_, response) => void waiting.push(response))
  const clock = manualClock(0)
  const gateway = await gatewayTo(process, { clock })
  const clients = await Promise.all(Array.from({ length: count }, () => gateway.connect()))
  const asked = async (): Promise<true> =>
    eventually('all are asked', () => waiting.length === count || undefined, WITHIN)
  return { ...gateway, process, clock, clients, waiting, asked }
}

describe('requests to sign in (25.1)', () => {
  test('are a hundred at a time: the next one is refused, until one of them has its answer', async () => {
    const { clients, asked, ask, waiting, counted, process } = await crowded(100)
    const starts = [head('GET /login'), `${head(POST, 'Content-Length: 3')}abc`]
    for (const [at, client] of clients.entries()) client.write(starts[at % 2] ?? '')
    await asked()
    const isWhole = (): boolean => process.received.every((one) => one.isWhole)
    await eventually('all bodies are there', () => isWhole() || undefined, WITHIN)
    const refused = await ask('GET /login')
    expect(refused).toMatchObject({ code: 429, headers: { 'retry-after': '1' } })
    expect(refused.body).toContain('limit 100')
    expect(counted).toEqual(['limited', 'SignIn GET 429'])
    const answered = Promise.race(clients.map((client) => once(client.resume(), 'close')))
    waiting[0]?.end('page')
    await answered
    const next = ask('GET /login')
    await eventually('it is asked', () => waiting.length === 101 || undefined, WITHIN)
    waiting.at(-1)?.end('page')
    expect(await next).toMatchObject({ code: 200 })
  })

  test('give way while their clients are still sending: the one that has sent for longest is refused', async () => {
    const { clients, asked, ask, waiting, counted } = await crowded(100)
    const [first, second, ...others] = clients as [TLSSocket, TLSSocket, ...TLSSocket[]]
    first.write(head('GET /login'))
    await eventually('one', () => waiting.length === 1 || undefined, WITHIN)
    second.write(`${head(POST, 'Content-Length: 3')}x`)
    await eventually('two', () => waiting.length === 2 || undefined, WITHIN)
    for (const client of others) client.write(`${head(POST, 'Content-Length: 3')}x`)
    await asked()
    const refusal = once(second, 'data')
    const next = ask('GET /login')
    expect(String((await refusal)[0])).toMatch(/^HTTP\/1\.1 429 /)
    await eventually('it is asked', () => waiting.length === 101 || undefined, WITHIN)
    waiting.at(-1)?.end('page')
    expect(await next).toMatchObject({ code: 200 })
    expect(counted).toEqual(['limited', 'SignIn POST 429', 'SignIn GET 200'])
  })

  test('free their places when their clients leave', async () => {
    const { clients, asked, ask, process, waiting } = await crowded(100)
    for (const client of clients) client.write(head('GET /login'))
    await asked()
    for (const client of clients) client.destroy()
    await eventually('all are ended', () => process.sockets.size === 0 || undefined, WITHIN)
    const next = ask('GET /login')
    await eventually('it is asked', () => waiting.length === 101 || undefined, WITHIN)
    waiting.at(-1)?.end('page')
    expect(await next).toMatchObject({ code: 200 })
  })
})

describe('a request to sign in (25.1)', () => {
  test('ends after 30 s when the process does not answer', async () => {
    const { clients, asked, process, clock } = await crowded(1)
    const [client = expect.unreachable()] = clients
    const answer = once(client, 'data')
    client.write(head('GET /login'))
    await asked()
    await clock.advance(29_999)
    expect(process.sockets.size).toBe(1)
    await clock.advance(1)
    expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 504 /)
    await eventually('the process hears', () => process.sockets.size === 0 || undefined, WITHIN)
    expect(clock.pending()).toBe(0)
  })

  test('leaves no timer behind when it has its answer', async () => {
    const { clients, asked, waiting, clock } = await crowded(1)
    const [client = expect.unreachable()] = clients
    client.write(head('GET /login'))
    await asked()
    expect(clock.pending()).toBeGreaterThan(0)
    const closed = once(client.resume(), 'close')
    waiting[0]?.end('page')
    await closed
    expect(clock.pending()).toBe(0)
  })

  test('ends after 30 s when its client is still sending', async () => {
    const { clients, asked, clock } = await crowded(1)
    const [client = expect.unreachable()] = clients
    const answer = once(client, 'data')
    client.write(`${head(POST, 'Content-Length: 9')}x`)
    await asked()
    await clock.advance(30_000)
    expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 504 /)
  })

  test('ends after 30 s when the answer does not end: its client gets no end either', async () => {
    const { clients, asked, waiting, clock } = await crowded(1)
    const [client = expect.unreachable()] = clients
    const answer = once(client, 'data')
    const closed = once(client, 'close')
    client.write(head('GET /login'))
    await asked()
    waiting[0]?.write('half')
    expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 200 /)
    let rest = ''
    client.on('data', (piece: Buffer) => void (rest += piece.toString()))
    await clock.advance(30_000)
    await closed
    expect(rest).not.toContain('0\r\n\r\n')
    expect(clock.pending()).toBe(0)
  })

  test('ends after 30 s when the process accepts connections, and no handshake follows', async () => {
    const silent = createServer()
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(() => void silent.close())
    const clock = manualClock(0)
    const { port } = silent.address() as AddressInfo
    const { connect } = await gatewayTo({ origin: `https://localhost:${port}` }, { clock })
    const client = await connect()
    const opened = once(silent, 'connection')
    const answer = once(client, 'data')
    client.write(head('GET /login'))
    await opened
    const startMs = performance.now()
    await clock.advance(30_000)
    expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 504 /)
    // Not when the connection gives up, which takes five seconds.
    expect(performance.now() - startMs).toBeLessThan(3000)
  })
})

test('clients that leave while no connection opens make no more than a hundred of them (25.1)', async () => {
  let opened = 0
  const silent = createServer((socket) => {
    opened += 1
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
  })
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const { port } = silent.address() as AddressInfo
  const { connect, counted } = await gatewayTo({ origin: `https://localhost:${port}` })
  for (let round = 0; round < 3; round += 1) {
    const clients = await Promise.all(Array.from({ length: 60 }, () => connect()))
    for (const client of clients) client.write(head('GET /login'))
    const most = Math.min((round + 1) * 60, 100)
    await eventually('they wait', () => opened >= most || undefined, WITHIN)
    for (const client of clients) client.destroy()
    const left = (round + 1) * 60
    await eventually('they have left', () => counted.length === left || undefined, WITHIN)
  }
  expect(opened).toBe(100)
})

describe('an answer of the sign-in process (25.1)', () => {
  test('may not have a length of more than a megabyte', async () => {
    const process = await startStandIn((_, response) =>
      response.setHeader('content-length', MIB + 1).end('x'),
    )
    const { ask, warned } = await gatewayTo(process)
    expect(await ask('GET /login')).toMatchObject({ code: 502 })
    expect(warned).toEqual(['lost'])
  })

  test('is cut after a megabyte, without an end', async () => {
    const process = await startStandIn((_, response) => {
      response.write('Z')
      for (let written = 0; written < 40; written += 1) response.write('Z'.repeat(0x10000))
    })
    const { ask } = await gatewayTo(process)
    const { code, text } = await ask('GET /login')
    expect(code).toBe(200)
    expect(text.match(/Z/g)?.length).toBeLessThanOrEqual(MIB)
    expect(text).not.toContain('\r\n0\r\n\r\n')
    await eventually('the process hears', () => process.sockets.size === 0 || undefined, WITHIN)
  })

  test('that its client does not read ends with its client', async () => {
    const process = await startStandIn((_, response) => {
      for (let written = 0; written < 15; written += 1) response.write('Z'.repeat(0x10000))
    })
    const { connect } = await gatewayTo(process)
    const client = await connect()
    client.pause()
    client.write(head('GET /login'))
    await eventually('it is asked', () => process.received.length === 1 || undefined, WITHIN)
    client.destroy()
    await eventually('the process hears', () => process.sockets.size === 0 || undefined, WITHIN)
  })

  test.each([
    {
      name: 'a head that is too long',
      bytes: `HTTP/1.1 200 OK\r\nX-A: ${'y'.repeat(40_000)}\r\n\r\n`,
    },
    {
      name: 'a switch of protocols',
      bytes: 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    },
    { name: 'hundreds of early heads', bytes: 'HTTP/1.1 103 X\r\n\r\n'.repeat(500) },
    {
      name: 'two lengths',
      bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    },
    {
      name: 'a length and chunks',
      bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    },
    {
      name: 'a header with a bare line break',
      bytes: 'HTTP/1.1 200 OK\r\nX-A: b\nSet-Cookie: a=b\r\n\rContent-Length: 0\r\n\r\n',
    },
    {
      name: 'a header with a NUL',
      bytes: 'HTTP/1.1 200 OK\r\nX-A: \0\r\nContent-Length: 0\r\n\r\n',
    },
    { name: 'no HTTP', bytes: '\0'.repeat(1000) },
  ])('with $name is refused', async ({ bytes }) => {
    const process = await startBytes(bytes)
    const { ask, warned } = await gatewayTo(process)
    expect(await ask('GET /login')).toMatchObject({ code: 502 })
    expect(warned).toHaveLength(1)
  })

  test('with more than its length gives nothing to the next client', async () => {
    const forged = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged'
    const process = await startBytes(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok${forged}`)
    const { ask } = await gatewayTo(process)
    for (let times = 0; times < 3; times += 1)
      expect((await ask('GET /login')).text).not.toContain('forged')
  })

  test('in pieces of one byte holds no turn of the event loop for long', async () => {
    const bytes = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nZ\r\n'.repeat(200_000)}0\r\n\r\n`
    const process = await startBytes(bytes)
    const { ask } = await gatewayTo(process)
    const { text } = await ask('GET /login')
    expect(text.match(/Z/g)).toHaveLength(200_000)
  })
})
