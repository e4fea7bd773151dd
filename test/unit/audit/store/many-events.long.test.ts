import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, onTestFinished, test } from 'vitest'
import { DataStore } from '../../../../src/audit/store/data-store.ts'
import { systemClock } from '../../../../src/runtime/clock.ts'
import {
  auditIDsOf,
  auditQuery,
  eventLines,
  EVENTS_FROM_MS,
} from '../../../support/audit-store-events.ts'

const EVENTS = 1_000_000
const BATCH = 1000
const MINUTE_MS = 60_000

test('a million events are stored, asked for in time, and deleted by retention, without holding the event loop (22.3, 22.4)', {
  timeout: 15 * MINUTE_MS,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-many-'))
  const store = new DataStore({ kind: 'sqlite', file: join(folder, 'audit.db') }, systemClock())
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const startMs = performance.now()
  for (let first = 0; first < EVENTS; first += BATCH) {
    const user = { username: first === 500_000 ? 'rare' : `user-${first % 7}` }
    const lines = eventLines(first, BATCH, { user })
    await store.writeEvents({ source: 's', lines, position: String(first) })
  }
  const storedMs = performance.now()
  for (const filters of [{}, { user: 'rare' }, { verb: 'none' }, { auditID: 'id-77' }]) {
    const askedMs = performance.now()
    const { events } = await store.queryEvents(auditQuery({ ...filters, limit: '10' }))
    console.log(
      `${JSON.stringify(filters)}: ${events.length} in ${Math.round(performance.now() - askedMs)} ms`,
    )
  }
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const deletingMs = performance.now()
  const signal = new AbortController().signal
  const left = 1500
  const deleted = await store.deleteEventsBefore(EVENTS_FROM_MS + (EVENTS - left) * 1000, signal)
  delay.disable()
  console.log(
    `stored ${EVENTS} in ${Math.round((storedMs - startMs) / 1000)} s, deleted ${deleted} in ${Math.round((performance.now() - deletingMs) / 1000)} s; longest gap ${Math.round(delay.max / 1e6)} ms`,
  )
  expect(deleted).toBe(EVENTS - left)
  const { events } = await store.queryEvents(auditQuery({ limit: '1000' }))
  expect(auditIDsOf(events).at(0)).toBe(`id-${EVENTS - 1}`)
  expect(events).toHaveLength(1000)
})
