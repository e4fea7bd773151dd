// The lines of a batch that an agent sent, made in turns of the event loop (contract 23.1, 23.2).
import type { Recording } from '../../audit/recorder.ts'
import {
  type AgentEvent,
  type AgentSource,
  agentEventOf,
  type SentBody,
} from '../../domain/audit/agents/agent-event.ts'
import { eventBatchOf, MOST_BATCH_EVENTS } from '../../domain/audit/agents/event-batch.ts'
import { auditLine, type EventBodies } from '../../domain/audit/audit-line.ts'
import { cutElements } from '../../domain/audit/cut-json.ts'
import type { AuditEvent, RecordedBody } from '../../domain/audit/event.ts'
import type { AuditedRequest } from '../../domain/audit/policy.ts'
import { createTurnQueue, type EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import { readRecord, recordCopy } from './record-body.ts'

/** An event of a batch with its line. */
interface BatchLine {
  readonly event: AuditEvent
  readonly bodies: EventBodies
  readonly line: Parameters<Recording['log']['write']>[0]
}

/** The lines of a batch, or why there are none. */
export type BatchLines =
  | {
      readonly kind: 'lines'
      readonly lines: readonly BatchLine[]
      /** Stage time of the newest event, in epoch milliseconds; null = there are no events. */
      readonly newestMs: number | null
    }
  | { readonly kind: 'tooMany' }
  /** A clause that quotes nothing of the batch. */
  | { readonly kind: 'malformed'; readonly fault: string }

/** Where a batch came from, and how its events are recorded. */
interface BatchContext extends AgentSource {
  /** The most bytes of a body that is recorded. */
  readonly bodyLimit: number
  readonly eventLoop: EventLoopShare
}

/** Decoding a batch, or finding its list, takes up to 20 ms: one of these in a turn. */
const turn = createTurnQueue(1)

/** Longer events wait for a turn of their own; characters. */
const LONGEST_AT_ONCE = 256 * 1024

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Makes the lines of a batch: of all its events, or of none. */
export async function linesOfBatch(bytes: Buffer, context: BatchContext): Promise<BatchLines> {
  await turn()
  const text = decoded(bytes)
  if (text === null) return { kind: 'malformed', fault: 'the body is not UTF-8' }
  await turn()
  const batch = eventBatchOf(text)
  return batch.kind === 'malformed' ? batch : linesOfList(batch.items, context)
}

async function linesOfList(items: string, context: BatchContext): Promise<BatchLines> {
  const lines: BatchLine[] = []
  const elements = cutElements(items)
  let newestMs: number | null = null
  let element = elements.next()
  for (; element.done !== true; element = elements.next()) {
    if (lines.length === MOST_BATCH_EVENTS) return { kind: 'tooMany' }
    // To find its end has taken a while already.
    await (element.value.length > LONGEST_AT_ONCE ? turn() : context.eventLoop.waitForTurn())
    const read = agentEventOf(element.value, context)
    const made = 'fault' in read ? read : await lineOf(read, context)
    if ('fault' in made)
      return { kind: 'malformed', fault: `items[${lines.length}]: ${made.fault}` }
    lines.push(made)
    if ('stageTimeMs' in read) newestMs = Math.max(newestMs ?? read.stageTimeMs, read.stageTimeMs)
  }
  return element.value
    ? { kind: 'lines', lines, newestMs }
    : { kind: 'malformed', fault: 'items is not a JSON list' }
}

function decoded(bytes: Buffer): string | null {
  try {
    return UTF8.decode(bytes)
  } catch {
    return null
  }
}

async function lineOf(
  { event, request, requestBody, responseBody }: AgentEvent,
  { bodyLimit }: BatchContext,
): Promise<BatchLine | { readonly fault: string }> {
  const requestObject = await recordedAgain(requestBody, request, bodyLimit)
  const responseObject = await recordedAgain(responseBody, request, bodyLimit)
  const bodies = { requestObject, responseObject }
  if (isMalformed(requestObject)) return { fault: 'requestObject is not JSON' }
  if (isMalformed(responseObject)) return { fault: 'responseObject is not JSON' }
  return { event, bodies, line: auditLine(event, bodies) }
}

const isMalformed = (body: RecordedBody | null): boolean =>
  body !== null && 'omitted' in body && body.omitted === 'malformed'

/** A body by the limits and the hiding of this gateway; null = there is none. */
async function recordedAgain(
  body: SentBody | null,
  request: AuditedRequest,
  limit: number,
): Promise<RecordedBody | null> {
  if (body === null) return null
  const parsed = await readRecord(body.json, limit)
  return recordCopy(parsed, { request, code: body.code, limit })
}
