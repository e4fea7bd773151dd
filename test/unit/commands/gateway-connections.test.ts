import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/commands/gateway/metrics.ts'
import { connectionObserver } from '../../../src/commands/gateway/wiring.ts'
import { manualClock } from '../../support/clock.ts'
import { rememberingLog } from '../../support/log.ts'

test('connections that are turned away are counted, and told of once a minute, all of them (13.3, 15)', async () => {
  const clock = manualClock(0)
  const metrics = createMetrics()
  const { log, lines } = rememberingLog()
  const { dropped } = connectionObserver({ clock, log, metrics })
  const told = () => lines.map(({ fields }) => fields['dropped'])
  for (let count = 0; count < 3; count += 1) dropped()
  await clock.advance(59_000)
  dropped()
  expect(told()).toEqual([1])
  await clock.advance(1000)
  dropped()
  dropped()
  expect(told()).toEqual([1, 4])
  const { body } = await metrics.scrape()
  expect(body).toContain('\nplatform_gateway_connections_dropped_total 6\n')
})
