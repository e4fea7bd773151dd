// Which connections stay open: those with a stream, however silent, and not idle ones (contract 13.3,
// threats A11).
import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import type { RequestHandler } from '../../../../src/serving/http/server.ts'
import { eventually } from '../../../support/eventually.ts'
import { DROPPED, type Served, answersIn, served } from '../../gateway/listening-server.ts'

const SOON = { withinMs: 20_000 }
/** Node waits for a second more than it is set to. */
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

/** Streams, of which the test says what comes, a request without an answer, and a refusal for the rest. */
function answering(): { readonly respond: RequestHandler; readonly streams: readonly Readable[] } {
  const streams: Readable[] = []
  const respond: RequestHandler = async ({ target }) => {
    if (target === '/never') return new Promise(() => undefined)
    const body = BODIES[target]?.()
    if (!body) return { status: 401, headers: {}, body: Buffer.from('no') }
    streams.push(body)
    return { status: 200, headers: {}, body }
  }
  return { respond, streams }
}

/** A connection, with what came of it until now. */
interface Client {
  readonly socket: TLSSocket
  readonly said: () => string
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
  return { socket, said: () => text, ask, isClosed: () => isClosed }
}

const closed = (what: string, { isClosed }: Client): Promise<boolean> =>
  eventually(`${what} is closed`, () => isClosed() || undefined, SOON)

describe('the idle timeout closes', () => {
  test.each([
    { name: 'that had its answer', asks: ['/'] },
    { name: 'that had several', asks: ['/', '/', '/'] },
    { name: 'that asked for nothing yet', asks: [] },
  ])('a connection $name', async ({ asks }) => {
    const idle = await client(await served(answering().respond, SHORT))
    for (const target of asks) await idle.ask(target)
    await closed('the idle connection', idle)
    expect(answersIn(idle.said()).map(({ code }) => code)).toEqual(asks.map(() => 401))
  })

  test('a connection whose client does not take its answer', async () => {
    const { respond, streams } = answering()
    const server = await served(respond, SHORT)
    const slow = await client(server)
    await slow.ask('/endless')
    slow.socket.pause()
    await eventually('it is given up', () => streams[0]?.destroyed || undefined, SOON)
  })

  test('no connection that waits for the gateway, however silent it is', async () => {
    const { respond, streams } = answering()
    const server = await served(respond, SHORT)
    const watching = await client(server)
    await watching.ask('/stream')
    const waiting = await client(server)
    await waiting.ask('/never')
    const idle = await client(server)
    await idle.ask('/')
    // It takes its time: for the others, the limit has come many times meanwhile.
    await closed('the idle connection', idle)
    streams[0]?.push('late news')
    await eventually('the news', () => watching.said().includes('late news') || undefined, SOON)
    expect([watching, waiting].map(({ isClosed }) => isClosed())).toEqual([false, false])
  })
})

describe('a server with six of eight connections taken', () => {
  const FEW = { most: 8 }

  /** Five connections: a stream, one that asked for nothing yet, and those that had their answers. */
  async function nearlyCrowded() {
    const { respond, streams } = answering()
    const server = await served(respond, FEW)
    const [stream, fresh, ...idle] = [
      await client(server),
      await client(server),
      await client(server),
      await client(server),
      await client(server),
    ]
    await stream?.ask('/stream')
    for (const { ask } of idle) await ask('/')
    if (!stream || !fresh) throw new Error('there are five')
    return { server, streams, stream, fresh, idle }
  }

  test('keeps connections open for further requests below that number', async () => {
    const { idle } = await nearlyCrowded()
    for (const { ask } of idle) await ask('/')
    for (const { said } of idle)
      expect(answersIn(said())).toMatchObject([
        { headers: { connection: 'keep-alive' } },
        { headers: { connection: 'keep-alive' } },
      ])
  })

  test('closes idle connections to make room, and keeps the others', async () => {
    const { server, streams, stream, fresh, idle } = await nearlyCrowded()
    const next = await client(server)
    for (const each of idle) await closed('an idle connection', each)
    streams[0]?.push('news')
    await eventually('the news', () => stream.said().includes('news') || undefined, SOON)
    for (const each of [fresh, next]) {
      await each.ask('/')
      expect(answersIn(each.said())).toMatchObject([{ code: 401 }])
    }
  })

  test('closes each connection behind its answer, until there is room again', async () => {
    const { server, idle } = await nearlyCrowded()
    for (const each of idle) each.socket.write('GET /never HTTP/1.1\r\nHost: h\r\n\r\n')
    const next = await client(server)
    const body = 'x'.repeat(100_000)
    next.socket.write(`POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await closed('the connection that had its answer', next)
    expect(answersIn(next.said())).toMatchObject([{ code: 401, headers: { connection: 'close' } }])

    for (const { socket } of idle.slice(0, 2)) socket.destroy()
    await eventually(
      'an answer that is not the last',
      async () => {
        // Another each time: the server may not know yet that the two are gone.
        const later = await client(server)
        await later.ask('/')
        return answersIn(later.said())[0]?.headers['connection'] === 'keep-alive' || undefined
      },
      SOON,
    )
  })

  test('refuses a connection beyond eight, and reports it', async () => {
    const { server } = await nearlyCrowded()
    const held: Client[] = []
    // Idle ones have gone: the places are filled by those that wait.
    while (server.observed.length === 0) {
      const next = await client(server).catch(() => null)
      if (next === null) continue
      held.push(next)
      await next.ask('/never')
    }
    expect(server.observed).toEqual([DROPPED])
    expect(held.map(({ isClosed }) => isClosed())).toEqual(held.map(() => false))
    held.pop()?.socket.destroy()
    await eventually('there is room', () => client(server), SOON)
  })
})
