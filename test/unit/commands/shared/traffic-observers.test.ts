import { expect, test } from 'vitest'
import { createMetrics } from '../../../../src/commands/gateway/metrics.ts'
import {
  connectionObserver,
  forwardedRequestObserver,
} from '../../../../src/commands/shared/traffic-observers.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'
import { ANN, call } from '../../kube/proxy/upstream-server.ts'

test('rejected connections are counted, and logged once a minute with their number (13.3, 15)', async () => {
  const clock = manualClock(0)
  const metrics = createMetrics()
  const { log, lines } = memoryLog()
  const { dropped } = connectionObserver({ clock, log, metrics })
  const reported = () => lines.map(({ fields }) => fields['dropped'])
  for (let count = 0; count < 3; count += 1) dropped()
  await clock.advance(59_000)
  dropped()
  expect(reported()).toEqual([1])
  await clock.advance(1000)
  dropped()
  dropped()
  expect(reported()).toEqual([1, 4])
  const { body } = await metrics.scrape()
  expect(body).toContain('\nplatform_gateway_connections_dropped_total 6\n')
})

const FOR_ANN = { impersonation: ANN }
const BY_PROXY = { ...FOR_ANN, isProxied: true }
const OWN = { impersonation: null }

// biome-ignore format: a table
test.each([
  { name: 'its own requests, with any result', parts: OWN, codes: ['200', '403', '401', '<error>'], counted: ['200', '403', '401', '<error>'] },
  { name: "of a caller's requests, refusals of the gateway's own credential", parts: FOR_ANN, codes: ['200', '403', '401', '500', '<error>'], counted: ['401'] },
  { name: 'no responses of a server behind a proxy', parts: BY_PROXY, codes: ['200', '401', '<error>'], counted: [] },
])('counts as requests of this process: $name (15)', ({ parts, codes, counted }) => {
  const reported: string[] = []
  const { responded } = forwardedRequestObserver({
    responded: (method, code, dateMs) => void reported.push(`${method} ${code} ${dateMs}`),
  })
  for (const code of codes) responded(call(parts), code)
  expect(reported).toEqual(counted.map((code) => `GET ${code} null`))
})
