import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { connect } from '../../../../src/kube/client/connection.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import { canary, scan } from '../../../support/canary.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  type Answer,
  type Connected,
  THINGS,
  connectTo,
  inTurn,
  json,
  refuse,
  scratchFolder,
  stall,
  startScripted,
  thing,
  writeKubeconfig,
} from '../informer/scripted-server.ts'

const SOON = { withinMs: 20_000 }
const MINUTE_MS = 60_000
const good = json(200, thing('a', 5))
const read = ({ client }: Connected): Promise<unknown> => client.get(THINGS, { name: 'a' })

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
  ])('says what is wrong: $name', async ({ text, error, cause = /^$/ }) => {
    const path = join(await scratchFolder(), 'kubeconfig')
    await writeFile(path, text)
    const thrown = await connect(path, systemClock()).catch((caught: unknown) => caught as Error)
    const because = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : null
    expect(thrown).toMatchObject({ message: expect.stringMatching(error) as unknown })
    expect(because?.message ?? '').toMatch(cause)
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
