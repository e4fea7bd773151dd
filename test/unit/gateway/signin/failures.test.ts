// A sign-in process that is away, whose certificate is not trusted, or that does not take the gateway (contract 25.1).
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ConfigMap } from '../../../../src/api/objects.ts'
import { startSignIn } from '../../../../src/commands/gateway/sign-in.ts'
import type { SignInFlagSettings } from '../../../../src/commands/gateway/sign-in-flags.ts'
import { PublishedAuthority } from '../../../../src/serving/tls/authority.ts'
import { serverPair } from '../../../support/certificate-builder.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { PAGE, PAIR, TOKEN, afterBody, gatewayTo, startBytes, startStandIn } from './signing-in.ts'

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

  test.each([
    { name: 'with its length', refuse: { 'content-length': '0' } },
    { name: 'in no chunk', refuse: {} },
  ])('when the process refuses the token, $name', async ({ refuse }) => {
    const process = await startStandIn((_, response) => response.writeHead(401, refuse).end())
    const { ask, warned } = await gatewayTo(process)
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(warned).toEqual(['it refuses the token of this gateway'])
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

/** A reader of the ConfigMap, whose answers a test sets. */
function configMap(clock: ManualClock) {
  const reads: string[] = []
  const warned: string[] = []
  let stored: () => Promise<unknown> = async () => ({ data: { 'ca.crt': 'one' } })
  const authority = new PublishedAuthority({
    client: {
      get: <Found>(
        resource: { plural: string },
        { name, namespace = '' }: { name: string; namespace?: string },
      ) => {
        reads.push(`${resource.plural} ${namespace}/${name}`)
        return stored() as Promise<Found>
      },
    },
    configMap: { namespace: 's', name: 'platform-sign-in-ca' },
    clock,
    warn: (cause) => void warned.push(cause),
  })
  const store = (data: ConfigMap['data'] | null): void => {
    stored = async () => (data === null ? null : { data })
  }
  const fail = (): void => {
    stored = async () => Promise.reject(new Error('away'))
  }
  const hang = (): void => {
    stored = () => new Promise(() => undefined)
  }
  return { authority, reads, warned, store, fail, hang }
}

describe('ConfigMap platform-sign-in-ca (25.1)', () => {
  test('is read by name once for many requests, and again after a minute', async () => {
    const clock = manualClock(0)
    const { authority, reads, store } = configMap(clock)
    const all = await Promise.all(Array.from({ length: 10 }, () => authority.current()))
    expect(new Set(all)).toEqual(new Set(['one']))
    store({ 'ca.crt': 'two' })
    await clock.advance(59_999)
    expect(await authority.current()).toBe('one')
    expect(reads).toEqual(['configmaps s/platform-sign-in-ca'])
    await clock.advance(1)
    await authority.current()
    await clock.advance(0)
    expect(await authority.current()).toBe('two')
    expect(reads).toHaveLength(2)
  })

  test('is read again after a connection that fails, once in a second', async () => {
    const clock = manualClock(0)
    const { authority, reads, store } = configMap(clock)
    await authority.current()
    store({ 'ca.crt': 'two' })
    expect(await authority.again()).toBe('one')
    await clock.advance(1000)
    expect(await Promise.all([authority.again(), authority.again()])).toEqual(['two', 'two'])
    expect(reads).toHaveLength(2)
  })

  test.each([
    { name: 'is gone', data: null },
    { name: 'has no such key', data: { other: 'x' } },
    { name: 'has no data', data: undefined },
  ])('trusts no certificate when it $name, and is asked for each second', async ({ data }) => {
    const clock = manualClock(0)
    const { authority, reads, store } = configMap(clock)
    await authority.current()
    store(data)
    await clock.advance(1000)
    expect(await authority.again()).toBeNull()
    expect(await authority.current()).toBeNull()
    store({ 'ca.crt': 'two' })
    await clock.advance(1000)
    expect(await authority.current()).toBe('two')
    expect(reads).toHaveLength(3)
  })

  test('counts as it was while it cannot be read, and that is said', async () => {
    const clock = manualClock(0)
    const { authority, warned, fail } = configMap(clock)
    await authority.current()
    fail()
    await clock.advance(60_000)
    expect(await authority.again()).toBe('one')
    expect(warned).toEqual(['authority'])
  })

  test('counts as it was while it is read again: a request waits for the first read alone', async () => {
    const clock = manualClock(0)
    const { authority, reads, hang } = configMap(clock)
    await authority.current()
    hang()
    await clock.advance(60_000)
    expect(await authority.current()).toBe('one')
    expect(reads).toHaveLength(2)
  })

  test('that is not read within 5 s is unknown', async () => {
    const clock = manualClock(0)
    const { authority, warned, hang } = configMap(clock)
    hang()
    const current = authority.current()
    await clock.advance(4999)
    expect(warned).toEqual([])
    await clock.advance(1)
    expect(await current).toBeNull()
    expect(warned).toEqual(['authority'])
  })
})

/** The way to a sign-in process by files. */
async function byFiles(parts: Partial<SignInFlagSettings> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [caFile, tokenFile] = [join(folder, 'ca.crt'), join(folder, 'token')]
  writeFileSync(caFile, PAIR.caPem)
  writeFileSync(tokenFile, `${TOKEN}\n`)
  const process = await startStandIn(PAGE)
  const clock = manualClock(0)
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  const { log, lines } = memoryLog()
  const { origin } = process
  const signIn = startSignIn(
    {
      settings: { signIn: { origin, caFile, tokenFile, namespace: 's', ...parts } },
      clock,
      log,
      lifecycle: { stopping: stopping.signal, onStop: () => undefined } as never,
      metrics: { limited: () => undefined },
    },
    { get: async () => Promise.reject(new Error('nothing is read')) },
  )
  const gateway = await gatewayTo(process, { signIn })
  return { ...gateway, process, clock, lines, caFile, tokenFile }
}

describe('the files of the way to the sign-in process (25.1)', () => {
  test('are not there where no URL is given', () =>
    expect(
      startSignIn(
        {
          settings: { signIn: null },
          clock: manualClock(0),
          log: memoryLog().log,
          lifecycle: {} as never,
          metrics: { limited: () => undefined },
        },
        { get: async () => null },
      ),
    ).toBeNull())

  test('hold the token, which is read again when it changes', async () => {
    const { ask, process, clock, tokenFile, lines } = await byFiles()
    const sent = () => process.received.map(({ headers }) => new Map(headers).get('authorization'))
    await ask('GET /login')
    writeFileSync(tokenFile, 'the-next-one')
    await clock.advance(2000)
    await ask('GET /login')
    expect(sent()).toEqual([`Bearer ${TOKEN}`, 'Bearer the-next-one'])
    writeFileSync(tokenFile, 'two words')
    await clock.advance(2000)
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    rmSync(tokenFile)
    await clock.advance(2000)
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(sent()).toHaveLength(2)
    expect(lines.map(({ sentence }) => sentence)).toContain(
      'the token for the sign-in process cannot be used',
    )
    expect(JSON.stringify(lines)).not.toContain('two words')
  })

  test('hold the authority, which is read again when it changes', async () => {
    const { ask, process, clock, caFile, lines } = await byFiles()
    expect(await ask('GET /login')).toMatchObject({ code: 200 })
    process.show(OTHER)
    for (const socket of process.sockets) socket.destroy()
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    writeFileSync(caFile, OTHER.caPem)
    await clock.advance(2000)
    expect(await ask('GET /login')).toMatchObject({ code: 200 })
    rmSync(caFile)
    await clock.advance(2000)
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(lines.map(({ sentence }) => sentence)).toContain(
      'the authority of the sign-in process cannot be read',
    )
  })

  test('are not needed for the authority: then it is in the ConfigMap', async () => {
    const { ask, lines } = await byFiles({ caFile: null })
    expect(await ask('GET /login')).toMatchObject({ code: 503 })
    expect(lines[0]?.sentence).toBe('the authority of the sign-in process cannot be read')
  })
})
