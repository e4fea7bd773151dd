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

describe('a connection on which nobody waits for anything is closed', () => {
  test.each([
    { name: 'that had its answer', asks: ['/'] },
    { name: 'that had several', asks: ['/', '/', '/'] },
    { name: 'that asked for nothing yet', asks: [] },
  ])('one $name', async ({ asks }) => {
    const idle = await client(await served(answering().respond, SHORT))
    for (const target of asks) await idle.ask(target)
    await closed('the idle connection', idle)
    expect(answersIn(idle.said()).map(({ code }) => code)).toEqual(asks.map(() => 401))
  })

  test('one with an answer that nobody takes', async () => {
    const { respond, streams } = answering()
    const server = await served(respond, SHORT)
    const slow = await client(server)
    await slow.ask('/endless')
    slow.socket.pause()
    await eventually('it is given up', () => streams[0]?.destroyed || undefined, SOON)
  })

  test('and one that waits with the gateway is not, however silent it is', async () => {
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

describe('where most places are taken (six of eight)', () => {
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

  test('until then, whoever had an answer may ask for more', async () => {
    const { idle } = await nearlyCrowded()
    for (const { ask } of idle) await ask('/')
    for (const { said } of idle)
      expect(answersIn(said())).toMatchObject([
        { headers: { connection: 'keep-alive' } },
        { headers: { connection: 'keep-alive' } },
      ])
  })

  test('those that wait for nothing make room, and others stay', async () => {
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

  test('an answer is the last of its connection, until there is room again', async () => {
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

  test('with all of them taken, one more is turned away, and told of', async () => {
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
