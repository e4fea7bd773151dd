import { expect, test } from 'vitest'
import { METRIC_HELP } from '../../../../src/api/metrics.ts'
import { storeMetrics } from '../../../../src/delivery/store/metrics.ts'
import { SYNC_OUTCOMES } from '../../../../src/domain/store/round-status.ts'
import { instruments, processRegistry } from '../../../../src/runtime/metrics.ts'

test('all outcomes are there from the start, and the page follows what happens (36.5)', async () => {
  const { registry, scrape } = processRegistry()
  let nowMs = 100_000
  const { store } = storeMetrics(instruments(registry, METRIC_HELP), () => nowMs)
  const page = async () => (await scrape()).body
  const line = (direction: string, outcome: string, value: number): string =>
    `platform_secret_store_syncs_total{direction="${direction}",outcome="${outcome}"} ${value}`
  const before = await page()
  for (const direction of ['pull', 'push'])
    for (const outcome of SYNC_OUTCOMES) expect(before).toContain(line(direction, outcome, 0))
  expect(before).toContain('platform_secret_store_lag_seconds 0')
  store.compared('Pull', 'written')
  store.compared('Push', 'conflict')
  store.laggingSince(70_000)
  store.tokenEnds(5_000_000)
  const after = await page()
  expect(after).toContain(line('pull', 'written', 1))
  expect(after).toContain(line('push', 'conflict', 1))
  expect(after).toContain('platform_secret_store_lag_seconds 30')
  expect(after).toContain('platform_secret_store_token_expiry_timestamp_seconds 5000')
  nowMs = 130_000
  expect(await page()).toContain('platform_secret_store_lag_seconds 60')
  store.laggingSince(null)
  store.tokenEnds(null)
  const end = await page()
  expect(end).toContain('platform_secret_store_lag_seconds 0')
  expect(end).toContain('platform_secret_store_token_expiry_timestamp_seconds 0')
})
