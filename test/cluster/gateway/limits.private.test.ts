// Whoever bears down on a gateway gets an answer or loses the connection, everybody else is served, and the
// process stays small and quick (contract 13.3, threats C2, F18).
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
  MOST_LAG_MS,
  type RawConnection,
  serveUnderLoad,
  memoryGrowth,
  openMany,
  openRawConnection,
  measureUnderLoad,
} from './gateway-load.ts'
import { startAnotherGateway } from './gateway-poller.ts'
import { MANAGEMENT, type UsableKey, startTestGateway } from './test-gateway.ts'

const MINUTE = { withinMs: 60_000 }
const NAMESPACE = 'default'
const ACCESS_KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`

const front = await startTestGateway(await privateControlPlane())
const { plane, ca, gateways } = front
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
const key = await front.key()

const bearer = ({ token }: UsableKey): string => `Authorization: Bearer ${token}\r\n`

const bearing = await serveUnderLoad(front, key.token, `${CONFIG_MAPS}?limit=1`)
const { borneDown, expectWell, quietMs } = bearing

describe.each(inWhole('the measure'))('%s', () => {
  const FOR_MS = 5000
  const BUSY = `setInterval(() => {
    const used = () => { const { user, system } = process.cpuUsage(); return user + system }
    const before = used()
    while (used() - before < 100_000) {}
  }, 1000).unref()`

  test('finds a gateway quick that has nothing to do', () => {
    expect(quietMs).toBeLessThan(MOST_LAG_MS)
  })

  test('finds one out that is at something else for 100 ms in each second', async () => {
    const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(BUSY)}` }
    await using busy = await startAnotherGateway(front, { env })
    const { lagMs } = await measureUnderLoad(busy, () => delay(FOR_MS))
    expect(lagMs - quietMs).toBeGreaterThan(MOST_LAG_MS)
  })
})

test('the gateway’s own requests queue apart from those of all other accounts (13.3)', async () => {
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
  const told = async (options: object) =>
    (await plane.kubectl(['get', '--raw', '/version', '-v=8'], options)).stderr
  expect(await told({ kubeconfig })).toContain(uid)
  expect(await told({})).not.toContain(uid)
})

describe('100,000 garbage keys a minute (C2)', () => {
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

  test('are refused word by word alike, and others do not notice', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 64 })
    const pressure = await borneDown(async () => {
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
    const answers = pressure.results.flat()
    expect(answers).toHaveLength(COUNT * pressure.results.length)
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toMatch(/^401 .*platform access key not found/)
    expectWell(pressure, 150)
  })
})

describe('clients that are slow on purpose (13.3)', () => {
  const EACH = repeated(20, 200)
  /** Longer than it takes to look, shorter than a request may take to come in. */
  const FULL_FOR_MS = repeated(500, 15_000)

  // They have half a minute to be no longer slow.
  test.each(inWhole('lose their connection, and others do not notice'))('%s', async () => {
    const pressure = await borneDown(async () => {
      const bare = await openMany(EACH, () => openRawConnection(url, ca, false))
      const silent = await openMany(EACH, () => openRawConnection(url, ca))
      const dripping = await openMany(EACH, () => openRawConnection(url, ca))
      for (const wire of dripping) wire.write(`GET ${MANAGEMENT}/api HTTP/1.1\r\nHost: ${host}\r\n`)
      const drops = setInterval(() => {
        for (const wire of dripping) wire.write('X')
      }, 500)
      const all = await Promise.all([...bare, ...silent, ...dripping].map(({ closed }) => closed))
      clearInterval(drops)
      return all
    })
    const answers = new Set(pressure.results.flat().map((text) => text.split('\r\n')[0]))
    expect(answers).toEqual(new Set(['', 'HTTP/1.1 408 Request Timeout']))
    expectWell(pressure, 150)
  })

  test('fill the limit of their key, not that of others, and leave it when they go', async () => {
    const slow = await front.key()
    // A body that the gateway reads: one that it passes on would wait at the API server, and fill that.
    const head = `POST ${MANAGEMENT}${ACCESS_KEYS} HTTP/1.1\r\nHost: ${host}\r\n${bearer(slow)}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`
    const more = () => front.ask(slow.token, CONFIG_MAPS)
    const pressure = await borneDown(async () => {
      // Each begins at once: a connection on which nothing comes is not waited for as long as a request.
      const wires = await openMany(400, async () => {
        const wire = await openRawConnection(url, ca)
        wire.write(head)
        return wire
      })
      const refusal = await eventually(
        'one more is one too many',
        async () => {
          const answer = await more()
          return answer.code === 429 ? answer : undefined
        },
        MINUTE,
      )
      expect(refusal.headers['retry-after']).toBe('1')
      expect(JSON.parse(refusal.body)).toMatchObject({
        kind: 'Status',
        reason: 'TooManyRequests',
        message: expect.stringContaining(
          'too many requests in progress for this access key (limit 400)',
        ),
      })
      const endMs = performance.now() + FULL_FOR_MS
      while (performance.now() < endMs) expect((await more()).code).toBe(429)
      for (const wire of wires) wire.end()
    })
    await eventually(
      'there is room again',
      async () => (await more()).code === 200 || undefined,
      MINUTE,
    )
    expectWell(pressure, 150)
  })
})

describe('headers that do not end (13.3)', () => {
  const START = `GET ${MANAGEMENT}/api HTTP/1.1\r\nHost: ${host}\r\n`
  test.each<{ name: string; bytes: string }>([
    { name: 'one of 20 KiB', bytes: `${START}X: ${'x'.repeat(20_480)}\r\n\r\n` },
    { name: 'a target of 20 KiB', bytes: `GET /${'x'.repeat(20_480)} HTTP/1.1\r\n\r\n` },
    { name: '5,000 of them', bytes: `${START}${'X: x\r\n'.repeat(5000)}\r\n` },
    { name: 'a MiB without an end', bytes: `${START}X: ${'x'.repeat(1_048_576)}` },
    { name: 'a name without an end', bytes: `${START}${'X'.repeat(1_048_576)}` },
  ])('$name: 431, and the end of the connection', async ({ bytes }) => {
    const pressure = await borneDown(async () => {
      const wires = await openMany(repeated(2, 20), () => openRawConnection(url, ca))
      for (const wire of wires) wire.write(bytes)
      return Promise.all(wires.map(({ closed }) => closed))
    })
    const answers = new Set(pressure.results.flat().map((text) => text.split('\r\n')[0]))
    // The rest of what it sends may reset the connection before its client has read the answer.
    for (const answer of answers)
      expect(['', 'HTTP/1.1 431 Request Header Fields Too Large']).toContain(answer)
    expectWell(pressure, 150)
  })
})

describe('bodies that are bombs (13.3)', () => {
  const PIECE = Buffer.alloc(65_536, 'x')
  const CHUNK = Buffer.concat([Buffer.from('10000\r\n'), PIECE, Buffer.from('\r\n')])

  /** Sends a body of so many MiB in chunks; what was answered by the time that the connection is closed. */
  async function bomb(head: string, mebibytes: number): Promise<string> {
    const wire: RawConnection = await openRawConnection(url, ca)
    wire.write(`${head}Host: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const answered = async (): Promise<void> => {
      for (let piece = 0; piece < mebibytes * 16; piece += 1) {
        if (wire.received() !== '') return
        wire.write(CHUNK)
        await delay(1)
      }
      wire.write('0\r\n\r\n')
    }
    await answered()
    const isOver = { value: false }
    void wire.closed.then(() => (isOver.value = true))
    await eventually(
      'it is answered',
      () => wire.received() !== '' || isOver.value || undefined,
      MINUTE,
    )
    wire.end()
    return (await wire.closed).split('\r\n')[0] ?? ''
  }

  test.each<{ name: string; head: () => string; codes: readonly number[] }>([
    {
      name: 'of nobody',
      head: () => `POST ${MANAGEMENT}${CONFIG_MAPS} HTTP/1.1\r\n`,
      codes: [401],
    },
    {
      name: 'that is passed on',
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
  ])('64 MiB $name are answered, and not kept', async ({ head, codes }) => {
    const pressure = await borneDown(() => openMany(repeated(2, 24), () => bomb(head(), 64)))
    // What it goes on sending may reset the connection before its client has read the answer.
    const answers = new Set(pressure.results.flat().filter((line) => line !== ''))
    expect([...answers].map((line) => Number(/^HTTP\/1\.1 (\d+)/.exec(line)?.[1]))).toEqual(codes)
    expectWell(pressure, 256)
  })
})

describe('idle watches, 5,000 in all (13.3)', () => {
  const WATCHERS = 10
  const EACH = repeated(20, 500)
  const FOR_MS = repeated(500, 10_000)

  test('are kept, each is told of a change, and others do not notice', async () => {
    const watchers = await Promise.all(Array.from({ length: WATCHERS }, () => front.key()))
    let wires: readonly RawConnection[] = []
    const startedMiB = await memoryGrowth(gateway, async () => {
      wires = await openMany(WATCHERS * EACH, async (at) => {
        const wire = await openRawConnection(url, ca)
        const watcher = watchers[at % WATCHERS]
        if (!watcher) throw new Error('there is no watcher')
        const path = `${MANAGEMENT}${CONFIG_MAPS}?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dbell`
        wire.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${bearer(watcher)}\r\n`)
        await eventually(
          'the watch is open',
          () => wire.received().includes('200 OK') || undefined,
          MINUTE,
        )
        return wire
      })
    })
    console.log(`${WATCHERS * EACH} watches: ${startedMiB.toFixed(0)} MiB`)
    const idle = await borneDown(() => delay(FOR_MS))
    expectWell(idle, 64)
    const name = 'bell'
    const { code } = await plane.raw('POST', CONFIG_MAPS, { metadata: { name } })
    expect(code).toBe(201)
    await eventually(
      'each is told',
      () => wires.every((wire) => wire.received().includes('"ADDED"')) || undefined,
      MINUTE,
    )
    // They are no requests: the limit of those is not reached.
    expect((await front.ask(watchers[0]?.token ?? '', `${CONFIG_MAPS}?limit=1`)).code).toBe(200)
    for (const wire of wires) wire.end()
    expect(startedMiB).toBeLessThan(600)
  })
})

if (isWhole) testExpensiveRequests(front, bearing)
