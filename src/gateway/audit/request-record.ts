// The record of one request: judged once by the policy in force when it arrived, and written before its answer is sent
// (contract 21.2, 22.2).
import { type AuditLine, NO_BODIES, auditLine } from '../../domain/audit/audit-line.ts'
import type { AuditEvent, ResponseStatus } from '../../domain/audit/event.ts'
import { type AuditDecision, type AuditStage, decideAudit } from '../../domain/audit/policy.ts'
import { formatMicroTime } from '../../domain/time.ts'
import type { Recording } from '../../audit/recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import { AUDIT_ERRORS } from './errors.ts'
import type { RequestContext } from '../request-context.ts'
import type { AnswerEnd, Decision } from '../request-observer.ts'
import type { AnonymousLimit } from './anonymous-limit.ts'
import {
  type EventFacts,
  auditedRequest,
  eventFacts,
  eventUser,
  isLongRunningEvent,
} from './event-facts.ts'
import {
  ABANDONED,
  type Annotations,
  decisionAnnotations,
  endAnnotation,
  isAbandoned,
  refusalStatus,
} from './outcome.ts'

/** Counts events. */
interface RecordObserver {
  /** An event was handed to the log. */
  readonly recorded: (level: string, stage: AuditStage) => void
  /** A request was refused, because it can't be recorded. */
  readonly refused: () => void
  /** The event of a request without a caller was left out. */
  readonly suppressed: () => void
}

/** What all records of a process share. */
interface RecordOptions {
  readonly clock: Clock
  readonly anonymous: AnonymousLimit
  readonly observer: RecordObserver
}

/** Before any effect of the request. */
const NOT_RECORDABLE = refuse(AUDIT_ERRORS.notRecordable)

/** After the request was carried out. */
const NOT_RECORDED = refuse(AUDIT_ERRORS.recordPending)

/** What is new in an event of a stage. */
interface StageFacts {
  readonly status?: ResponseStatus
  readonly annotations?: Annotations
}

/** The outcome of a request when its answer is decided. */
interface RequestOutcome extends StageFacts {
  /** The last stage. */
  readonly stage: AuditStage
}

/** The record of one request. */
export class RequestRecord {
  readonly #recording: Recording
  readonly #deps: RecordOptions
  readonly #receivedMs: number
  #decision: AuditDecision | null = null
  /** Why nothing more is written: the policy does not name the request, or it was refused unrecorded. */
  #isOver = false
  /** The last event, which is written when the answer has ended; null = it is written already, or never. */
  #atEnd: ((end: AnswerEnd) => void) | null = null

  constructor(recording: Recording, deps: RecordOptions) {
    this.#recording = recording
    this.#deps = deps
    this.#receivedMs = deps.clock.nowMs()
    recording.log.retain()
  }

  /** Judges an authenticated request. @returns the refusal when it can't be recorded; null = it goes on */
  begin(context: RequestContext): Answer | null | Promise<Answer | null> {
    const decision = this.#judge(context)
    if (!isNamed(decision, context)) {
      this.#isOver = true
      return null
    }
    if (this.#recording.log.isFailed) return this.#refused()
    if (decision.omitStages.has('RequestReceived')) return null
    return this.#write(this.#facts(context), 'RequestReceived', {}).then(
      () => null,
      () => this.#refused(),
    )
  }

  /** Records a decided request. @returns the answer to send, another one when the request could not be recorded */
  async finish(decision: Decision): Promise<Answer> {
    const { context, answer, failure } = decision
    if (this.#isOver || !isAudited(context)) return answer
    if (context.caller === null) return this.#finishAnonymous(context, answer)
    const outcome = outcomeOf(decision)
    if (failure !== null || !isLongRunningEvent(context))
      return this.#recorded(decision, outcome.stage, outcome)
    this.#recordEnd(this.#facts(context), outcome)
    return this.#recorded(decision, 'ResponseStarted', outcome)
  }

  /** The answer has ended, or was never sent. */
  ended(end: AnswerEnd): void {
    this.#atEnd?.(end)
    this.#atEnd = null
    this.#recording.log.release()
  }

  #judge(context: RequestContext): AuditDecision {
    this.#decision ??= decideAudit(
      this.#recording.policy,
      auditedRequest(context),
      eventUser(context.caller),
    )
    return this.#decision
  }

  #refused(): Answer {
    this.#isOver = true
    this.#deps.observer.refused()
    return NOT_RECORDABLE
  }

  /** Writes the last event once the answer has ended. It keeps little of the request: a watch lives for long. */
  #recordEnd(facts: EventFacts, outcome: StageFacts): void {
    this.#atEnd = (end) => {
      const annotations = { ...outcome.annotations, ...endAnnotation(end) }
      void this.#write(facts, 'ResponseComplete', { ...outcome, annotations }).catch(ignore)
    }
  }

  /** The answer once its event is written, unless the stage is omitted. */
  async #recorded(
    { context, answer }: Decision,
    stage: AuditStage,
    outcome: StageFacts,
  ): Promise<Answer> {
    try {
      await this.#write(this.#facts(context), stage, outcome)
      return answer
    } catch {
      this.#atEnd = null
      if (!Buffer.isBuffer(answer.body)) answer.body.destroy()
      return context.admitted === null ? this.#refused() : NOT_RECORDED
    }
  }

  /** Without a caller: at level Metadata at most, by one event, and the answer goes out in any case (contract 21.6). */
  async #finishAnonymous(context: RequestContext, answer: Answer): Promise<Answer> {
    const { level, omitStages } = this.#judge(context)
    if (level === 'None' || omitStages.has('ResponseComplete')) return answer
    const { anonymous, clock, observer } = this.#deps
    const left = this.#recording.log.isFailed
      ? anonymous.leaveOut()
      : anonymous.take(clock.monotonicMs())
    if (left === null) {
      observer.suppressed()
      return answer
    }
    const outcome = outcomeOf({ context, answer, failure: null })
    const annotations = {
      ...outcome.annotations,
      ...(left === 0 ? {} : { 'platform.sh/suppressed': String(left) }),
    }
    this.#decision = { level: 'Metadata', omitStages }
    const facts = this.#facts(context)
    await this.#write(facts, 'ResponseComplete', { ...outcome, annotations }).catch(ignore)
    return answer
  }

  #facts(context: RequestContext): EventFacts {
    return eventFacts(context, this.#receivedMs)
  }

  async #write(facts: EventFacts, stage: AuditStage, added: StageFacts): Promise<void> {
    const { level = 'None', omitStages } = this.#decision ?? {}
    if (level === 'None' || omitStages?.has(stage) === true) return
    const writing = this.#recording.log.write(this.#line(facts, { level, stage }, added))
    this.#deps.observer.recorded(level, stage)
    await writing
  }

  #line(
    facts: EventFacts,
    { level, stage }: Pick<AuditEvent, 'level' | 'stage'>,
    { status, annotations }: StageFacts,
  ): AuditLine {
    const event = {
      ...facts,
      level,
      stage,
      ...(status === undefined ? {} : { responseStatus: status }),
      stageTimestamp: formatMicroTime(this.#deps.clock.nowMs()),
      annotations: { ...facts.annotations, ...annotations },
    }
    return auditLine(event, NO_BODIES)
  }
}

const ignore = (): void => undefined

/** Whether requests of the route are recorded: public pages and reviews of API servers are not (contract 21.2). */
const isAudited = ({ target }: RequestContext): boolean =>
  target !== 'Public' && target !== 'Webhook'

/** Whether the policy names the request: a level, and a stage that it will have. */
function isNamed({ level, omitStages }: AuditDecision, context: RequestContext): boolean {
  if (level === 'None') return false
  const stages: readonly AuditStage[] = isLongRunningEvent(context)
    ? ['RequestReceived', 'ResponseStarted', 'ResponseComplete']
    : ['RequestReceived', 'ResponseComplete']
  return stages.some((stage) => !omitStages.has(stage))
}

/** The last stage of a request, with the outcome. */
function outcomeOf({ context, answer, failure }: Decision): RequestOutcome {
  const stage = failure === null ? 'ResponseComplete' : 'Panic'
  if (isAbandoned(context, answer))
    return { stage, status: ABANDONED, annotations: endAnnotation('clientGone') }
  const status = answer.refusal === undefined ? codeOf(answer) : refusalStatus(answer)
  return { stage, status, annotations: decisionAnnotations(context, answer) }
}

const codeOf = ({ status: code }: Answer): ResponseStatus => ({ metadata: {}, code })
