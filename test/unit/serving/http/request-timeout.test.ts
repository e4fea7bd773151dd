// A slow request gets a 408, unless a response has begun (contract 13.3; threat A10).
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { type TLSSocket, connect as connectTls } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../../src/runtime/address.ts'
import { answerMalformedRequests } from '../../../../src/serving/http/malformed-requests.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { answersIn } from '../../gateway/listening-server.ts'
import { head, receivedOn, statusResponse, statusResponseIn } from './raw-status-response.ts'

const PAIR = serverPair('localhost')

/** Long by default, since client and server share this process, which may be slow. */
const HANDSHAKE_MS = 60_000

/** A server with short timeouts, whose requests stay open until the test answers them. */
async function serverWithShortTimeouts(handshakeTimeout = HANDSHAKE_MS) {
  const calls: ServerResponse[] = []
  const server = createServer({
    cert: PAIR.certificatePem,
    key: PAIR.keyPem,
    handshakeTimeout,
    headersTimeout: 150,
    requestTimeout: 300,
    connectionsCheckingInterval: 20,
  })
  server.on('request', (_, response) => calls.push(response))
  answerMalformedRequests(server, () => calls.at(-1))
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  onTestFinished(() => void server.close())
  const connect = (): TLSSocket => connectTls({ host: '127.0.0.1', port, ca: PAIR.caPem })
  const responseTo = async (text: string): Promise<string> => {
    const socket = connect()
    const { received, closed } = receivedOn(socket)
    socket.write(text)
    await closed
    return received()
  }
  return { server, port, connect, responseTo, calls }
}
const TIMEOUT = [408, 'Timeout', 'the request took too long to arrive'] as const

test.each([
  { name: 'nothing', text: '', calls: 0 },
  { name: 'half of the headers', text: 'GET / HTTP/1.1\r\nHo', calls: 0 },
  { name: 'half of the body', text: head(['Content-Length: 9'], 'POST /') + 'half', calls: 1 },
])('a client that sends only $name gets a 408', async ({ text, calls }) => {
  const { responseTo, calls: started } = await serverWithShortTimeouts()
  expect(statusResponseIn(await responseTo(text))).toEqual(statusResponse(...TIMEOUT))
  expect(started).toHaveLength(calls)
})

test('the server reads no request after a 408', async () => {
  const { connect, calls } = await serverWithShortTimeouts()
  const socket = connect()
  const { received, closed } = receivedOn(socket)
  const begun = head().slice(0, -5)
  socket.write(begun)
  socket.once('data', () => socket.write(head().slice(begun.length)))
  await closed
  expect(statusResponseIn(received())).toEqual(statusResponse(...TIMEOUT))
  expect(calls).toEqual([])
})

test('a connection without a TLS handshake is cut off', async () => {
  const { port } = await serverWithShortTimeouts(150)
  const plain = connectPlain(port, '127.0.0.1')
  let received = ''
  plain.on('data', (part) => (received += String(part)))
  await once(plain, 'close')
  expect(received).toBe('')
})

test('a timeout during the response breaks the response off', async () => {
  const { server, responseTo } = await serverWithShortTimeouts()
  // Answered at once: a later answer could come after the 408.
  server.once('request', (_, response) =>
    response.writeHead(200, { 'content-length': 5 }).write('he'),
  )
  const text = responseTo(`${head(['Content-Length: 9'], 'POST /')}half`)
  expect(answersIn(await text)).toMatchObject([{ code: 200, body: 'he' }])
})
