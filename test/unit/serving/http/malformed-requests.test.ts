// A request that can't be parsed gets one Status like any other failure, and never in the
// place of another response (contract 10.2, 13.3; threats A8, A10, A11).
import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import type { ConnectionOptions } from 'node:tls'
import { describe, expect, test } from 'vitest'
import type { EndSignal } from '../../../../src/runtime/concurrency/end-signal.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { LONGEST_HEAD } from '../../../../src/serving/http/malformed-requests.ts'
import type { RequestHandler } from '../../../../src/serving/http/server.ts'
import { eventually } from '../../../support/eventually.ts'
import { answersIn, served } from '../../gateway/listening-server.ts'
import {
  CANARY,
  head,
  receivedOn,
  statusResponse,
  statusResponseIn,
} from './raw-status-response.ts'

const SOON = { withinMs: 20_000 }
const hello: Answer = { status: 200, headers: {}, body: Buffer.from('hello') }
const answerHello: RequestHandler = async () => hello
const chunked = (body: string): string => head(['Transfer-Encoding: chunked'], 'POST /') + body
const malformed = (reason: string) => `the request is malformed: ${reason}`
const TOO_LONG = `the path and the headers must have at most ${LONGEST_HEAD} bytes`

describe('a malformed request at the start of a connection', () => {
  test.each([
    {
      name: 'two kinds of framing',
      text: head(['Content-Length: 5', 'Transfer-Encoding: chunked']),
      message: malformed("Transfer-Encoding can't be present with Content-Length"),
    },
    {
      name: 'an invalid header',
      text: head([CANARY]),
      message: malformed('Invalid header token'),
    },
    {
      name: 'an invalid method',
      text: head().replace('GET', CANARY),
      message: malformed('Invalid method encountered'),
    },
    {
      name: 'an invalid path',
      text: head([], 'GET /\x01'),
      message: malformed('Invalid char in url path'),
    },
    {
      name: 'no Host',
      text: head().replace('Host: h\r\n', ''),
      message: 'the request has no header Host',
    },
    {
      name: 'no Host, with an upgrade',
      text: head(['Connection: Upgrade', 'Upgrade: websocket']).replace('Host: h\r\n', ''),
      message: 'the request has no header Host',
    },
    {
      name: 'a long header',
      text: head([`B: ${'x'.repeat(LONGEST_HEAD)}`]),
      code: 431,
      reason: 'RequestHeaderFieldsTooLarge',
      message: TOO_LONG,
    },
    {
      name: 'a long path',
      text: head([], `GET /${'x'.repeat(LONGEST_HEAD)}`),
      code: 431,
      reason: 'RequestHeaderFieldsTooLarge',
      message: TOO_LONG,
    },
  ])(
    'that has $name gets one Status',
    async ({ text, code = 400, reason = 'BadRequest', message }) => {
      let calls = 0
      const { say } = await served(async () => {
        calls += 1
        return hello
      })
      expect(statusResponseIn(await say(text))).toEqual(statusResponse(code, reason, message))
      expect(calls).toBe(0)
    },
  )

  test('does not include HTTP/1.0 without a Host', async () => {
    const { say } = await served(answerHello)
    expect(answersIn(await say('GET / HTTP/1.0\r\n\r\n'))).toMatchObject([{ code: 200 }])
  })

  test('is answered even if its client goes on sending without reading', async () => {
    const { connect } = await served(answerHello)
    const socket = await connect()
    const { received, closed } = receivedOn(socket)
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: h\r\n')
    for (let sent = 0; sent < 100; sent += 1) {
      socket.write(`A${sent}: ${'x'.repeat(4000)}\r\n`)
      await setImmediate()
    }
    socket.resume()
    await closed
    expect(statusResponseIn(received())).toEqual(
      statusResponse(431, 'RequestHeaderFieldsTooLarge', TOO_LONG),
    )
  })

  test('is cut off if its client never stops sending', async () => {
    const { connect } = await served(answerHello)
    const socket = await connect({ allowHalfOpen: true } as ConnectionOptions)
    const { received } = receivedOn(socket)
    socket.write(head([CANARY]))
    await once(socket, 'end')
    expect(statusResponseIn(received())).toEqual(
      statusResponse(400, 'BadRequest', malformed('Invalid header token')),
    )
    const isCut = async (): Promise<true | undefined> => {
      socket.write(head())
      return socket.closed || undefined
    }
    await eventually('it is cut off', isCut, SOON)
    expect(answersIn(received())).toHaveLength(1)
  })
})

describe('a malformed request after another one', () => {
  test('gets a response of its own if the first one was answered', async () => {
    const { connect } = await served(answerHello)
    const socket = await connect()
    const { received, closed } = receivedOn(socket)
    socket.write(head())
    await eventually('it is answered', () => received().endsWith('hello') || undefined, SOON)
    const first = received()
    socket.write(head([CANARY]))
    await closed
    expect(answersIn(first)).toMatchObject([{ code: 200 }])
    const text = received().slice(first.length)
    expect(statusResponseIn(text)).toEqual(
      statusResponse(400, 'BadRequest', malformed('Invalid header token')),
    )
  })

  test.each([
    { name: 'headers', rest: head([CANARY]) },
    { name: 'the body of a request', rest: chunked('zz\r\n') },
  ])('gets no response in the place of a first one that is still open: $name', async ({ rest }) => {
    const held = Promise.withResolvers<Answer>()
    const gone: EndSignal[] = []
    const { say } = await served((call) => {
      gone.push(call.gone)
      return held.promise
    })
    expect(await say(`${head()}${rest}`)).toBe('')
    const hasLeft = () => gone[0]?.aborted || undefined
    await eventually('the handler sees the end', hasLeft, SOON)
    held.resolve(hello)
  })

  test('breaks off the response in progress to the first one, without adding to it', async () => {
    const { connect } = await served(async () => ({
      ...hello,
      body: Readable.from(forever(), { objectMode: false }),
    }))
    const socket = await connect()
    const { received, closed } = receivedOn(socket)
    socket.write(head())
    await eventually('it has begun', () => received().includes('tick') || undefined, SOON)
    socket.write(head([CANARY]))
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(received().match(/HTTP\/1\.1/g)).toHaveLength(1)
    expect(received().slice(received().indexOf('\r\n\r\n') + 4)).toMatch(/^(?:4\r\ntick\r\n)+$/)
  })
})

/** An endless body. */
async function* forever(): AsyncGenerator<string> {
  for (;;) {
    yield 'tick'
    await setImmediate()
  }
}

const BODIES: readonly {
  readonly name: string
  readonly body: string
  readonly failure: readonly [number, string, string]
}[] = [
  {
    name: 'an invalid chunk size',
    body: 'zz\r\n',
    failure: [400, 'BadRequest', malformed('Invalid character in chunk size')],
  },
  {
    name: 'chunk extensions',
    body: `2;${'a'.repeat(LONGEST_HEAD + 1)}\r\nab\r\n`,
    failure: [413, 'RequestEntityTooLarge', 'the body must have no chunk extensions'],
  },
  {
    name: 'long trailers',
    body: `0\r\nB: ${'b'.repeat(LONGEST_HEAD)}\r\n\r\n`,
    failure: [431, 'RequestHeaderFieldsTooLarge', TOO_LONG],
  },
]

describe('a malformed body', () => {
  test.each(BODIES)('gets one Status if the handler reads it: $name', async ({ body, failure }) => {
    const ended: string[] = []
    const { say } = await served(async (call) => {
      const read = await buffer(call.body).then(
        () => 'whole',
        () => 'broken',
      )
      ended.push(read, call.gone.aborted ? 'gone' : 'there')
      return hello
    })
    expect(statusResponseIn(await say(chunked(`2\r\nab\r\n${body}`)))).toEqual(
      statusResponse(...failure),
    )
    await eventually('the body has ended', () => ended.length > 0 || undefined, SOON)
    expect(ended).toEqual(['broken', 'gone'])
  })

  test.each(BODIES)(
    'gets one Status if the handler does not read it and answers later: $name',
    async (row) => {
      const held = Promise.withResolvers<Answer>()
      const { connect } = await served(() => held.promise)
      const socket = await connect()
      const { received, closed } = receivedOn(socket)
      socket.write(chunked(row.body))
      await once(socket, 'end')
      held.resolve(hello)
      await closed
      expect(statusResponseIn(received())).toEqual(statusResponse(...row.failure))
    },
  )

  test.each(BODIES)('gets no second response if the handler has answered: $name', async (row) => {
    const { connect } = await served(answerHello)
    const socket = await connect()
    const { received, closed } = receivedOn(socket)
    socket.write(chunked('2\r\nab\r\n'))
    await eventually('it is answered', () => received().endsWith('hello') || undefined, SOON)
    socket.write(row.body)
    await closed
    expect(answersIn(received())).toMatchObject([{ code: 200, body: 'hello' }])
    expect(received().endsWith('hello')).toBe(true)
  })
})

test('the server cuts off clients without TLS, and goes on serving after clients that leave', async () => {
  const { port, connect, say } = await served(answerHello)
  const plain = connectPlain(port, '127.0.0.1')
  let received = ''
  plain.setEncoding('latin1').on('data', (part: string) => (received += part))
  plain.on('error', () => undefined)
  plain.write(head())
  await once(plain, 'close')
  expect(received).not.toContain('HTTP')
  const leaving = await connect()
  leaving.write(head([CANARY]))
  leaving.destroy()
  expect(answersIn(await say(head(['Connection: close'])))).toMatchObject([{ code: 200 }])
})
