// Request bodies that arrive during the response (contract 13.3; threats A8, A11).
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LONGEST_PARSED_BODY, readBody } from '../../../../src/serving/http/answer.ts'
import type { RequestHandler } from '../../../../src/serving/http/server.ts'
import { answersIn, served } from '../../gateway/listening-server.ts'

const echo: RequestHandler = async ({ body }) => ({
  status: 200,
  headers: {},
  body: await buffer(body),
})
const refuse: RequestHandler = async () => ({
  status: 413,
  headers: {},
  body: Buffer.from('too long'),
})

/** The headers of a request with a body. */
const post = (lines: readonly string[]): string =>
  ['POST / HTTP/1.1', 'Host: h', 'Content-Length: 5', ...lines, '', ''].join('\r\n')

test('a request with Expect: 100-continue gets 100 once the handler reads its body', async () => {
  const { connect } = await served(echo)
  const socket = await connect()
  let said = ''
  socket.setEncoding('utf8').on('data', (part: string) => (said += part))
  socket.write(post(['Expect: 100-continue', 'Connection: close']))
  await once(socket, 'data')
  expect(said).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  socket.write('hello')
  await once(socket, 'close')
  expect(answersIn(said.slice(said.indexOf('HTTP/1.1 200')))).toMatchObject([{ body: 'hello' }])
})

test('a request with Expect: 100-continue gets only the refusal if the handler does not read its body', async () => {
  const { say } = await served(refuse)
  const text = await say(post(['Expect: 100-continue']))
  expect(answersIn(text)).toMatchObject([
    { code: 413, headers: { connection: 'close' }, body: 'too long' },
  ])
})

test.each([
  { name: 'that never comes', length: 5, sent: 'hel' },
  { name: 'that is too long to wait for', length: 50_000_000, sent: 'x'.repeat(2_000_000) },
])(
  'the connection ends after a response that comes before the end of a body $name',
  async (row) => {
    const { say } = await served(refuse)
    const head = post([]).replace('Content-Length: 5', `Content-Length: ${row.length}`)
    const text = await say(`${head}${row.sent}`)
    expect(answersIn(text)).toMatchObject([{ code: 413 }])
  },
)

test('the connection ends after the response if the handler stopped reading the body', async () => {
  const { say } = await served(async ({ body }) => {
    expect(await readBody(body)).toBeNull()
    return { status: 413, headers: {}, body: Buffer.from('too long') }
  })
  const head = post([]).replace('Content-Length: 5', 'Content-Length: 64000000')
  const text = await say(`${head}${'x'.repeat(LONGEST_PARSED_BODY + 1)}`)
  expect(answersIn(text)).toMatchObject([{ code: 413 }])
})

test('a client that goes on sending receives the response, if the body was read in part', async () => {
  const { connect } = await served(async ({ body }) => {
    await once(body, 'data')
    body.pause()
    return { status: 413, headers: {}, body: Buffer.from('too long') }
  })
  const socket = await connect()
  const said: string[] = []
  socket.setEncoding('utf8').on('data', (part: string) => said.push(part))
  socket.on('error', () => undefined)
  socket.write(post([]).replace('Content-Length: 5', 'Content-Length: 64000000'))
  while (said.length === 0) {
    socket.write('x'.repeat(65_536))
    await setImmediate()
  }
  expect(answersIn(said.join(''))).toMatchObject([{ code: 413 }])
})

test('a client that goes on sending receives the response, if the body was not read', async () => {
  const { connect } = await served(refuse)
  const socket = await connect()
  let said = ''
  socket.setEncoding('utf8').on('data', (part: string) => (said += part))
  socket.write(post(['Connection: close']).replace('Content-Length: 5', 'Content-Length: 200000'))
  for (let at = 0; at < 20; at += 1) {
    socket.write('x'.repeat(10_000))
    await setImmediate()
  }
  await once(socket, 'close')
  expect(answersIn(said)).toMatchObject([{ code: 413 }])
})

test('the connection stays open after the response to a complete request', async () => {
  const { connect } = await served(refuse)
  const socket = await connect()
  let said = ''
  socket.setEncoding('utf8').on('data', (part: string) => (said += part))
  for (let count = 1; count <= 3; count += 1) {
    socket.write(`${post([])}hello`)
    await once(socket, 'data')
    expect(answersIn(said).map(({ code }) => code)).toEqual(
      Array.from({ length: count }, () => 413),
    )
  }
})
