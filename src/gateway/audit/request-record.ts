// The record of one request: judged once by the policy in force when it arrived, and written before its answer is sent
// (contract 21.2, 22.2).
import type { OutgoingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Recording } from '../../audit/recorder.ts'
import {
  type EventBodies,
  NO_BODIES,
  auditLine,
  omissionsIn,
} from '../../domain/audit/audit-line.ts'
import type { CopiedBody } from '../../domain/audit/bodies/parsed-body.ts'
import type { Omission, ResponseStatus } from '../../domain/audit/event.ts'
import {
  AUDIT_STAGES,
  type AuditDecision,
  type AuditStage,
  NOTHING_RECORDED,
  decideAudit,
} from '../../domain/audit/policy.ts'
import { changesSession } from '../../domain/signin/outcome.ts'
import { formatMicroTime } from '../../domain/time.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Answer, refuse } from '../../serving/http/answer.ts'
import type { RequestContext } from '../request-context.ts'
import { VERSION_ROUTE } from '../targets/routes.ts'
import type { AnswerEnd, Decision } from '../request-observer.ts'
import type { AnonymousLimit } from './anonymous-limit.ts'
import { HeldEndBody } from './copied-bodies.ts'
import { AUDIT_ERRORS } from './errors.ts'
import {
  type EventFacts,
  auditedRequest,
  auditedUser,
  eventFacts,
  isLongRunningEvent,
} from './event-facts.ts'
import { type Annotations, type RequestOutcome, endAnnotation, outcomeOf } from './outcome.ts'
import { type CopyLimits, RequestBodies, lengthIn } from './request-bodies.ts'

/** Counts events. */
interface RecordObserver {
  /** An event was handed to the log. */
  readonly recorded: (level: string, stage: AuditStage) => void
  /** A body was left out of an event. */
  readonly omitted: (why: Omission) => void
  /** A request was refused, because it can't be recorded. */
  readonly refused: () => void
  /** The event of a request without a caller was left out. */
  readonly suppressed: () => void
}

/** What all records of a process share. */
interface RecordOptions {
  readonly clock: Clock
  readonly anonymous: AnonymousLimit
  /** The same for the routes of signing in: refused credentials must leave out no attempt to sign in. */
  readonly signIn: AnonymousLimit
  readonly copies: CopyLimits
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
  readonly bodies?: EventBodies
}

/** The record of one request. */
export class RequestRecord {
  readonly #recording: Recording
  readonly #options: RecordOptions
  readonly #receivedMs: number
  readonly #bodies: RequestBodies
  #decision: AuditDecision | null = null
  /** Nothing more is written: the policy does not name the request, or it was refused unrecorded. */
  #isOver = false
  /** Whether the log waits for its line with those of others. */
  #isAnnounced = false
  /** Writes the last event of an answer that may last; null = it is written already, or never. */
  #atEnd: ((end: AnswerEnd) => void) | null = null
  /** The event of an answer that streams. */
  #held: Promise<void> = Promise.resolve()

  constructor(recording: Recording, options: RecordOptions) {
    this.#recording = recording
    this.#options = options
    this.#receivedMs = options.clock.nowMs()
    this.#bodies = new RequestBodies(options.copies)
    recording.log.retain()
  }

  /** Whether the body of the answer is recorded; known after `begin`. */
  get recordsAnswer(): boolean {
    return !this.#isOver && this.#level === 'RequestResponse'
  }

  /** Judges an authenticated request, or one to sign in. @returns the refusal when it can't be recorded; null = it goes on */
  begin(context: RequestContext): Answer | null | Promise<Answer | null> {
    const decision = this.#judge(context)
    if (!isNamed(decision, context)) {
      this.#isOver = true
      return null
    }
    if (this.#recording.log.isFailed) return this.#refused()
    // Passwords and codes: the bodies are never copied, and one event at the end is enough.
    if (context.target === 'SignIn') return null
    if (!isLongRunningEvent(context)) {
      this.#announce()
      this.#bodies.copyRequest(context.http, auditedRequest(context), decision.level)
    }
    if (decision.omitStages.has('RequestReceived')) return null
    return this.#write(this.#facts(context), 'RequestReceived', {}).then(
      () => null,
      () => this.#refused(),
    )
  }

  /** Records a decided request. @returns the answer to send, another one when the request could not be recorded */
  async finish(decision: Decision): Promise<Answer> {
    const { context, answer, failure } = decision
    this.#settle()
    if (this.#isOver || !isAudited(context)) return answer
    if (context.caller === null) {
      const { signIn } = context
      return signIn !== null && changesSession(signIn)
        ? this.#finishSignIn(decision)
        : this.#finishAnonymous(decision)
    }
    const outcome = outcomeOf(decision, this.#level)
    if (failure !== null || !isLongRunningEvent(context))
      return this.#finishWithBodies(decision, outcome)
    const facts = this.#facts(context)
    this.#recordEnd(facts, outcome)
    return this.#written(decision, this.#write(facts, 'ResponseStarted', outcome))
  }

  /** The answer has ended, or was never sent. */
  ended(end: AnswerEnd): void {
    this.#atEnd?.(end)
    this.#atEnd = null
    this.#bodies.release()
    void this.#held.finally(() => this.#recording.log.release())
  }

  #announce(): void {
    this.#isAnnounced = true
    this.#recording.log.announce()
  }

  #settle(): void {
    if (this.#isAnnounced) this.#recording.log.settle()
    this.#isAnnounced = false
  }

  get #level(): AuditDecision['level'] {
    return this.#decision?.level ?? 'None'
  }

  #judge(context: RequestContext): AuditDecision {
    this.#decision ??= decideAudit(
      this.#recording.policy,
      auditedRequest(context),
      auditedUser(context.caller),
    )
    return this.#decision
  }

  #refused(): Answer {
    this.#isOver = true
    this.#options.observer.refused()
    return NOT_RECORDABLE
  }

  /** Writes the last event once the answer has ended. It keeps little of the request: a watch lives for long. */
  #recordEnd(facts: EventFacts, outcome: RequestOutcome): void {
    this.#atEnd = (end) => {
      const { status, annotations } = outcome
      const ended = { status, annotations: { ...annotations, ...endAnnotation(end) } }
      void this.#write(facts, 'ResponseComplete', ended).catch(ignore)
    }
  }

  /** Records a request with its bodies, as far as its level asks for them. */
  async #finishWithBodies(decision: Decision, outcome: RequestOutcome): Promise<Answer> {
    const { context, answer } = decision
    const request = auditedRequest(context)
    const { object: requestObject, name } = await this.#bodies.readRequest(request, this.#level)
    const made = name ?? (await this.#bodies.answeredName(request, answer))
    const facts = withName(this.#facts(context), made)
    if (!this.recordsAnswer || this.#decision?.omitStages.has(outcome.stage) === true) {
      const bodies = { requestObject, responseObject: null }
      return this.#written(decision, this.#write(facts, outcome.stage, { ...outcome, bodies }))
    }
    const record = async (body: CopiedBody): Promise<void> => {
      const responseObject = await this.#bodies.readAnswer(body, request, answer)
      const bodies = { requestObject, responseObject }
      await this.#write(facts, outcome.stage, { ...outcome, bodies })
    }
    return Buffer.isBuffer(answer.body)
      ? this.#written(decision, record(this.#bodies.copyOf(answer.body)))
      : { ...answer, body: this.#heldBody(answer.body, answer.headers, record) }
  }

  /** The body of an answer that streams, whose end waits for its event. */
  #heldBody(
    body: Readable,
    headers: OutgoingHttpHeaders,
    record: (body: CopiedBody) => Promise<void>,
  ): Readable {
    const contentLength = lengthIn(headers)
    const copy = this.#bodies.newCopy(contentLength)
    copy.begin()
    return new HeldEndBody(body, {
      copy,
      contentLength,
      beforeEnd: () => {
        const recorded = record(copy.body).finally(() => copy.release())
        this.#held = recorded.catch(ignore)
        return recorded
      },
    })
  }

  /** The answer once its event is written. */
  async #written({ context, answer }: Decision, writing: Promise<void>): Promise<Answer> {
    try {
      await writing
      return answer
    } catch {
      this.#atEnd = null
      if (!Buffer.isBuffer(answer.body)) answer.body.destroy()
      return context.admitted === null && context.signIn === null ? this.#refused() : NOT_RECORDED
    }
  }

  /** A sign-in or sign-out that was carried out: at level Metadata at most, and the answer waits for its event. */
  #finishSignIn(decision: Decision): Promise<Answer> | Answer {
    const { level, omitStages } = this.#judge(decision.context)
    if (level === 'None') return decision.answer
    this.#decision = { level: 'Metadata', omitStages }
    const { status, annotations } = outcomeOf(decision, 'Metadata')
    const facts = this.#facts(decision.context)
    return this.#written(decision, this.#write(facts, 'ResponseComplete', { status, annotations }))
  }

  /** Without a caller: at level Metadata at most, by one event, and the answer goes out in any case (contract 21.6). */
  async #finishAnonymous(decision: Decision): Promise<Answer> {
    const { context, answer } = decision
    const { level, omitStages } = this.#judge(context)
    if (level === 'None' || omitStages.has('ResponseComplete')) return answer
    const { clock, observer } = this.#options
    const limit = this.#options[context.target === 'SignIn' ? 'signIn' : 'anonymous']
    const left = this.#recording.log.isFailed ? limit.leaveOut() : limit.take(clock.monotonicMs())
    if (left === null) {
      observer.suppressed()
      return answer
    }
    this.#decision = { level: 'Metadata', omitStages }
    const { status, annotations: decided } = outcomeOf(decision, 'Metadata')
    const suppressed = left === 0 ? {} : { 'platform.sh/suppressed': String(left) }
    const added = { status, annotations: { ...decided, ...suppressed } }
    await this.#write(this.#facts(context), 'ResponseComplete', added).catch(ignore)
    return answer
  }

  #facts(context: RequestContext): EventFacts {
    return eventFacts(context, this.#receivedMs)
  }

  async #write(facts: EventFacts, stage: AuditStage, added: StageFacts): Promise<void> {
    const { level, omitStages } = this.#decision ?? NOTHING_RECORDED
    if (level === 'None' || omitStages.has(stage)) return
    const { status, annotations, bodies = NO_BODIES } = added
    const { clock, observer } = this.#options
    const event = {
      ...facts,
      level,
      stage,
      ...(status === undefined ? {} : { responseStatus: status }),
      stageTimestamp: formatMicroTime(clock.nowMs()),
      annotations: { ...facts.annotations, ...annotations },
    }
    for (const why of omissionsIn(bodies)) observer.omitted(why)
    observer.recorded(level, stage)
    await this.#recording.log.write(auditLine(event, bodies))
  }
}

const ignore = (): void => undefined

/** Whether requests of the route are recorded: public pages and reviews of API servers are not (contract 21.2). */
const isAudited = ({ target, path }: RequestContext): boolean =>
  target !== 'Public' && target !== 'Webhook' && path !== VERSION_ROUTE

/** Whether the policy names the request: a level, and a stage that it may have. */
function isNamed({ level, omitStages }: AuditDecision, context: RequestContext): boolean {
  if (level === 'None') return false
  const isLong = isLongRunningEvent(context)
  return AUDIT_STAGES.some(
    (stage) => !omitStages.has(stage) && (isLong || stage !== 'ResponseStarted'),
  )
}

/** The facts of a create, with the name of what it creates. */
const withName = (facts: EventFacts, name: string | undefined): EventFacts =>
  name === undefined || facts.objectRef === undefined
    ? facts
    : { ...facts, objectRef: { ...facts.objectRef, name } }
