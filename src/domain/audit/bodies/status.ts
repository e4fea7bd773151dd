// Failures as they are recorded (contract 21.3, 21.4). An API server quotes the stored object in the message to a patch that
// fails, and what was sent in others.
import { type Json, type JsonMap, isList, isMap, ownValue, parseJsonMap } from '../../json/json.ts'
import { nestedString } from '../../json/field-path.ts'
import type { ResponseStatus } from '../event.ts'
import type { AuditLevel, AuditedRequest } from '../policy.ts'
import { type HiddenKind, hiddenKindOf, isOfHiddenKind } from './hidden-kinds.ts'
import { changedFields, hideInText } from './known-fields.ts'
import type { CopiedBody } from './parsed-body.ts'

/** The codes whose messages quote no object. */
const PLAIN_CODES: ReadonlySet<number> = new Set([401, 403, 404, 405, 410, 429])

/** A Status as the body of an answer with this code. @param ofPath the hidden kind of the path; null = none */
export function hideInStatus(status: JsonMap, code: number, ofPath: HiddenKind | null): JsonMap {
  const isHidden = !PLAIN_CODES.has(code) && (ofPath !== null || isAboutHiddenKind(status))
  const fields = Object.entries(status)
    .filter(([name]) => !isHidden || SHOWN.has(name))
    .map(([name, value]): [string, Json] => [name, hideInTexts(value)])
  return Object.fromEntries(fields)
}

/** All but message, details and what no Status has. */
const SHOWN: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'status', 'reason', 'code'])

function isAboutHiddenKind(status: JsonMap): boolean {
  const kind = nestedString(status, ['details', 'kind'])
  return isOfHiddenKind(nestedString(status, ['details', 'group']), kind)
}

function hideInTexts(value: Json): Json {
  if (typeof value === 'string') return hideInText(value)
  if (isList(value)) return value.map(hideInTexts)
  if (!isMap(value)) return value
  return changedFields(value, hideInTexts)
}

/** What decides how much of a failure is recorded. */
interface FailureContext {
  /** The HTTP status code. */
  readonly code: number
  /** Whether the program that recorded it wrote the message: then it quotes no object. */
  readonly isOurs: boolean
  readonly level: AuditLevel
  /** null = no path that can be read. */
  readonly request: AuditedRequest | null
}

/** The same with the answer. */
interface AnsweredFailure extends FailureContext {
  /** The body of the answer; only a Status counts. */
  readonly body: CopiedBody
}

/** The longest failure that is read, in bytes, and the longest text of it, in characters: an API server may quote objects. */
const LONGEST_READ = 1024 ** 2
const LONGEST_TEXT = 4096

/** The `responseStatus` of an answer. */
export const responseStatusOf = (failure: AnsweredFailure): ResponseStatus =>
  recordedStatus(failure.code < FIRST_FAILURE ? {} : statusIn(failure.body), failure)

/**
 * The `responseStatus` of an event: of a failure with status and reason, and with its message where it may stand (21.3).
 *
 * @param status empty = nothing but its code is known
 */
export function recordedStatus(
  status: JsonMap,
  { code, isOurs, level, request }: FailureContext,
): ResponseStatus {
  if (code < FIRST_FAILURE) return { metadata: {}, code }
  const isPlain = isOurs || PLAIN_CODES.has(code)
  const isHidden = hiddenKindOf(request) !== null || isAboutHiddenKind(status)
  const isKept = isPlain || (level !== 'Metadata' && !isHidden)
  return {
    metadata: {},
    ...textField('status', status),
    ...textField('reason', status),
    ...(isKept ? textField('message', status) : {}),
    code,
  }
}

const FIRST_FAILURE = 400

/** Empty = the body is no Status, or too long. */
function statusIn(body: CopiedBody): JsonMap {
  if ('omitted' in body || body.bytes.length > LONGEST_READ) return {}
  const parsed = parseJsonMap(body.bytes.toString('utf8'))
  return parsed !== null && ownValue(parsed, 'kind') === 'Status' ? parsed : {}
}

const textField = <Name extends 'status' | 'reason' | 'message'>(
  name: Name,
  status: JsonMap,
): { readonly [One in Name]?: string } => {
  const text = hideInText(nestedString(status, [name]))
  // Cut afterwards: else a part of a credential could be left.
  const cut = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}...TRUNCATED` : text
  return cut === '' ? {} : ({ [name]: cut } as { [One in Name]: string })
}
