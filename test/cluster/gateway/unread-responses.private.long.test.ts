// Clients that request long lists and watches of keys and read no answer: the gateway neither buffers the answers in
// memory nor delays other clients (contract 12.2, 13.3, threats X7).
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type TLSSocket, connect } from 'node:tls'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { API_VERSION } from '../../../src/api/names.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { valueOf } from '../../support/metrics-page.ts'
import { MAX_BODY_LAG_MS, serveUnderLoad, runMany } from './gateway-load.ts'
import { MANAGEMENT, startTestGateway } from './test-gateway.ts'

const PATH = `/apis/${API_VERSION}/ownedaccesskeys`
const SOON = { withinMs: 40_000 }

const setup = await startTestGateway(await privateControlPlane())
const { plane, gateways, ca } = setup
const [gateway] = gateways
if (!gateway) throw new Error('there is no gateway')
const { hostname: host, port } = new URL(gateway.url())

const other = await setup.key({ user: 'ada', type: 'Login' })
const { underLoad, expectHealthy } = await serveUnderLoad(setup, other.token, `${PATH}?limit=1`)

/** Keys of an administrator, each longer than self-service accepts. */
const HEAVY = 40
const WEIGHT = 660_000
const heavy = (at: number): string => `heavy-${at}`

let token = ''
const sockets: TLSSocket[] = []

/** Sends a request of mallory and reads nothing of the answer. */
async function unread(query: string): Promise<TLSSocket> {
  const socket = connect({ host, port: Number(port), ca })
  // The gateway may cut it off at any time.
  socket.on('error', () => undefined)
  sockets.push(socket)
  await once(socket, 'secureConnect')
  const head = `GET ${MANAGEMENT}${PATH}${query} HTTP/1.1\r\nHost: ${host}\r\n`
  socket.write(`${head}Authorization: Bearer ${token}\r\n\r\n`)
  return socket
}

async function openWatches(): Promise<number> {
  return valueOf((await gateway?.metrics()) ?? '', 'platform_gateway_streams{kind="watch"}')
}

beforeAll(async () => {
  token = (await setup.key({ user: 'mallory', type: 'Login' })).token
  const codes = await runMany(HEAVY, async (at) => {
    const identity = { username: 'mallory', extraClaims: { weight: 'x'.repeat(WEIGHT) } }
    const spec = { user: 'mallory', identity }
    const key = {
      apiVersion: API_VERSION,
      kind: 'OwnedAccessKey',
      metadata: { name: heavy(at) },
      spec,
    }
    return (await plane.raw('POST', PATH, key)).code
  })
  if (codes.some((code) => code !== 201))
    throw new Error(`not all keys are created: ${codes.join(' ')}`)
})

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

describe('answers that the client does not read (12.2, 13.3, X7)', () => {
  test(`12 lists of ${HEAVY} keys of 0.66 MB neither fill the memory nor delay other clients`, async () => {
    const result = await underLoad(async () => {
      for (let at = 0; at < 12; at += 1) await unread('')
      await delay(1000)
    })
    expect(result.results.length).toBeGreaterThan(0)
    expectHealthy(result, 400, MAX_BODY_LAG_MS)
  })

  test('a list that the client reads has every key', async () => {
    const { body } = await eventually(
      'the gateway accepts another list',
      async () => {
        const answer = await setup.ask(token, PATH)
        return answer.code === 200 ? answer : undefined
      },
      SOON,
    )
    const { items } = JSON.parse(body) as { items: readonly { metadata: { name: string } }[] }
    const names = items
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.startsWith('heavy'))
    expect(new Set(names).size).toBe(HEAVY)
  })

  test('600 watches with changes neither fill the memory nor delay other clients', async () => {
    const { body } = await setup.ask(token, `${PATH}?limit=1`)
    const { metadata } = JSON.parse(body) as { metadata: { resourceVersion: string } }
    await runMany(600, () => unread(`?watch=1&resourceVersion=${metadata.resourceVersion}`))
    await eventually(
      'all watches are open',
      async () => (await openWatches()) >= 600 || undefined,
      SOON,
    )
    let changes = 0
    const result = await underLoad(async () => {
      changes += 1
      const changed = { metadata: { annotations: { at: String(changes) } } }
      expect((await plane.raw('PATCH', `${PATH}/${heavy(0)}`, changed)).code).toBe(200)
      await delay(1000)
    })
    // Most of the bound: Node keeps a buffer per connection, as long as the longest write on it.
    expectHealthy(result, 1200, MAX_BODY_LAG_MS)
  })
})
