// A batch of an agent takes many turns of the event loop, each a short one (contract 23.1).
import { describe, expect, test } from 'vitest'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { auditEvent } from '../../../support/audit-event-builder.ts'
import { inOwnThread } from '../../../support/own-thread.ts'
import { batchOf, eventsOf } from './agent-centre.ts'
import type { MeasuredTurns, TurnsMeasure } from './agent-turns-worker.ts'

/** Times as long as the parsing of a million bytes a turn may take. */
const MOST = 3

const measuredTurns = (measure: TurnsMeasure): Promise<MeasuredTurns> =>
  inOwnThread(new URL('./agent-turns-worker.ts', import.meta.url), measure)

describe('the event loop (23.1)', () => {
  const million = (unit: string): string => unit.repeat(Math.floor(1_000_000 / unit.length))
  const withBodies = (body: string): string =>
    `${JSON.stringify(auditEvent({ level: 'RequestResponse' })).slice(0, -1)},"requestObject":${body},"responseObject":${body}}`
  const long = eventsOf(1000, { userAgent: 'x'.repeat(1500) })
  const labels = Object.fromEntries(
    Array.from({ length: 8000 }, (_, at) => [`label-${at}`, 'x'.repeat(30)]),
  )

  const lists = `[${million('[],')}[]]`

  // biome-ignore format: a table
  test.each([
    { name: '1,000 events of 2 KiB', text: batchOf(long), status: 200, turns: 90 },
    { name: 'bodies of half a megabyte', text: eventListOf([withBodies(JSON.stringify(labels)), withBodies(JSON.stringify(labels))], null), status: 200, turns: 12 },
    { name: 'bodies of empty lists', text: eventListOf([withBodies(lists)], null), status: 200, turns: 5 },
    { name: 'a list of empty lists', text: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[${million('[],').repeat(3)}[]]}`, status: 400, turns: 3 },
    { name: 'an event of empty lists', text: eventListOf([`{"x":[${million('[],').repeat(2)}[]]}`], null), status: 400, turns: 4 },
    { name: 'an event of half a million fields', text: eventListOf([`{${million('"a":0,').repeat(3)}"a":0}`], null), status: 400, turns: 4 },
    { name: 'spaces', text: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[${' '.repeat(3_000_000)}]}`, status: 200, turns: 3 },
    { name: 'nested brackets', text: eventListOf(['['.repeat(3_000_000)], null), status: 400, turns: 3 },
  ])('is held no longer than three megabytes of JSON take by $name', async ({ text, status, turns }) => {
    const measured = await measuredTurns({ text, floor: lists, most: MOST })
    expect(measured.statuses).toEqual([status])
    expect(measured.turns).toBeGreaterThanOrEqual(turns)
    expect(measured.ratio).toBeLessThan(MOST)
  }, 120_000)
})
