// Clients that ask for much of our own kinds and read nothing of it: what they are due is neither stored up, nor
// does it stop the event loop for others (contract 12.2, 13.3, threats X7).
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type TLSSocket, connect } from 'node:tls'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { API_VERSION } from '../../../src/api/names.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { valueOf } from '../../support/metrics-text.ts'
import { MOST_BODY_LAG_MS, serveUnderLoad, openMany } from './gateway-load.ts'
import { MANAGEMENT, startTestGateway } from './test-gateway.ts'

const PATH = `/apis/${API_VERSION}/ownedaccesskeys`
const SOON = { withinMs: 40_000 }

const front = await startTestGateway(await privateControlPlane())
const { plane, gateways, ca } = front
const [gateway] = gateways
if (!gateway) throw new Error('there is no gateway')
const { hostname: host, port } = new URL(gateway.url())

const other = await front.key({ user: 'ada', type: 'Login' })
const { borneDown, expectWell } = await serveUnderLoad(front, other.token, `${PATH}?limit=1`)

/** Each longer than self-service stores: an administrator's. */
const HEAVY = 40
const WEIGHT = 660_000
const heavy = (at: number): string => `heavy-${at}`

let token = ''
const sockets: TLSSocket[] = []

/** A request of mallory whose answer nobody reads. */
async function unread(query: string): Promise<TLSSocket> {
  const socket = connect({ host, port: Number(port), ca })
  // It may be cut off at any time.
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
  token = (await front.key({ user: 'mallory', type: 'Login' })).token
  const codes = await openMany(HEAVY, async (at) => {
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
  if (codes.some((code) => code !== 201)) throw new Error(`not all are made: ${codes.join(' ')}`)
})

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

describe('answers that nobody reads (12.2, 13.3, X7)', () => {
  test(`12 lists of ${HEAVY} keys of 0.66 MB: the process stays small, and others are served`, async () => {
    const pressure = await borneDown(async () => {
      for (let at = 0; at < 12; at += 1) await unread('')
      await delay(1000)
    })
    expect(pressure.results.length).toBeGreaterThan(0)
    expectWell(pressure, 400, MOST_BODY_LAG_MS)
  })

  test('a list that is read has every key, page by page', async () => {
    const { body } = await eventually(
      'there is room for it',
      async () => {
        const answer = await front.ask(token, PATH)
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

  test('600 watches and a change: the process stays small and quick, and others are served', async () => {
    const { body } = await front.ask(token, `${PATH}?limit=1`)
    const { metadata } = JSON.parse(body) as { metadata: { resourceVersion: string } }
    await openMany(600, () => unread(`?watch=1&resourceVersion=${metadata.resourceVersion}`))
    await eventually('all are open', async () => (await openWatches()) >= 600 || undefined, SOON)
    let changes = 0
    const pressure = await borneDown(async () => {
      changes += 1
      const changed = { metadata: { annotations: { at: String(changes) } } }
      expect((await plane.raw('PATCH', `${PATH}/${heavy(0)}`, changed)).code).toBe(200)
      await delay(1000)
    })
    // Node keeps for each connection a buffer as long as the longest write on it, which is most of this.
    expectWell(pressure, 1200, MOST_BODY_LAG_MS)
  })
})
