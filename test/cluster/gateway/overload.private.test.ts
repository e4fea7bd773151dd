// A client that overloads a gateway gets an answer or loses its connection; other clients are served, and memory and
// event loop lag stay small (contract 13.3, threats C2, F18).
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { ask } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { inWhole, isWhole, repeated } from '../../support/tier.ts'
import { testExpensiveRequests } from './expensive-requests.ts'
import {
  MAX_LAG_MS,
  type RawConnection,
  serveUnderLoad,
  memoryGrowth,
  runMany,
  openRawConnection,
  measureUnderLoad,
} from './gateway-load.ts'
import { startAnotherGateway } from './timed-requests.ts'
import { MANAGEMENT, type UsableKey, startTestGateway } from './test-gateway.ts'

const MINUTE = { withinMs: 60_000 }
const NAMESPACE = 'default'
const ACCESS_KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`

const setup = await startTestGateway(await privateControlPlane())
const { plane, ca, gateways } = setup
const [gateway] = gateways
if (!gateway) throw new Error('there is no gateway')
const url = gateway.url()
const { host } = new URL(url)

await plane.kubectl([
  'create',
  'rolebinding',
  'all',
  '--clusterrole=admin',
  '--user=ada',
  `--namespace=${NAMESPACE}`,
])
const key = await setup.key()

const bearer = ({ token }: UsableKey): string => `Authorization: Bearer ${token}\r\n`

const load = await serveUnderLoad(setup, key.token, `${CONFIG_MAPS}?limit=1`)
const { underLoad, expectHealthy, idleLagMs } = load

describe.each(inWhole('the measurement of event loop lag'))('%s', () => {
  const FOR_MS = 5000
  const BUSY = `setInterval(() => {
    const used = () => { const { user, system } = process.cpuUsage(); return user + system }
    const before = used()
    while (used() - before < 100_000) {}
  }, 1000).unref()`

  test('is small for an idle gateway', () => {
    expect(idleLagMs).toBeLessThan(MAX_LAG_MS)
  })

  test('detects a gateway that blocks its event loop for 100 ms in each second', async () => {
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(BUSY)}` }
    await using busy = await startAnotherGateway(setup, { env })
    const { lagMs } = await measureUnderLoad(busy, () => delay(FOR_MS))
    expect(lagMs - idleLagMs).toBeGreaterThan(MAX_LAG_MS)
  })
})

test('the API server queues the gateway’s own requests apart from those of all other accounts (13.3)', async () => {
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  const schema = [
    'get',
    'flowschema',
    'management-operator-gateway',
    '-o',
    'jsonpath={.metadata.uid}',
  ]
  const { stdout: uid } = await plane.kubectl(schema)
  expect(uid).toMatch(/^[-0-9a-f]{36}$/)
  const verboseOutput = async (options: object) =>
    (await plane.kubectl(['get', '--raw', '/version', '-v=8'], options)).stderr
  expect(await verboseOutput({ kubeconfig })).toContain(uid)
  expect(await verboseOutput({})).not.toContain(uid)
})

describe('100,000 requests a minute with invalid keys (C2)', () => {
  const FOR_MS = repeated(1000, 10_000)
  const COUNT = Math.round((100_000 / 60_000) * FOR_MS)
  const GARBAGE: readonly (() => string)[] = [
    () => `pak_${randomBytes(32).toString('hex').slice(0, 43)}_${randomBytes(3).toString('hex')}`,
    () => randomBytes(8).toString('base64url'),
    () => randomBytes(6000).toString('base64url'),
    () => `${key.token.slice(0, -1)}${key.token.endsWith('0') ? '1' : '0'}`,
    () => `sha256:${randomBytes(32).toString('hex')}`,
    () => '',
  ]

  test('get identical refusals, and delay no other client', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 64 })
    const result = await underLoad(async () => {
      const startMs = performance.now()
      const answers: Promise<string>[] = []
      while (answers.length < COUNT) {
        const due = Math.min(((performance.now() - startMs) / FOR_MS) * COUNT, COUNT)
        while (answers.length < due) {
          const token = GARBAGE[answers.length % GARBAGE.length]?.() ?? ''
          const headers = { authorization: `Bearer ${token}` }
          const asking = ask(`${url}${MANAGEMENT}${CONFIG_MAPS}`, { ca, agent, headers })
          answers.push(asking.then(({ code, body }) => `${code} ${body}`))
        }
        await delay(1)
      }
      return Promise.all(answers)
    })
    agent.destroy()
    const answers = result.results.flat()
    expect(answers).toHaveLength(COUNT * result.results.length)
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toMatch(/^401 .*platform access key not found/)
    expectHealthy(result, 150)
  })
})

describe('clients that send slowly on purpose (13.3)', () => {
  const EACH = repeated(20, 200)
  /** Longer than a measurement, shorter than the time that a request may take to arrive. */
  const FULL_FOR_MS = repeated(500, 15_000)

  // The gateway waits half a minute for a slow client.
  test.each(inWhole('lose their connection, and delay no other client'))('%s', async () => {
    const result = await underLoad(async () => {
      const bare = await runMany(EACH, () => openRawConnection(url, ca, false))
      const silent = await runMany(EACH, () => openRawConnection(url, ca))
      const dripping = await runMany(EACH, () => openRawConnection(url, ca))
      for (const connection of dripping)
        connection.write(`GET ${MANAGEMENT}/api HTTP/1.1\r\nHost: ${host}\r\n`)
      const drops = setInterval(() => {
        for (const connection of dripping) connection.write('X')
      }, 500)
      const all = await Promise.all([...bare, ...silent, ...dripping].map(({ closed }) => closed))
      clearInterval(drops)
      return all
    })
    // The deadline of new connections comes first; a 408 is sent where Node's own does.
    const answers = new Set(result.results.flat().map((text) => text.split('\r\n')[0]))
    answers.delete('HTTP/1.1 408 Request Timeout')
    expect(answers).toEqual(new Set(['']))
    expectHealthy(result, 150)
  })

  test('count against the limit of their own key only, until they disconnect', async () => {
    const slow = await setup.key()
    // A body that the gateway reads itself: a forwarded one would occupy the API server.
    const head = `POST ${MANAGEMENT}${ACCESS_KEYS} HTTP/1.1\r\nHost: ${host}\r\n${bearer(slow)}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`
    const oneMore = () => setup.ask(slow.token, CONFIG_MAPS)
    const result = await underLoad(async () => {
      // Each sends its head at once: an idle connection has a shorter timeout than a request.
      const connections = await runMany(400, async () => {
        const connection = await openRawConnection(url, ca)
        connection.write(head)
        return connection
      })
      const refusal = await eventually(
        'the limit is reached',
        async () => {
          const answer = await oneMore()
          return answer.code === 429 ? answer : undefined
        },
        MINUTE,
      )
      expect(refusal.headers['retry-after']).toBe('1')
      expect(JSON.parse(refusal.body)).toMatchObject({
        kind: 'Status',
        reason: 'TooManyRequests',
        message: expect.stringContaining(
          'too many requests in progress for this credential (limit 400)',
        ),
      })
      const endMs = performance.now() + FULL_FOR_MS
      while (performance.now() < endMs) expect((await oneMore()).code).toBe(429)
      for (const connection of connections) connection.end()
    })
    await eventually(
      'requests are accepted again',
      async () => (await oneMore()).code === 200 || undefined,
      MINUTE,
    )
    expectHealthy(result, 150)
  })
})

describe('headers above the limits (13.3)', () => {
  const START = `GET ${MANAGEMENT}/api HTTP/1.1\r\nHost: ${host}\r\n`
  test.each<{ name: string; bytes: string }>([
    { name: 'one header of 20 KiB', bytes: `${START}X: ${'x'.repeat(20_480)}\r\n\r\n` },
    { name: 'a target of 20 KiB', bytes: `GET /${'x'.repeat(20_480)} HTTP/1.1\r\n\r\n` },
    { name: '5,000 headers', bytes: `${START}${'X: x\r\n'.repeat(5000)}\r\n` },
    { name: 'an endless value of 1 MiB', bytes: `${START}X: ${'x'.repeat(1_048_576)}` },
    { name: 'an endless name of 1 MiB', bytes: `${START}${'X'.repeat(1_048_576)}` },
  ])('are refused with 431 and the end of the connection: $name', async ({ bytes }) => {
    const result = await underLoad(async () => {
      const connections = await runMany(repeated(2, 20), () => openRawConnection(url, ca))
      for (const connection of connections) connection.write(bytes)
      return Promise.all(connections.map(({ closed }) => closed))
    })
    const answers = new Set(result.results.flat().map((text) => text.split('\r\n')[0]))
    // Unread bytes may reset the connection before the client has read the answer.
    for (const answer of answers)
      expect(['', 'HTTP/1.1 431 Request Header Fields Too Large']).toContain(answer)
    expectHealthy(result, 150)
  })
})

describe('bodies above the limit (13.3)', () => {
  const PIECE = Buffer.alloc(65_536, 'x')
  const CHUNK = Buffer.concat([Buffer.from('10000\r\n'), PIECE, Buffer.from('\r\n')])

  /** Sends a chunked body of so many MiB; resolves with the status line of the answer. */
  async function sendBody(head: string, mebibytes: number): Promise<string> {
    const connection: RawConnection = await openRawConnection(url, ca)
    connection.write(`${head}Host: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const answered = async (): Promise<void> => {
      for (let piece = 0; piece < mebibytes * 16; piece += 1) {
        if (connection.received() !== '') return
        connection.write(CHUNK)
        await delay(1)
      }
      connection.write('0\r\n\r\n')
    }
    await answered()
    const isClosed = { value: false }
    void connection.closed.then(() => (isClosed.value = true))
    await eventually(
      'the request is answered',
      () => connection.received() !== '' || isClosed.value || undefined,
      MINUTE,
    )
    connection.end()
    return (await connection.closed).split('\r\n')[0] ?? ''
  }

  test.each<{ name: string; head: () => string; codes: readonly number[] }>([
    {
      name: 'without a key',
      head: () => `POST ${MANAGEMENT}${CONFIG_MAPS} HTTP/1.1\r\n`,
      codes: [401],
    },
    {
      name: 'that is forwarded',
      head: () =>
        `POST ${MANAGEMENT}${CONFIG_MAPS} HTTP/1.1\r\n${bearer(key)}Content-Type: application/json\r\n`,
      codes: [413],
    },
    {
      name: 'that the gateway reads',
      head: () =>
        `POST ${MANAGEMENT}${ACCESS_KEYS} HTTP/1.1\r\n${bearer(key)}Content-Type: application/json\r\n`,
      codes: [413],
    },
  ])('a body of 64 MiB $name is refused, and not kept in memory', async ({ head, codes }) => {
    const result = await underLoad(() => runMany(repeated(2, 24), () => sendBody(head(), 64)))
    // Unread bytes may reset the connection before the client has read the answer.
    const answers = new Set(result.results.flat().filter((line) => line !== ''))
    expect([...answers].map((line) => Number(/^HTTP\/1\.1 (\d+)/.exec(line)?.[1]))).toEqual(codes)
    expectHealthy(result, 256)
  })
})

describe('idle watches, 5,000 in all (13.3)', () => {
  const WATCHERS = 10
  const EACH = repeated(20, 500)
  const FOR_MS = repeated(500, 10_000)

  test('stay open, each gets a change, and they delay no other client', async () => {
    // Of one user each: the streams of a person are limited too.
    const toAll = ['--clusterrole=view', '--group=platform:authenticated']
    await plane.kubectl(['create', 'rolebinding', 'watchers', '-n', NAMESPACE, ...toAll])
    const watchers = await Promise.all(
      Array.from({ length: WATCHERS }, (_, at) => setup.key({ user: `watcher-${at}` })),
    )
    let connections: readonly RawConnection[] = []
    const startedMiB = await memoryGrowth(gateway, async () => {
      connections = await runMany(WATCHERS * EACH, async (at) => {
        const connection = await openRawConnection(url, ca)
        const watcher = watchers[at % WATCHERS]
        if (!watcher) throw new Error('there is no watcher')
        const path = `${MANAGEMENT}${CONFIG_MAPS}?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dbell`
        connection.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${bearer(watcher)}\r\n`)
        await eventually(
          'the watch is open',
          () => connection.received().includes('200 OK') || undefined,
          MINUTE,
        )
        return connection
      })
    })
    console.log(`${WATCHERS * EACH} watches: ${startedMiB.toFixed(0)} MiB`)
    const idle = await underLoad(() => delay(FOR_MS))
    expectHealthy(idle, 64)
    const name = 'bell'
    const { code } = await plane.raw('POST', CONFIG_MAPS, { metadata: { name } })
    expect(code).toBe(201)
    await eventually(
      'each watch gets the change',
      () =>
        connections.every((connection) => connection.received().includes('"ADDED"')) || undefined,
      MINUTE,
    )
    // Watches don't count against the limit of requests in flight.
    expect((await setup.ask(watchers[0]?.token ?? '', `${CONFIG_MAPS}?limit=1`)).code).toBe(200)
    for (const connection of connections) connection.end()
    expect(startedMiB).toBeLessThan(600)
  })
})

if (isWhole) testExpensiveRequests(setup, load)
