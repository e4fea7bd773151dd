// Takes the events that agents of connected clusters send into the log of this gateway (contract 23.1, 23.2).
import type { Recording } from '../../audit/recorder.ts'
import type { AgentSource } from '../../domain/audit/agents/agent-event.ts'
import { MOST_BATCH_EVENTS } from '../../domain/audit/agents/event-batch.ts'
import { omissionsIn } from '../../domain/audit/audit-line.ts'
import type { Omission } from '../../domain/audit/event.ts'
import type { AuditStage } from '../../domain/audit/policy.ts'
import type { Clock } from '../../runtime/clock.ts'
import { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { createSemaphore } from '../../runtime/concurrency/semaphore.ts'
import { type Answer, LONGEST_PARSED_BODY, readBody, refuse } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { type BatchLines, linesOfBatch } from './agent-batch.ts'
import { BatchRoom } from './batch-room.ts'
import { AUDIT_ERRORS } from './errors.ts'
import { lengthIn } from './request-bodies.ts'

/** Dependencies of AgentEvents. */
interface AgentEventsOptions {
  /** The log in force; null = audit is off, or not known yet. */
  readonly recording: () => Recording | null
  /** Whether it is known if audit is off. */
  readonly isKnown: () => boolean
  readonly clock: Clock
  /** The most bytes of a body that is recorded. */
  readonly bodyLimit: number
  readonly observer: {
    /** An event was handed to the log. */
    readonly recorded: (level: string, stage: AuditStage) => void
    /** A body was left out of an event. */
    readonly omitted: (why: Omission) => void
    /** A batch is in the log. @param lagSeconds the age of its newest event when it arrived */
    readonly heard: (cluster: string, lagSeconds: number) => void
  }
}

/** The most batches whose lines are made and written at a time, in all and of a cluster: each takes some 25 MiB then. */
const RECORDED_AT_ONCE = { inAll: 2, ofOne: 1 } as const

/** A batch as it was sent. */
type SentBatch = Pick<HttpRequest, 'headers' | 'body'>

const AUDIT_OFF = refuse(AUDIT_ERRORS.agentAuditOff)
const NOT_WRITTEN = refuse(AUDIT_ERRORS.agentEventsNotWritten)
const OTHER_TYPE = refuse(AUDIT_ERRORS.agentEventsType)
const TOO_LONG = refuse(AUDIT_ERRORS.agentEventsTooLong, { limit: LONGEST_PARSED_BODY })
const TOO_MANY = refuse(AUDIT_ERRORS.agentEventsTooMany, { limit: MOST_BATCH_EVENTS })
const NO_ROOM = refuse(AUDIT_ERRORS.agentEventsNoRoom)

/** Takes batches of agents that may send them. */
export class AgentEvents {
  readonly #options: AgentEventsOptions
  readonly #eventLoop: EventLoopShare
  readonly #room = new BatchRoom()
  readonly #recording = createSemaphore(RECORDED_AT_ONCE.inAll, RECORDED_AT_ONCE.ofOne)

  constructor(options: AgentEventsOptions) {
    this.#options = options
    this.#eventLoop = new EventLoopShare(options.clock)
  }

  /**
   * Records a batch: answers 200 once the log has all of its events, else nothing of it is kept, or it may be sent again.
   *
   * @param cluster whose events they are
   * @param mayStore asked right before the log gets them; false = their sender has been refused by then
   * @throws Error when the client disconnects
   */
  async take(cluster: string, batch: SentBatch, mayStore: () => boolean): Promise<Answer> {
    const { recording, isKnown, clock } = this.#options
    const current = recording()
    // An agent drops its events where audit is off: that must be certain.
    if (current === null) return isKnown() ? AUDIT_OFF : NOT_WRITTEN
    if (current.log.isFailed) return NOT_WRITTEN
    if (!isPlainJson(batch)) return OTHER_TYPE
    const length = lengthIn(batch.headers) ?? LONGEST_PARSED_BODY
    if (length > LONGEST_PARSED_BODY) return TOO_LONG
    if (!this.#room.take(cluster, length)) return NO_ROOM
    current.log.retain()
    try {
      const bytes = await readBody(batch.body)
      if (bytes === null) return TOO_LONG
      const source = { cluster, arrivedMs: clock.nowMs() }
      return await this.#recording(cluster, () => this.#record(current, source, bytes, mayStore))
    } finally {
      current.log.release()
      this.#room.give(cluster, length)
    }
  }

  async #record(
    recording: Recording,
    source: AgentSource,
    bytes: Buffer,
    mayStore: () => boolean,
  ): Promise<Answer> {
    const { bodyLimit, observer } = this.#options
    const batch = await linesOfBatch(bytes, { ...source, bodyLimit, eventLoop: this.#eventLoop })
    if (batch.kind === 'tooMany') return TOO_MANY
    if (batch.kind === 'malformed')
      return refuse(AUDIT_ERRORS.agentEventsMalformed, { fault: batch.fault })
    const { lines, newestMs } = batch
    if (!mayStore() || !(await this.#write(recording, lines))) return NOT_WRITTEN
    const { cluster, arrivedMs } = source
    if (newestMs !== null) observer.heard(cluster, Math.max(arrivedMs - newestMs, 0) / 1000)
    return taken(lines.length)
  }

  /** @returns whether the log has them all: else it may get them later all the same */
  async #write({ log }: Recording, lines: WrittenLines): Promise<boolean> {
    // It may have failed meanwhile: lines of a failed log take up memory, and will be sent again.
    if (log.isFailed) return false
    const { recorded, omitted } = this.#options.observer
    const writing = lines.map(({ event, bodies, line }) => {
      for (const why of omissionsIn(bodies)) omitted(why)
      recorded(event.level, event.stage)
      return log.write(line)
    })
    try {
      await Promise.all(writing)
      return true
    } catch {
      return false
    }
  }
}

type WrittenLines = Extract<BatchLines, { readonly kind: 'lines' }>['lines']

const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i

const isPlainJson = ({ headers }: SentBatch): boolean =>
  JSON_TYPE.test(headers['content-type'] ?? '') &&
  (headers['content-encoding'] ?? 'identity') === 'identity'

const taken = (events: number): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: Buffer.from(JSON.stringify({ events })),
})
