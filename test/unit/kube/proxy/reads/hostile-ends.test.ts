// Servers that end an answer, or a connection, in a way that no reader expects (13.3, A12).
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { readHead } from '../../../../../src/kube/proxy/reads/answer-head.ts'
import { eventually } from '../../../../support/eventually.ts'
import {
  call,
  issue,
  outcomeOf,
  startUpstreamServer,
  textOf,
  upstreamTo,
} from '../upstream-server.ts'
import { startByteServer } from './byte-server.ts'

const SOON = { withinMs: 10_000 }

/** An upstream to a server of bytes. */
async function scripted(answer: Parameters<typeof startByteServer>[0]) {
  const { url, sockets } = await startByteServer(answer)
  const { upstream } = await upstreamTo(url)
  return { upstream, sockets }
}

describe('an answer with thousands of headers', () => {
  const LINES = 'a:\r\n'.repeat(16_370)

  test('is refused', () => {
    expect(() => readHead(`HTTP/1.1 200 OK\r\n${LINES}`, false)).toThrow('too many headers')
  })

  test.each([
    { name: 'an informational head', sent: `HTTP/1.1 103 Early Hints\r\n${LINES}\r\n` },
    {
      name: 'trailers',
      sent: `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${LINES}\r\n`,
    },
  ])('is none where they are those of $name', async ({ sent }) => {
    const { upstream } = await scripted((socket) => socket.write(sent))
    // The head of the answer may have been passed on by then.
    expect(['broken', 'unavailable']).toContain(await outcomeOf(upstream.send(call())))
  })
})

describe('bytes behind an answer whose reader rested with its last piece', () => {
  /** A connection whose first answer ends in sixty-four pieces that are read at once: the reader then rests. */
  async function rested() {
    const answer = async (socket: Socket, nth: number): Promise<void> => {
      if (nth > 1) return void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nmine')
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 70064\r\n\r\n${'x'.repeat(70_000)}`)
      await delay(200)
      for (let piece = 0; piece < 64; piece += 1) {
        socket.write('y')
        await delay(4)
      }
    }
    const { upstream, sockets } = await scripted((socket, nth) => void answer(socket, nth))
    const first = await upstream.send(call({ path: '/a' }))
    await delay(900)
    expect(await textOf(first)).toHaveLength(70_064)
    return { upstream, sockets }
  }

  test('are not the answer of the next request', async () => {
    const { upstream, sockets } = await rested()
    sockets[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil')
    await eventually('the connection is closed', () => sockets[0]?.closed || undefined, SOON)
    expect(await outcomeOf(upstream.send(call({ path: '/b' })))).toBe('whole: mine')
  })

  test('are not kept', async () => {
    const { sockets } = await rested()
    sockets[0]?.write(Buffer.alloc(1024, 'x'))
    await eventually('the connection is closed', () => sockets[0]?.closed || undefined, SOON)
  })
})

test.each(['Connection: close\r\n', ''])(
  'an answer in many chunks with the end of its connection right behind it is whole (13.3): %j',
  async (header) => {
    const chunks = '1\r\nz\r\n'.repeat(200)
    const { upstream } = await scripted((socket) =>
      socket.end(
        `HTTP/1.1 200 OK\r\n${header}transfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
      ),
    )
    expect(await outcomeOf(upstream.send(call()))).toBe(`whole: ${'z'.repeat(200)}`)
  },
)

test('an answer that breaks off while its reader rests is broken', async () => {
  const { upstream } = await scripted((socket) =>
    socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nz\r\n'.repeat(200)}`),
  )
  expect(await outcomeOf(upstream.send(call()))).toBe('broken')
})

test('a client certificate with the key of another one makes no connection, and keeps no place', async () => {
  const [one, other] = [issue('a'), issue('b')]
  const base64 = (pem: string | Buffer): string => Buffer.from(pem).toString('base64')
  const user = {
    'client-certificate-data': base64(one.certificatePem),
    'client-key-data': base64(other.keyPem),
  }
  const { url } = await startUpstreamServer('both', (_, outgoing) => void outgoing.end('ok'))
  const { upstream } = await upstreamTo(url, { user })
  for (let n = 0; n < 70; n += 1) expect(await outcomeOf(upstream.send(call()))).toBe('unavailable')
})

test('a read that meets a stale connection is not sent again on the next stale one', async () => {
  let isBroken = false
  const served = new Set<Socket>()
  const { upstream, sockets } = await scripted((socket) => {
    if (isBroken && served.has(socket)) socket.resetAndDestroy()
    served.add(socket)
    setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'), 30)
  })
  await Promise.all([1, 2, 3].map(() => outcomeOf(upstream.send(call()))))
  expect(sockets).toHaveLength(3)
  isBroken = true
  expect(await outcomeOf(upstream.send(call()))).toBe('whole: ok')
  expect(sockets).toHaveLength(4)
})

test('a read whose connection is being opened ends when all are closed, and opens no other', async () => {
  const { port, sockets: opened } = await startByteServer(() => undefined)
  const { upstream } = await upstreamTo(`https://127.0.0.1:${port}`)
  const sent = outcomeOf(upstream.send(call()))
  await eventually('it connects', () => opened.length > 0 || undefined, SOON)
  await upstream.close()
  expect(await Promise.race([sent, delay(5000, 'pending', { ref: false })])).toBe('unavailable')
  expect(opened).toHaveLength(1)
})

test.each([false, true])(
  'a 403 that breaks off before its first byte is no answer: long-running %s (13.3)',
  async (isLongRunning) => {
    const { upstream } = await scripted((socket) => {
      socket.write(
        'HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\n',
      )
      setTimeout(() => socket.destroy(), 50)
    })
    expect(await outcomeOf(upstream.send(call({ isLongRunning })))).toBe('unavailable')
  },
)
