// Connections without a request yet: their budget, their deadline, and that they take nothing from others (13.3, A11).
import { once } from 'node:events'
import { type Socket, connect as connectTcp } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { deadlineMs } from '../../../../src/serving/http/new-connections.ts'
import { eventually } from '../../../support/eventually.ts'
import { type Served, served } from '../../gateway/listening-server.ts'

const SOON = { withinMs: 20_000 }

describe('the deadline of a first request (13.3)', () => {
  test.each([
    { count: 1, ms: 10_000 },
    { count: 50, ms: 10_000 },
    { count: 75, ms: 5000 },
    { count: 90, ms: 2000 },
    { count: 100, ms: 1000 },
    { count: 200, ms: 1000 },
  ])('with $count of 100 is $ms ms', ({ count, ms }) => {
    expect(deadlineMs({ maxConnections: 100, withinMs: 10_000 }, count)).toBeCloseTo(ms)
  })
})

/** A TCP connection that sends nothing, and whether the server has closed it. */
async function silent({ port }: Served): Promise<{ readonly isClosed: () => boolean }> {
  const socket: Socket = connectTcp({ host: '127.0.0.1', port })
  let isClosed = false
  socket.on('error', () => undefined).once('close', () => (isClosed = true))
  socket.resume()
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return { isClosed: () => isClosed }
}

const answering = async () => ({ status: 401, headers: {}, body: Buffer.from('no') })

async function ask(socket: Awaited<ReturnType<Served['connect']>>): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
  const [piece] = (await once(socket, 'data')) as [Buffer]
  return piece.toString()
}

describe('a server whose new connections are silent (13.3)', () => {
  test('ends the oldest beyond the budget, and keeps every connection that has sent a request', async () => {
    const server = await served(answering, {
      maxConnections: 16,
      fresh: { maxConnections: 4, withinMs: 60_000 },
    })
    const kept = await server.connect()
    expect(await ask(kept)).toContain(' 401 ')
    const attackers: Awaited<ReturnType<typeof silent>>[] = []
    for (let at = 0; at < 40; at += 1) attackers.push(await silent(server))
    await eventually(
      'all but the four newest are closed',
      () => attackers.filter(({ isClosed }) => !isClosed()).length <= 4 || undefined,
      SOON,
    )
    expect(attackers.slice(-4).map(({ isClosed }) => isClosed())).toEqual([
      false,
      false,
      false,
      false,
    ])
    // Neither is its idle connection closed, nor is a new caller kept out, nor told to close.
    expect(await ask(kept)).toMatch(/^connection: keep-alive/im)
    const late = await server.connect()
    expect(await ask(late)).toMatch(/^connection: keep-alive/im)
    expect(server.observed).toEqual([])
  })

  test('ends one that takes longer than its deadline, in its handshake and after it', async () => {
    const server = await served(answering, { fresh: { maxConnections: 4, withinMs: 300 } })
    const beforeHandshake = await silent(server)
    const secured = await server.connect()
    let isClosed = false
    secured.on('error', () => undefined).once('close', () => (isClosed = true))
    secured.resume()
    await eventually(
      'both are closed',
      () => (beforeHandshake.isClosed() && isClosed) || undefined,
      SOON,
    )
  })
})
