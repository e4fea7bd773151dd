// `load http` of bench/peers counts as the benchmark says: all requests and answers, but the rate and the latency of the
// window alone.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeEach, expect, test } from 'vitest'
import { type HttpLoad, runLoad } from '../../../bench/measure/load.ts'
import { ensurePeers } from '../../../bench/peers.ts'

const CONNECTIONS = 20
const SLOW_MS = 300
/** Before the lead-in of a second ends, so that all requests of the window are slow. */
const FAST_FOR_MS = 800

const hasGo = spawnSync('go', ['version']).status === 0
const load = hasGo ? (await ensurePeers(console.log)).load : ''

beforeEach(({ skip }) => {
  if (!hasGo) skip('Go is not installed')
})

/** Answers the first request by 503 and all others by 200: at once in its first 800 ms, and slowly from then on. */
async function startServer(): Promise<{
  readonly server: Server
  readonly received: () => number
}> {
  let received = 0
  let firstMs = Number.POSITIVE_INFINITY
  const server = createServer((_, response) => {
    const nowMs = performance.now()
    firstMs = Math.min(firstMs, nowMs)
    received += 1
    response.statusCode = received === 1 ? 503 : 200
    if (nowMs - firstMs > FAST_FOR_MS) setTimeout(() => response.end(), SLOW_MS)
    else response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, received: () => received }
}

test.each([
  { pace: 'as fast as can be', flags: [] },
  { pace: '50 a second', flags: ['--rate=50'] },
])(
  'warm-up and lead-in count among the answers, and in no rate and latency: $pace',
  async ({ flags }) => {
    const { server, received } = await startServer()
    const { port } = server.address() as AddressInfo
    const { requests, statuses, perSecond, p50Ms } = await runLoad<HttpLoad>(load, [
      'http',
      `--url=http://127.0.0.1:${port}/`,
      `--connections=${CONNECTIONS}`,
      '--lead-in=1',
      '--seconds=1',
      ...flags,
    ])
    server.close()
    expect(requests).toBe(received())
    expect(statuses).toEqual({ 200: requests - 1, 503: 1 })
    expect(p50Ms).toBeGreaterThanOrEqual(SLOW_MS)
    // Besides those that were sent before the window, each connection has as many answers as fit into it.
    expect(perSecond).toBeLessThanOrEqual(CONNECTIONS * (1 + 1000 / SLOW_MS))
    expect(requests).toBeGreaterThan(CONNECTIONS + perSecond)
  },
)

test('a load at a rate sends as many requests as are due in lead-in and window', async () => {
  const { server } = await startServer()
  const { port } = server.address() as AddressInfo
  const { requests } = await runLoad<HttpLoad>(load, [
    'http',
    `--url=http://127.0.0.1:${port}/`,
    `--connections=${CONNECTIONS}`,
    '--warm-up=2',
    '--lead-in=0.5',
    '--seconds=0.5',
    '--rate=50',
  ])
  server.close()
  expect(requests).toBe(2 * CONNECTIONS + 50)
})
