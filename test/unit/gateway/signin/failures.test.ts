// A sign-in process that is away, whose certificate is not trusted, or that does not take the gateway (contract 25.1).
import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serverPair } from '../../../support/certificate-builder.ts'
import { PAGE, PAIR, afterBody, gatewayTo, startBytes, startStandIn } from './signing-in.ts'

const OTHER = serverPair('another')
const authorityOf = (current: string | null, again = current) => ({
  current: async () => current,
  again: async () => again,
})

describe('a request to sign in is answered 503 (25.1)', () => {
  test.each([
    { name: 'the process is away', origin: 'https://localhost:1', because: 'ECONNREFUSED' },
    {
      name: 'it has no address',
      origin: 'https://sign-in.invalid',
      because: /^(?:ENOTFOUND|EAI_AGAIN)$/,
    },
  ])('while $name', async ({ origin, because }) => {
    const { ask, warned, counted } = await gatewayTo({ origin })
    const answer = await ask('GET /login')
    expect(answer).toMatchObject({ code: 503, headers: { 'retry-after': '5' } })
    expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' })
    expect(warned).toEqual([expect.stringMatching(because)])
    expect(counted).toEqual(['SignIn GET 503'])
  })

  test.each([
    {
      name: 'another authority is trusted',
      ca: OTHER.caPem,
      because: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    },
    {
      name: 'no authority is known',
      ca: null,
      because: 'the gateway has no authority to check its certificate by',
    },
    { name: 'the authority is no PEM', ca: 'x', because: /./ },
    { name: 'the authority is empty', ca: '', because: /./ },
  ])('while $name, and nothing is sent', async ({ ca, because }) => {
    const process = await startStandIn(PAGE)
    const { ask, warned } = await gatewayTo(process, { authority: authorityOf(ca) })
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(warned).toEqual([expect.stringMatching(because)])
    expect(process.received).toEqual([])
  })

  test('while the certificate names another host', async () => {
    const elsewhere = serverPair('sign-in', { hosts: ['elsewhere.example.com'] })
    const process = await startStandIn(PAGE)
    process.show(elsewhere)
    const { ask, warned } = await gatewayTo(process, { authority: authorityOf(elsewhere.caPem) })
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(warned).toEqual(['ERR_TLS_CERT_ALTNAME_INVALID'])
    expect(process.received).toEqual([])
  })

  test('while there is no token, and nothing is sent', async () => {
    const process = await startStandIn(PAGE)
    const { ask, warned } = await gatewayTo(process, { token: () => null })
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(warned).toEqual(['this gateway has no token'])
    expect(process.received).toEqual([])
  })

  const refuses = 'it refuses the token of this gateway'
  const asksInVain = 'it cannot ask the API server about the token of this gateway'
  test.each([
    { name: 'refuses the token, with its length', status: 401, length: true, because: refuses },
    { name: 'refuses the token, in no chunk', status: 401, length: false, because: refuses },
    { name: 'cannot check it, with its length', status: 503, length: true, because: asksInVain },
    { name: 'cannot check it, in no chunk', status: 503, length: false, because: asksInVain },
  ])('with a sentence when the process $name', async ({ status, length, because }) => {
    const headers = length ? { 'content-length': '0' } : {}
    const process = await startStandIn((_, response) => response.writeHead(status, headers).end())
    const { ask, warned } = await gatewayTo(process)
    const answer = await ask('GET /login')
    expect(answer).toMatchObject({ code: 503, headers: { 'retry-after': '5' } })
    expect(JSON.parse(answer.body)).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' })
    expect(warned).toEqual([because])
  })

  test('of the process itself, where it says why, also to HEAD', async () => {
    const headers = { 'content-length': '3' }
    const process = await startStandIn((_, response) => response.writeHead(503, headers).end('why'))
    const { ask, warned } = await gatewayTo(process)
    expect(await ask('GET /login')).toMatchObject({ code: 503, body: 'why' })
    expect(await ask('HEAD /login')).toMatchObject({ code: 503, headers })
    expect(warned).toEqual([])
  })

  test('with a body that was not read', async () => {
    const { ask } = await gatewayTo({ origin: 'https://localhost:1' })
    const answer = await ask('POST /auth/password/login', ['Content-Length: 3'], 'abc')
    expect(answer).toMatchObject({ code: 503 })
  })
})

describe('a request to sign in is answered 502, and not sent again (25.1)', () => {
  test.each(['GET /login', 'HEAD /login', 'DELETE /login'])(
    'when the connection breaks before the answer to %s',
    async (start) => {
      const process = await startStandIn((request) => void request.socket.destroy())
      const { ask, warned } = await gatewayTo(process)
      expect(await ask(start)).toMatchObject({ code: 502 })
      expect(process.received).toHaveLength(1)
      expect(warned).toHaveLength(1)
    },
  )

  test('when the process closes the connection without a word', async () => {
    const process = await startBytes('')
    const { ask } = await gatewayTo(process)
    const answer = ask('GET /login')
    const closing = setInterval(() => {
      for (const socket of process.sockets) socket.destroy()
    }, 20)
    onTestFinished(() => clearInterval(closing))
    expect(await answer).toMatchObject({ code: 502 })
  })
})

test('an answer that breaks off has no end for its client either (25.1)', async () => {
  const process = await startStandIn((request, response) => {
    response.write('half')
    setImmediate(() => request.socket.destroy())
  })
  const { ask } = await gatewayTo(process)
  const { code, text } = await ask('GET /login')
  expect(code === 502 || !text.includes('\r\n0\r\n\r\n')).toBe(true)
})

describe('the authority of the sign-in process (25.1)', () => {
  test('is asked for again when a certificate does not verify, and a request without a body is sent then', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { ask, warned } = await gatewayTo(process, {
      authority: authorityOf(OTHER.caPem, PAIR.caPem),
    })
    expect(await ask('GET /login')).toMatchObject({ code: 200, body: 'page' })
    expect(warned).toEqual([])
  })

  test('is asked for again, and a request whose body was read in part is not sent', async () => {
    const process = await startStandIn(afterBody(PAGE))
    const { connect } = await gatewayTo(process, {
      authority: authorityOf(OTHER.caPem, PAIR.caPem),
    })
    const client = await connect()
    client.write('POST /auth/password/login HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc')
    const [answer] = (await once(client, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 503 /)
    expect(process.received).toEqual([])
  })

  test('may be replaced while requests are under way', async () => {
    const gate = Promise.withResolvers<void>()
    const process = await startStandIn((request, response) => {
      if (request.url === '/login') void gate.promise.then(() => response.end('old'))
      else response.end('new')
    })
    let ca = PAIR.caPem
    const authority = { current: async () => ca, again: async () => ca }
    const { ask } = await gatewayTo(process, { authority })
    const first = ask('GET /login')
    await expect.poll(() => process.received.length).toBe(1)
    process.show(OTHER)
    ca = OTHER.caPem
    expect(await ask('GET /auth/oidc/login')).toMatchObject({ code: 200, body: 'new' })
    gate.resolve()
    expect(await first).toMatchObject({ code: 200, body: 'old' })
  })
})
