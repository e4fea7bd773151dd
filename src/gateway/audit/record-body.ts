// Reads and records bodies in turns of the event loop: a megabyte takes two turns of some 20 ms each, never more at once
// (contract 21.4).
import {
  type CopiedMessage,
  type ParsedBody,
  parsedBody,
  parsedRecord,
} from '../../domain/audit/bodies/parsed-body.ts'
import { type BodyContext, recordedBody } from '../../domain/audit/bodies/recorded-body.ts'
import type { RecordedBody } from '../../domain/audit/event.ts'
import { createTurnQueue } from '../../runtime/concurrency/event-loop.ts'
import { parsePlainYaml } from '../../runtime/yaml.ts'

/** Longer bodies wait for a turn; bytes. A shorter one takes less than a millisecond. */
const LONGEST_AT_ONCE = 64 * 1024

/** One body in each turn. */
const turn = createTurnQueue(1)

/** The value of a body, read once for its record and for the name in it; null = there is no body. */
export async function readCopy(message: CopiedMessage): Promise<ParsedBody | null> {
  const { body, contentType = '' } = message
  if ('omitted' in body) return body
  if (body.bytes.length > LONGEST_AT_ONCE || contentType.includes('yaml')) await turn()
  return parsedBody(message, parsePlainYaml)
}

/** The value of a body that an agent has recorded. @param limit the most bytes of a body that is recorded */
export async function readRecord(json: string, limit: number): Promise<ParsedBody> {
  const bytes = Buffer.from(json)
  if (bytes.length > limit) return { omitted: 'size' }
  if (bytes.length > LONGEST_AT_ONCE) await turn()
  return parsedRecord(bytes)
}

/** The body as it is recorded; null = there is none. */
export async function recordCopy(
  parsed: ParsedBody | null,
  context: BodyContext,
): Promise<RecordedBody | null> {
  if (parsed !== null && 'value' in parsed && parsed.length > LONGEST_AT_ONCE) await turn()
  return recordedBody(parsed, context)
}
