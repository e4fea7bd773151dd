/** @module-tag no-retry */
// A batch of an agent whose key ends while it is sent, waits or is stored (contract 13.4, 23.1).
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { InFlightRequests } from '../../../../src/gateway/streams/in-flight.ts'
import { t0 } from '../../../support/key-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { batchOf, centre, eventsOf } from '../audit/agent-centre.ts'
import { CALLER, handlerFor } from '../handler-builder.ts'
import { callTo } from '../request-builder.ts'
import { reviewed } from './reviewing-server.ts'

const BATCH = batchOf(eventsOf(1))

const turns = async (): Promise<void> => {
  for (let count = 0; count < 20; count += 1) await turn()
}

/** A gateway with a log in memory, to which a test sends batches of one event. */
function sending() {
  const { agents, events, hold } = centre()
  let because: 'revoked' | 'stale' | null = null
  const inFlight = new InFlightRequests({
    clock: manualClock(t0),
    reauthenticate: (caller) => (because === null ? { ok: true, caller } : { ok: false, because }),
    observer: { opened: () => undefined, closed: () => undefined, cut: () => undefined },
  })
  const handle = handlerFor(CALLER, reviewed(true), { inFlight, agentEvents: agents })
  /** Sends all but the last bytes. */
  const begin = async (without: number) => {
    const body = new PassThrough()
    body.write(BATCH.slice(0, BATCH.length - without))
    const headers = { 'content-type': 'application/json', 'content-length': String(BATCH.length) }
    const answer = handle(
      callTo('/kubernetes/management/agents/east/auditevents', { method: 'POST', headers, body }),
    )
    await turns()
    const rest = (): void => void body.end(BATCH.slice(BATCH.length - without))
    return { answer, rest }
  }
  const end = (why: 'revoked' | 'stale'): void => {
    because = why
    inFlight.look(null)
  }
  return { begin, end, events, hold }
}

describe('a batch (13.4, 23.1)', () => {
  test.each([
    { why: 'revoked', status: 401 },
    { why: 'stale', status: 503 },
  ] as const)(
    'whose key ends before its last byte is refused, and not stored: $why',
    async ({ why, status }) => {
      const { begin, end, events } = sending()
      const { answer, rest } = await begin(1)
      end(why)
      expect((await answer).status).toBe(status)
      rest()
      await turns()
      expect(events()).toEqual([])
    },
  )

  test('whose key ends while it waits for the one before it is not stored', async () => {
    const { begin, end, events, hold } = sending()
    const release = hold()
    const first = await begin(1)
    const second = await begin(1)
    first.rest()
    await turns()
    second.rest()
    await turns()
    end('revoked')
    release()
    expect([(await first.answer).status, (await second.answer).status]).toEqual([200, 401])
    await turns()
    expect(events()).toHaveLength(1)
  })
})
