// Answers the authorization webhook of API servers, `POST /authorize` (contract 9.6).
import { type JsonMap, parseJsonMap } from '../../domain/json/json.ts'
import { strictJsonError } from '../../domain/json/strict-json.ts'
import type { Clock } from '../../runtime/clock.ts'
import {
  type BufferedAnswer,
  LONGEST_PARSED_BODY,
  readBody,
  refuse,
} from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import type { IsCaller } from './callers.ts'
import { WEBHOOK_ERRORS } from './errors.ts'
import { decideReview, type WebhookContext, type WebhookDecision } from './subject-access-review.ts'

/** The path of the webhook. */
export const WEBHOOK_PATH = '/authorize'

/** The version of reviews that is answered. */
const REVIEW_VERSION = 'authorization.k8s.io/v1'
/** API servers send it unless they are configured for v1; its fields have other names. */
const FORMER_REVIEW_VERSION = 'authorization.k8s.io/v1beta1'

/** How the webhook answered, for metrics: a decision, a caller that may not ask, or a body without a review. */
export const WEBHOOK_OUTCOMES = ['denied', 'noOpinion', 'refused', 'malformed'] as const

/** One of WEBHOOK_OUTCOMES. */
type WebhookOutcome = (typeof WEBHOOK_OUTCOMES)[number]

/** Options of createWebhook. */
interface WebhookOptions {
  /** null = the webhook is closed: it answers 404. */
  readonly isCaller: IsCaller | null
  /** The state to decide by, asked for each review. */
  readonly context: () => WebhookContext
  /** Called for every answer of an open webhook, for metrics. `seconds` is the time since the request came in. */
  readonly answered: (outcome: WebhookOutcome, seconds: number) => void
  readonly clock: Clock
}

/** An answer, and what it is for metrics. */
interface AnsweredReview {
  readonly outcome: WebhookOutcome
  readonly answer: BufferedAnswer
}

const CLOSED = refuse(WEBHOOK_ERRORS.webhookClosed)
const REFUSED: AnsweredReview = { outcome: 'refused', answer: refuse(WEBHOOK_ERRORS.webhookCaller) }

const malformed = (answer: BufferedAnswer): AnsweredReview => ({ outcome: 'malformed', answer })

const NOT_POSTED = malformed(refuse(WEBHOOK_ERRORS.webhookMethod))
const TOO_LONG = malformed(refuse(WEBHOOK_ERRORS.reviewTooLong, { limit: LONGEST_PARSED_BODY }))
const FORMER = malformed(refuse(WEBHOOK_ERRORS.reviewFormer))

/**
 * Creates the handler of requests for the path of the webhook. It ignores the query: API servers send a `timeout` there.
 * The handler rejects when the client disconnects before its body is complete.
 */
export function createWebhook(
  options: WebhookOptions,
): (http: HttpRequest) => Promise<BufferedAnswer> {
  const { isCaller, answered, clock } = options
  return async (http) => {
    if (isCaller === null) return CLOSED
    const startedMs = clock.monotonicMs()
    const isAllowed = isCaller(http)
    if (isAllowed) http.authenticated()
    const { outcome, answer } = isAllowed ? await reviewed(http, options) : REFUSED
    answered(outcome, (clock.monotonicMs() - startedMs) / 1000)
    return answer
  }
}

async function reviewed(http: HttpRequest, { context }: WebhookOptions): Promise<AnsweredReview> {
  if (http.method !== 'POST') return NOT_POSTED
  const body = await readBody(http.body)
  if (body === null) return TOO_LONG
  const review = reviewIn(body)
  if (typeof review === 'string')
    return malformed(refuse(WEBHOOK_ERRORS.reviewMalformed, { fault: review }))
  const { apiVersion, kind, spec } = review
  if (kind !== 'SubjectAccessReview')
    return malformed(refuse(WEBHOOK_ERRORS.reviewMalformed, { fault: 'it has another kind' }))
  if (apiVersion === FORMER_REVIEW_VERSION) return FORMER
  if (apiVersion !== REVIEW_VERSION)
    return malformed(refuse(WEBHOOK_ERRORS.reviewMalformed, { fault: 'it has another apiVersion' }))
  const decision = decideReview(spec, context())
  return { outcome: decision.denied ? 'denied' : 'noOpinion', answer: answerWith(decision) }
}

/** Never allows: `denied` ends the decision at the API server, without it the next authorizer decides. */
function answerWith(decision: WebhookDecision): BufferedAnswer {
  const status = { allowed: false, ...(decision.denied ? decision : {}) }
  const review = { apiVersion: REVIEW_VERSION, kind: 'SubjectAccessReview', status }
  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: Buffer.from(JSON.stringify(review)),
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** The object in a body, or why there is none, as a clause that quotes nothing of it. */
function reviewIn(body: Buffer): JsonMap | string {
  let text: string
  try {
    text = UTF8.decode(body)
  } catch {
    return 'it is not UTF-8'
  }
  return strictJsonError(text) ?? parseJsonMap(text) ?? 'it is not a JSON object'
}
