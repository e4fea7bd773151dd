// How far agents are behind, by cluster (contract 23.3).
import { expect, test } from 'vitest'
import { AgentLags } from '../../../../src/gateway/audit/agent-lags.ts'
import { manualClock } from '../../../support/manual-clock.ts'

const MINUTE_MS = 60_000

test('the last lag of each cluster is shown, for ten minutes (23.3)', () => {
  const clock = manualClock(0)
  const lags = new AgentLags(clock)
  expect(lags.current()).toEqual([])
  lags.heard('east', 3600)
  lags.heard('west', 2)
  clock.setMonotonic(5 * MINUTE_MS)
  lags.heard('east', 1)
  clock.setMonotonic(10 * MINUTE_MS)
  expect(lags.current()).toEqual([
    ['west', 2],
    ['east', 1],
  ])
  clock.setMonotonic(10 * MINUTE_MS + 1)
  expect(lags.current()).toEqual([['east', 1]])
  clock.setMonotonic(16 * MINUTE_MS)
  expect(lags.current()).toEqual([])
})

test('a key that may name any cluster makes a thousand series at most (23.3)', () => {
  const lags = new AgentLags(manualClock(0))
  for (let at = 0; at < 1500; at += 1) lags.heard(`c-${at}`, at)
  lags.heard('c-700', 0)
  const shown = lags.current()
  expect(shown).toHaveLength(1000)
  expect([shown[0], shown.at(-1)]).toEqual([
    ['c-500', 500],
    ['c-700', 0],
  ])
})
