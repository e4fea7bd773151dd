// The log of a gateway in memory, which takes events of agents.
import { Readable } from 'node:stream'
import { eventListOf } from '../../../../src/domain/audit/event-list.ts'
import { AgentEvents } from '../../../../src/gateway/audit/agent-events.ts'
import type { Answer } from '../../../../src/serving/http/answer.ts'
import { auditEvent, type BuiltEvent } from '../../../support/audit-event-builder.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryAudit } from './memory-audit.ts'

const ARRIVED_MS = Date.parse('2026-11-28T12:00:10Z')

/** The headers of a batch. */
export const JSON_TYPE: Readonly<Record<string, string>> = { 'content-type': 'application/json' }

/** The text of a batch of events. */
export const batchOf = (events: readonly BuiltEvent[]): string =>
  eventListOf(
    events.map((event) => JSON.stringify(event)),
    null,
  )

/** Events with an auditID each. */
export const eventsOf = (count: number, fields: BuiltEvent = {}): readonly BuiltEvent[] =>
  Array.from({ length: count }, (_, at) =>
    auditEvent({ auditID: `b4f1d7c2-0000-4000-8000-${String(at).padStart(12, '0')}`, ...fields }),
  )

/**
 * A gateway's log in memory, which takes events of agents.
 *
 * @param isMoving its clock moves on a millisecond whenever it is read: each event takes one
 */
export function centre({ bodyLimit = 512 * 1024, isMoving = false } = {}) {
  const clock = manualClock(ARRIVED_MS)
  const memory = memoryAudit({ level: 2 }, clock)
  let readings = 0
  const observed: string[] = []
  const agents = new AgentEvents({
    recording: () => memory.recorder.current,
    isKnown: () => memory.recorder.isKnown,
    clock: isMoving ? { ...clock, monotonicMs: () => (readings += 1) } : clock,
    bodyLimit,
    observer: {
      recorded: (eventLevel, stage) => observed.push(`${eventLevel} ${stage}`),
      omitted: (why) => observed.push(`omitted ${why}`),
      heard: (cluster, seconds) => observed.push(`${cluster} ${seconds} s`),
    },
  })
  const send = (
    text: string | Buffer,
    { cluster = 'east', headers = JSON_TYPE } = {},
  ): Promise<Answer> =>
    agents.take(
      cluster,
      {
        headers: { 'content-length': String(Buffer.byteLength(text)), ...headers },
        body: Readable.from([Buffer.from(text)]),
      },
      () => true,
    )
  return { ...memory, agents, clock, observed, send }
}
