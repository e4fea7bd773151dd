import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect } from '../../../src/kube/connection.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import {
  createAuthority,
  issueClient,
  issueServing,
  type KeyPair,
} from '../../../tools/control-plane/certificates.ts'
import { canary, scan } from '../../support/canary.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type Answer,
  type Connected,
  connectTo,
  inTurn,
  json,
  refuse,
  type ScriptedServer,
  scratchFolder,
  stall,
  startScripted,
  THINGS,
  thing,
  writeKubeconfig,
} from './scripted-server.ts'

const SOON = { withinMs: 5000 }
const MINUTE_MS = 60_000
const good = json(200, thing('a', 5))
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const read = ({ client }: Connected): Promise<unknown> => client.get(THINGS, { name: 'a' })
const presented = ({ received }: ScriptedServer) =>
  received.map(({ headers }) => headers.authorization)

afterEach(() => vi.unstubAllEnvs())

describe('where the API server is', () => {
  test('the URL may have a path', async () => {
    const server = await startScripted(good)
    const it = await connectTo(await writeKubeconfig({ server: `${server.url}/k8s/clusters/c/` }))
    await read(it)
    expect(server.received[0]?.path).toBe('/k8s/clusters/c/apis/g.io/v1/things/a')
  })

  test('KUBECONFIG where no file is given; of several the first context decides', async () => {
    const folder = await scratchFolder()
    const write = async (name: string, context: string | null): Promise<string> => {
      const path = join(folder, name)
      const config = {
        ...(context === null ? {} : { 'current-context': context }),
        clusters: [{ name, cluster: { server: `https://${name}:6443` } }],
        contexts: [{ name, context: { cluster: name, user: name } }],
        users: [{ name, user: {} }],
      }
      await writeFile(path, JSON.stringify(config))
      return path
    }
    const paths = [await write('none', null), await write('one', 'one'), await write('two', 'two')]
    vi.stubEnv('KUBECONFIG', paths.join(delimiter))
    expect((await connect(null, systemClock())).server).toBe('one:6443')
    const given = await connect(await write('given', 'given'), systemClock())
    expect(given.server).toBe('given:6443')
  })

  test('the service account of the pod where there is no KUBECONFIG', async () => {
    vi.stubEnv('KUBECONFIG', '')
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.96.0.1')
    vi.stubEnv('KUBERNETES_SERVICE_PORT', '443')
    const connection = await connect(null, systemClock())
    expect(connection.server).toBe('10.96.0.1')
    expect(connection.prefix).toBe('')
  })

  test.each<{ name: string; text: string; error: RegExp; cause?: RegExp }>([
    { name: 'an empty file', text: '', error: /no current context with a cluster/ },
    {
      name: 'no current context',
      text: 'clusters: [{name: a, cluster: {server: "https://a"}}]',
      error: /no current context with a cluster/,
    },
    {
      name: 'a context of no cluster',
      text: 'current-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]',
      error: /no current context with a cluster/,
    },
    {
      name: 'a proxy',
      text: 'current-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: "https://a", proxy-url: "http://p"}}]',
      error: /proxy-url .* not supported/,
    },
    {
      name: 'no YAML',
      text: 'users:\n- name: a\n bad',
      error: /kubeconfig .* is unreadable/,
      cause: /not valid YAML at line \d+/,
    },
  ])('says what is wrong: $name', async ({ text, error, cause }) => {
    const path = join(await scratchFolder(), 'kubeconfig')
    await writeFile(path, text)
    const thrown = await connect(path, systemClock()).catch((caught: unknown) => caught as Error)
    expect(thrown).toMatchObject({ message: expect.stringMatching(error) as unknown })
    if (cause) {
      expect(thrown).toMatchObject({ cause: { message: expect.stringMatching(cause) as unknown } })
    }
  })

  test('says what is wrong: no file', async () => {
    await expect(connect('/nowhere/kubeconfig', systemClock())).rejects.toMatchObject({
      message: 'kubeconfig /nowhere/kubeconfig is unreadable',
      cause: { code: 'ENOENT' },
    })
  })

  test('says what is wrong: none of the three', async () => {
    vi.stubEnv('KUBECONFIG', '')
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '')
    await expect(connect(null, systemClock())).rejects.toThrow(/give --kubeconfig, set KUBECONFIG/)
  })

  test('plain HTTP is refused unless it is meant', async () => {
    const server = await startScripted(good)
    const it = await connectTo(await writeKubeconfig({ server: server.url, cluster: {} }))
    await expect(read(it)).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/HTTP protocol is not allowed/) as unknown },
    })
    expect(server.received).toEqual([])
  })

  test('no mistake in a kubeconfig prints what it holds', async () => {
    const planted = canary('kubeconfig')
    const path = join(await scratchFolder(), 'kubeconfig')
    await writeFile(path, `users:\n- name: a\n  user:\n    token: ${planted.secret}\n   bad: x\n`)
    const error = await connect(path, systemClock()).catch((thrown: unknown) => thrown as Error)
    const chain = [error, (error as Error).cause].map((one) => String((one as Error).stack))
    expect(scan({ chain: chain.join('\n') }, [planted])).toEqual([])
  })
})

describe('credentials', () => {
  test.each([
    { name: 'a token', user: { token: 'abc' }, header: 'Bearer abc' },
    {
      name: 'a name and a password',
      user: { username: 'ann', password: 'p:w' },
      header: `Basic ${base64('ann:p:w')}`,
    },
    { name: 'none', user: {}, header: undefined },
  ])('$name', async ({ user, header }) => {
    const server = await startScripted(good)
    await read(await connectTo(await writeKubeconfig({ server: server.url, user })))
    expect(presented(server)).toEqual([header])
  })

  test('an impersonated user is passed on', async () => {
    const server = await startScripted(good)
    const user = { token: 'abc', as: 'bob' }
    await read(await connectTo(await writeKubeconfig({ server: server.url, user })))
    expect(server.received[0]?.headers).toMatchObject({ 'impersonate-user': 'bob' })
  })

  describe('of a token file', () => {
    /** The file stands beside the kubeconfig, which names it relative to itself. */
    async function stage(answer: Answer) {
      const folder = await scratchFolder()
      const server = await startScripted(answer)
      const user = { tokenFile: 'secrets/token', token: 'of-the-kubeconfig' }
      const rotate = (token: string) => writeFile(join(folder, 'secrets/token'), `${token}\n`)
      await mkdir(join(folder, 'secrets'))
      await rotate('first')
      const it = await connectTo(await writeKubeconfig({ server: server.url, user, folder }))
      return { it, server, rotate, folder }
    }

    test('are read anew after a minute', async () => {
      const { it, server, rotate } = await stage(good)
      await read(it)
      await rotate('second')
      await it.clock.advance(MINUTE_MS - 1)
      await read(it)
      await it.clock.advance(1)
      await read(it)
      expect(presented(server)).toEqual(['Bearer first', 'Bearer first', 'Bearer second'])
    })

    test('are read anew at once when they are refused', async () => {
      const refuseFirst: Answer = (response, request) =>
        (request.headers.authorization === 'Bearer first' ? refuse(401) : good)(response, request)
      const { it, server, rotate } = await stage(refuseFirst)
      await rotate('first')
      await expect(read(it)).rejects.toMatchObject({ code: 401 })
      await rotate('second')
      await read(it)
      await read(it)
      const first = 'Bearer first'
      const second = 'Bearer second'
      expect(presented(server)).toEqual([first, first, first, second, second])
    })

    test('are missed for a while, and followed again', async () => {
      const { it, server, rotate, folder } = await stage(good)
      await rm(join(folder, 'secrets/token'))
      await expect(read(it)).rejects.toMatchObject({
        message: 'the credentials for the API server are unreadable',
        cause: { code: 'ENOENT' },
      })
      await rotate('second')
      await read(it)
      expect(presented(server)).toEqual(['Bearer second'])
    })
  })

  test('refused twice they are not tried a third time', async () => {
    const server = await startScripted(refuse(401, { reason: 'Unauthorized' }))
    const user = { token: 'abc' }
    const it = await connectTo(await writeKubeconfig({ server: server.url, user }))
    await expect(read(it)).rejects.toMatchObject({ code: 401, reason: 'Unauthorized' })
    expect(server.received).toHaveLength(2)
  })

  test('a watch that is refused reads them anew too', async () => {
    const server = await startScripted(inTurn(refuse(401), (response) => response.end('{}\n')))
    const { client } = await connectTo(await writeKubeconfig({ server: server.url }))
    const { signal } = new AbortController()
    const stream = await client.watch(THINGS, {}, undefined, signal)
    expect(String(Buffer.concat(await stream.toArray()))).toBe('{}\n')
  })
})

describe('a credential plugin', () => {
  /** A program that prints a file, or a text of its own. */
  async function plugin(answer: Answer, program = 'cat "$(dirname "$0")/credential"') {
    const folder = await scratchFolder()
    const command = join(folder, 'plugin.sh')
    await writeFile(command, `#!/bin/sh\necho run >> "$(dirname "$0")/runs"\n${program}\n`)
    await chmod(command, 0o755)
    const print = (status: object) =>
      writeFile(
        join(folder, 'credential'),
        JSON.stringify({
          apiVersion: 'client.authentication.k8s.io/v1',
          kind: 'ExecCredential',
          status,
        }),
      )
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, args: [] }
    const server = await startScripted(answer)
    const it = await connectTo(await writeKubeconfig({ server: server.url, user: { exec } }))
    const runs = async () =>
      (await readFile(join(folder, 'runs'), 'utf8')).trim().split('\n').length
    return { it, server, print, runs }
  }

  test('is asked once, however many calls wait for it', async () => {
    const { it, server, print, runs } = await plugin(good)
    await print({ token: 'abc' })
    await Promise.all(Array.from({ length: 20 }, () => read(it)))
    await it.clock.advance(10 * MINUTE_MS)
    await read(it)
    expect(new Set(presented(server))).toEqual(new Set(['Bearer abc']))
    expect(await runs()).toBe(1)
  })

  test('is asked again when what it gave has expired', async () => {
    const { it, server, print, runs } = await plugin(good)
    await print({ token: 'abc', expirationTimestamp: '2020-01-01T00:00:00Z' })
    await read(it)
    await print({ token: 'def', expirationTimestamp: '2999-01-01T00:00:00Z' })
    await it.clock.advance(MINUTE_MS)
    await read(it)
    expect(presented(server)).toEqual(['Bearer abc', 'Bearer def'])
    expect(await runs()).toBe(2)
  })

  test('is asked again at once when what it gave is refused', async () => {
    const { it, server, print, runs } = await plugin(inTurn(good, refuse(401), good))
    await print({ token: 'abc', expirationTimestamp: '2999-01-01T00:00:00Z' })
    await read(it)
    await print({ token: 'def', expirationTimestamp: '2999-01-01T00:00:00Z' })
    await read(it)
    expect(presented(server)).toEqual(['Bearer abc', 'Bearer abc', 'Bearer def'])
    expect(await runs()).toBe(2)
  })

  test.each([
    { name: 'fails', program: 'echo no luck >&2; exit 3', says: /no luck/ },
    { name: 'is not there', program: 'rm "$0"; exec "$0"', says: /./ },
    { name: 'prints no credential', program: 'echo "{}"', says: /./ },
  ])('that $name fails the call', async ({ program, says }) => {
    const { it, server } = await plugin(good, program)
    await expect(read(it)).rejects.toMatchObject({
      message: 'the credentials for the API server are unreadable',
      cause: { message: expect.stringMatching(says) as unknown },
    })
    expect(server.received).toEqual([])
  })

  test('of a wrong name fails the call', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: '/nowhere/plugin' }
    const it = await connectTo(
      await writeKubeconfig({ server: 'http://127.0.0.1:1', user: { exec } }),
    )
    await expect(read(it)).rejects.toMatchObject({ cause: { code: 'ENOENT' } })
  })

  test('that prints garbage around its token is not quoted', async () => {
    const planted = canary('plugin')
    const { it } = await plugin(good, `echo '${planted.secret}: {"status": 1}'`)
    const error = (await read(it).catch((thrown: unknown) => thrown)) as Error
    expect(error.message).toMatch(/printed no JSON/)
    expect(scan({ stack: String(error.stack), cause: String(error.cause) }, [planted])).toEqual([])
  })
})

describe('TLS', () => {
  let authority: KeyPair
  let serving: KeyPair
  let ann: KeyPair
  let bob: KeyPair
  beforeAll(async () => {
    authority = await createAuthority('test')
    serving = await issueServing(authority, ['127.0.0.1', 'api.test'])
    ann = await issueClient(authority, { user: 'ann', groups: [] })
    bob = await issueClient(authority, { user: 'bob', groups: [] })
  })

  /** A server that knows its callers by their certificates. */
  const startCertified = (answer: Answer, certificate = serving) =>
    startScripted(answer, {
      cert: certificate.certificatePem,
      key: certificate.keyPem,
      ca: authority.certificatePem,
      requestCert: true,
      // As an API server does: who shows no certificate is let in to show a token.
      rejectUnauthorized: false,
    })
  const trusting = () => ({ 'certificate-authority-data': base64(authority.certificatePem) })
  const inline = ({ certificatePem, keyPem }: KeyPair) => ({
    'client-certificate-data': base64(certificatePem),
    'client-key-data': base64(keyPem),
  })

  test.each([
    { name: 'none', user: () => ({}), caller: null },
    { name: 'in the kubeconfig', user: () => inline(ann), caller: 'ann' },
  ])('client certificate: $name', async ({ user, caller }) => {
    const { url, received } = await startCertified(good)
    await read(
      await connectTo(await writeKubeconfig({ server: url, cluster: trusting(), user: user() })),
    )
    expect(received.map(({ certifiedUser }) => certifiedUser)).toEqual([caller])
  })

  test('client certificate: of a plugin', async () => {
    const { url, received } = await startCertified(good)
    const folder = await scratchFolder()
    const status = { clientCertificateData: ann.certificatePem, clientKeyData: ann.keyPem }
    await writeFile(join(folder, 'credential'), JSON.stringify({ status }))
    const exec = { command: 'cat', args: [join(folder, 'credential')] }
    await read(
      await connectTo(await writeKubeconfig({ server: url, cluster: trusting(), user: { exec } })),
    )
    expect(received.map(({ certifiedUser }) => certifiedUser)).toEqual(['ann'])
  })

  test('client certificate: rotated files are followed; a watch as the former caller is cut', async () => {
    const server = await startCertified((response, request) => {
      if (request.query['watch'] === undefined) good(response, request)
      else response.writeHead(200).write('{}\n')
    })
    const folder = await scratchFolder()
    const rotate = async ({ certificatePem, keyPem }: KeyPair): Promise<void> => {
      await writeFile(join(folder, 'tls.crt'), certificatePem)
      await writeFile(join(folder, 'tls.key'), keyPem)
    }
    await rotate(ann)
    const it = await connectTo(
      await writeKubeconfig({
        server: server.url,
        cluster: trusting(),
        user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' },
        folder,
      }),
    )
    const { signal } = new AbortController()
    const watch = await it.client.watch(THINGS, { watch: 'true' }, undefined, signal)
    const cut = watch.toArray().then(
      () => 'ended',
      () => 'cut',
    )
    await read(it)
    await rotate(bob)
    await it.clock.advance(MINUTE_MS)
    await read(it)
    expect(server.received.map(({ certifiedUser }) => certifiedUser)).toEqual(['ann', 'ann', 'bob'])
    expect(await cut).toBe('cut')
  })

  test('a call under way outlives the rotation', async () => {
    const held: (() => void)[] = []
    const server = await startCertified((response, request) => {
      if (request.certifiedUser === 'ann') held.push(() => good(response, request))
      else good(response, request)
    })
    const folder = await scratchFolder()
    const path = await writeKubeconfig({
      server: server.url,
      cluster: trusting(),
      user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' },
      folder,
    })
    const rotate = async ({ certificatePem, keyPem }: KeyPair): Promise<void> => {
      await writeFile(join(folder, 'tls.crt'), certificatePem)
      await writeFile(join(folder, 'tls.key'), keyPem)
    }
    await rotate(ann)
    const it = await connectTo(path)
    const underWay = read(it)
    await eventually('it arrives', () => held[0], SOON)
    await rotate(bob)
    await it.clock.advance(MINUTE_MS)
    await read(it)
    held[0]?.()
    expect(await underWay).toEqual(thing('a', 5))
  })

  test.each<{ name: string; cluster: () => object; works: boolean }>([
    { name: 'a server of a known authority', cluster: trusting, works: true },
    { name: 'a server of an unknown authority', cluster: () => ({}), works: false },
    {
      name: 'a server of any authority, where that is meant',
      cluster: () => ({ 'insecure-skip-tls-verify': true }),
      works: true,
    },
    {
      name: 'a name of its certificate',
      cluster: () => ({ ...trusting(), 'tls-server-name': 'api.test' }),
      works: true,
    },
    {
      name: 'a name that is not of its certificate',
      cluster: () => ({ ...trusting(), 'tls-server-name': 'other.test' }),
      works: false,
    },
  ])('$name: $works', async ({ cluster, works }) => {
    const server = await startCertified(good)
    const it = await connectTo(
      await writeKubeconfig({
        server: server.url,
        cluster: { ...cluster() },
        user: { token: 'abc' },
      }),
    )
    const outcome = await read(it).then(
      () => true,
      () => false,
    )
    expect(outcome).toBe(works)
    expect(server.received).toHaveLength(works ? 1 : 0)
  })
})

describe('pools', () => {
  const open = async (answer: Answer) => {
    const server = await startScripted(answer)
    const it = await connectTo(await writeKubeconfig({ server: server.url }))
    return { it, server }
  }

  /** A connection is taken for busy a moment longer than its answer takes: two take turns. */
  const IN_TURN = 2

  test('50 calls in a row share a connection', async () => {
    const { it, server } = await open(good)
    for (let n = 0; n < 50; n += 1) await read(it)
    expect(server.received).toHaveLength(50)
    expect(server.connections()).toBeLessThanOrEqual(IN_TURN)
  })

  test('also when credentials are read anew and are the same', async () => {
    const { it, server } = await open(
      inTurn(good, refuse(401), ...Array.from({ length: 8 }, () => good)),
    )
    for (let n = 0; n < 9; n += 1) {
      await read(it)
      await it.clock.advance(MINUTE_MS)
    }
    expect(server.received).toHaveLength(10)
    expect(server.connections()).toBeLessThanOrEqual(IN_TURN)
  })

  test('200 calls at once share 32', async () => {
    const { it, server } = await open(good)
    await Promise.all(Array.from({ length: 200 }, () => read(it)))
    expect(server.received).toHaveLength(200)
    expect(server.connections()).toBe(32)
  })

  test('100 watches leave room for calls, and 32 calls that stall leave room for watches', async () => {
    const { it, server } = await open((response, request) => {
      const isWatch = request.query['watch'] !== undefined
      if (isWatch) response.writeHead(200).write('{}\n')
      else (request.path.endsWith('/stalled') ? stall : good)(response, request)
    })
    const { signal } = new AbortController()
    const watch = () => it.client.watch(THINGS, { watch: 'true' }, undefined, signal)
    const watches = await Promise.all(Array.from({ length: 100 }, watch))
    for (const stream of watches) stream.on('error', () => undefined)
    await read(it)
    expect(server.connections()).toBe(101)
    const stalled = Array.from({ length: 32 }, () => it.client.get(THINGS, { name: 'stalled' }))
    void Promise.allSettled(stalled)
    await eventually('all stall', () => (server.received.length === 133 ? true : undefined), SOON)
    const last = await watch()
    last.on('error', () => undefined)
    expect(server.received).toHaveLength(134)
  })

  test('closed, calls and watches under way end', async () => {
    const server = await startScripted((response, request) => {
      if (request.query['watch'] !== undefined) response.writeHead(200).write('{}\n')
    })
    const path = await writeKubeconfig({ server: server.url })
    const connection = await connect(path, systemClock())
    const { calls, watches } = await connection.open()
    const stream = await watches.request({ method: 'GET', path: '/?watch=true' })
    const endings = Promise.allSettled([
      stream.body.text(),
      calls.request({ method: 'GET', path: '/' }),
    ])
    await eventually('both arrive', () => server.received[1], SOON)
    await connection.close()
    expect((await endings).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })
})
