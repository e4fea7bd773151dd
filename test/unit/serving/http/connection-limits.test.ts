// Limits of connections: the idle timeout, and room for new ones; open streams stay, however silent (contract 13.3,
// threats A11).
import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { RequestHandler } from '../../../../src/serving/http/server.ts'
import { eventually } from '../../../support/eventually.ts'
import { DROPPED, type Served, answersIn, served } from '../../gateway/listening-server.ts'

const SOON = { withinMs: 20_000 }
/** Short timeouts; Node waits a second longer than configured. */
const SHORT = { idleMs: 1, stalledMs: 20 }

const PIECE = Buffer.alloc(65_536)
const BODIES: Readonly<Record<string, () => Readable>> = {
  '/stream': () => new Readable({ read: () => undefined }),
  '/endless': () =>
    new Readable({
      read() {
        this.push(PIECE)
      },
    }),
}

/**
 * Streams that a test writes to (/stream) or that never end (/endless), no answer to /never, and 401 otherwise. Every request
 * has a valid credential, but those to /stranger.
 */
function streamingHandler(): {
  readonly respond: RequestHandler
  readonly streams: readonly Readable[]
  /** How many answers are over for the server: their clients have them a moment before. */
  readonly ended: () => number
} {
  const streams: Readable[] = []
  let ended = 0
  const respond: RequestHandler = async (call) => {
    const { target } = call
    if (target !== '/stranger') call.authenticated()
    if (target === '/never') return new Promise(() => undefined)
    const body = BODIES[target]?.()
    if (!body)
      return { status: 401, headers: {}, body: Buffer.from('no'), ended: () => void (ended += 1) }
    streams.push(body)
    return { status: 200, headers: {}, body }
  }
  return { respond, streams, ended: () => ended }
}

/** A client connection, with the text received so far. */
interface Client {
  readonly socket: TLSSocket
  readonly received: () => string
  readonly ask: (target: string) => Promise<void>
  readonly isClosed: () => boolean
}

async function client({ connect }: Served): Promise<Client> {
  const socket = await connect()
  let text = ''
  let isClosed = false
  socket.setEncoding('utf8').on('data', (part: string) => (text += part))
  socket.on('error', () => undefined).once('close', () => (isClosed = true))
  const ask = async (target: string): Promise<void> => {
    socket.write(`GET ${target} HTTP/1.1\r\nHost: h\r\n\r\n`)
    if (target !== '/never') await once(socket, 'data')
  }
  return { socket, received: () => text, ask, isClosed: () => isClosed }
}

const closed = (what: string, { isClosed }: Client): Promise<boolean> =>
  eventually(`${what} is closed`, () => isClosed() || undefined, SOON)

describe('the idle timeout closes', () => {
  test.each([
    { name: 'after one response', asks: ['/'] },
    { name: 'after several responses', asks: ['/', '/', '/'] },
    { name: 'without a request', asks: [] },
  ])('a connection $name', async ({ asks }) => {
    const idle = await client(await served(streamingHandler().respond, SHORT))
    for (const target of asks) await idle.ask(target)
    await closed('the idle connection', idle)
    expect(answersIn(idle.received()).map(({ code }) => code)).toEqual(asks.map(() => 401))
  })

  test('a connection whose client does not read the response', async () => {
    const { respond, streams } = streamingHandler()
    const server = await served(respond, SHORT)
    const slow = await client(server)
    await slow.ask('/endless')
    slow.socket.pause()
    await eventually('the body is destroyed', () => streams[0]?.destroyed || undefined, SOON)
  })

  test('a connection whose client does not read the response, but sends empty lines', async () => {
    const { respond, streams } = streamingHandler()
    const slow = await client(await served(respond, { stalledMs: 200 }))
    await slow.ask('/endless')
    slow.socket.pause()
    const nudging = setInterval(() => slow.socket.write('\r\n'), 20)
    onTestFinished(() => clearInterval(nudging))
    await eventually('the body is destroyed', () => streams[0]?.destroyed || undefined, SOON)
  })

  test('no connection that waits for the server, however silent it is', async () => {
    const { respond, streams } = streamingHandler()
    const server = await served(respond, SHORT)
    const watching = await client(server)
    await watching.ask('/stream')
    const waiting = await client(server)
    await waiting.ask('/never')
    const idle = await client(server)
    await idle.ask('/')
    // By then the others were silent for much longer than the limit.
    await closed('the idle connection', idle)
    streams[0]?.push('late news')
    await eventually('the news', () => watching.received().includes('late news') || undefined, SOON)
    expect([watching, waiting].map(({ isClosed }) => isClosed())).toEqual([false, false])
  })
})

describe('a server near its limit of eight connections', () => {
  const FEW = { maxConnections: 8 }

  /** Five used connections: one with a stream, one that waits, three idle ones after a response; and one without a request. */
  async function sixConnectionsTaken() {
    const { respond, streams } = streamingHandler()
    const server = await served(respond, FEW)
    const [stream, unused, waiting, ...idle] = [
      await client(server),
      await client(server),
      await client(server),
      await client(server),
      await client(server),
      await client(server),
    ]
    await stream?.ask('/stream')
    await waiting?.ask('/never')
    for (const { ask } of idle) await ask('/')
    if (!stream || !unused) throw new Error('there are six')
    return { server, streams, stream, unused, idle }
  }

  test('keeps connections open below six', async () => {
    const { idle } = await sixConnectionsTaken()
    for (const { ask } of idle) await ask('/')
    for (const { received } of idle)
      expect(answersIn(received())).toMatchObject([
        { headers: { connection: 'keep-alive' } },
        { headers: { connection: 'keep-alive' } },
      ])
  })

  test('closes idle connections when a sixth is used, and keeps the others', async () => {
    const { server, streams, stream, unused, idle } = await sixConnectionsTaken()
    await client(server)
    const next = await client(server)
    for (const { ask } of idle) await ask('/')
    await next.ask('/')
    for (const each of idle) await closed('an idle connection', each)
    streams[0]?.push('news')
    await eventually('the news', () => stream.received().includes('news') || undefined, SOON)
    await unused.ask('/')
    for (const { received } of [unused, next])
      expect(answersIn(received())).toMatchObject([{ code: 401 }])
  })

  test('closes only those on which no credential was valid, while callers are few', async () => {
    const { respond, ended } = streamingHandler()
    const server = await served(respond, FEW)
    const callers = [await client(server), await client(server)]
    // Their first request is refused, as with a key that is known a moment later.
    for (const { ask } of callers) await ask('/stranger')
    for (const { ask } of callers) await ask('/')
    const strangers = Array.from({ length: 4 }, () => client(server))
    for (const [at, stranger] of strangers.entries()) {
      // A connection is idle once its answer is over, and closed only then.
      await eventually('all answers are over', () => ended() === 4 + at || undefined, SOON)
      await (await stranger).ask('/stranger')
    }
    for (const stranger of strangers.slice(0, 3)) await closed('an idle stranger', await stranger)
    for (let more = 0; more < 20; more += 1) await (await client(server)).ask('/stranger')
    for (const { ask } of callers) await ask('/')
    for (const { received } of callers)
      expect(answersIn(received()).map(({ headers }) => headers['connection'])).toEqual([
        'keep-alive',
        'keep-alive',
        'keep-alive',
      ])
    expect(server.observed).toEqual([])
  })

  test('closes each connection after its response, until there is room again', async () => {
    const { server, idle } = await sixConnectionsTaken()
    for (const each of idle) each.socket.write('GET /never HTTP/1.1\r\nHost: h\r\n\r\n')
    const next = await client(server)
    const body = 'x'.repeat(100_000)
    next.socket.write(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await closed('the connection after its response', next)
    expect(answersIn(next.received())).toMatchObject([
      { code: 401, headers: { connection: 'close' } },
    ])

    for (const { socket } of idle.slice(0, 2)) socket.destroy()
    await eventually(
      'a response with keep-alive',
      async () => {
        // A new connection each time, since the server may not have seen the two leave yet.
        const later = await client(server)
        await later.ask('/')
        return answersIn(later.received())[0]?.headers['connection'] === 'keep-alive' || undefined
      },
      SOON,
    )
  })

  test('refuses a connection beyond eight, and reports it', async () => {
    const { server } = await sixConnectionsTaken()
    const connected: Client[] = []
    // Idle connections are closed first, so only waiting ones fill the limit.
    while (server.observed.length === 0) {
      const next = await client(server).catch(() => null)
      if (next === null) continue
      connected.push(next)
      await next.ask('/never')
    }
    expect(server.observed).toEqual([DROPPED])
    expect(connected.map(({ isClosed }) => isClosed())).toEqual(connected.map(() => false))
    connected.pop()?.socket.destroy()
    await eventually('there is room', () => client(server), SOON)
  })
})
