// Requests whose responses wait on a connection when an upgrade comes on it end with their client (contract 13.3).
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { eventually } from '../../../support/eventually.ts'
import { collectGarbage } from '../../../support/heap.ts'
import { served } from '../../gateway/listening-server.ts'

const SOON = { withinMs: 10_000 }
const request = (line: string, headers = ''): string =>
  `${line} HTTP/1.1\r\nHost: h\r\n${headers}\r\n`

test.each([
  { name: 'an upgrade', last: request('GET /x', 'Connection: Upgrade\r\nUpgrade: websocket\r\n') },
  { name: 'CONNECT', last: request('CONNECT a:1') },
  { name: 'another request', last: request('GET /x') },
])('the requests before $name end with their client', async ({ last }) => {
  for (const isAnswered of [true, false]) {
    let came = 0
    const gone: string[] = []
    const bodies: Readable[] = []
    const { connect } = await served(async (call) => {
      came += 1
      call.gone.addEventListener('abort', () => gone.push(call.target), { once: true })
      if (!isAnswered) return new Promise(() => undefined)
      const body = new Readable({ read: () => undefined })
      bodies.push(body)
      return { status: 200, headers: {}, body }
    })
    const socket = await connect()
    socket.on('error', () => undefined)
    socket.write(`${request('GET /a')}${request('GET /b')}${last}`)
    await eventually('they have come', () => came >= 2 || undefined, SOON)
    socket.destroy()
    await eventually(
      'they end',
      () => (gone.includes('/a') && gone.includes('/b')) || undefined,
      SOON,
    )
    expect(bodies.every(({ destroyed }) => destroyed)).toBe(true)
  }
})

test('a connection whose requests overlap keeps none of those that are answered', async () => {
  const headers: WeakRef<object>[] = []
  let answerFormer = (): void => undefined
  const { connect } = await served(({ headers: sent }) => {
    headers.push(new WeakRef(sent))
    answerFormer()
    const { promise, resolve } = Promise.withResolvers<Answer>()
    answerFormer = () => resolve({ status: 200, headers: {}, body: Buffer.from('ok') })
    return promise
  })
  const socket = await connect()
  socket.write(request('GET /a'))
  for (let count = 0; count < 300; count += 1) {
    // Each is answered once the next has come.
    socket.write(request('GET /a'))
    await once(socket, 'data')
  }
  const kept = (): number => {
    collectGarbage()
    return headers.filter((sent) => sent.deref() !== undefined).length
  }
  await eventually('they are collected', () => kept() < 10 || undefined, SOON)
})
