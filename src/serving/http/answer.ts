// Responses that this program gives itself. Every failure is a Kubernetes Status object, as clients expect.
import type { OutgoingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import type { DeliveryListener } from './delivery.ts'

/**
 * A response to send. Common headers, and Content-Length of a buffered body, are added when it is sent. A streamed
 * body is destroyed when the client disconnects.
 */
export interface Answer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer | Readable
  /**
   * With status 101: takes what the client sends, while `body` goes to the client. Destroyed with the connection of the
   * client. Absent = no upgrade.
   */
  readonly tunnel?: Writable
  /** Name of the refusal in the catalogue, for the log; absent = this program did not refuse the request. */
  readonly refusal?: string
  /** Absent = no listener. */
  readonly ended?: DeliveryListener
}

/** Ends a streamed body at once. After any other error the client first gets what arrived before (contract 13.3, 13.4). */
export class BodyCut extends Error {
  override readonly name = 'BodyCut'
}

/** A response whose body is in memory, not streamed. */
export interface BufferedAnswer extends Answer {
  readonly body: Buffer
}

/** An entry of a catalogue of refusals: the Status that it answers with, and its text in the documentation. */
export interface Refusal {
  /** Its name in the log. */
  readonly name: string
  readonly code: number
  /** metav1.StatusReason. */
  readonly reason: string
  /** The message of the Status; `<name>` is a placeholder of a value. */
  readonly message: string
  /** The message in the documentation, if another part of the program supplies the real one. */
  readonly shown?: string
  readonly headers?: OutgoingHttpHeaders
  /** Why a request gets this refusal, in Markdown; empty = the message says it all. */
  readonly because: string
  /** An administrator's remedy, in Markdown; absent = nothing. */
  readonly remedy?: string
}

/** The placeholders in a message. */
type Placeholders<Message extends string> = Message extends `${string}<${infer Name}>${infer Rest}`
  ? Name | Placeholders<Rest>
  : never

/** The argument with the values of a message; no argument if it has no placeholders. */
type MessageValues<Message extends string> = [Placeholders<Message>] extends [never]
  ? readonly []
  : readonly [values: Readonly<Record<Placeholders<Message>, string | number>>]

/** The message of a refusal with its placeholders replaced. */
function messageOf<const Message extends string>(
  { message }: { readonly message: Message },
  ...[values]: MessageValues<Message>
): string {
  const byName: Readonly<Record<string, string | number>> = values ?? {}
  return message.replaceAll(/<(\w+)>/g, (_, name: string) => String(byName[name]))
}

/** The response to a refused request. */
export function refuse<const Message extends string>(
  refusal: Refusal & { readonly message: Message },
  ...values: MessageValues<Message>
): BufferedAnswer {
  const { name, code, reason, headers = {} } = refusal
  return { ...statusAnswer(code, reason, messageOf(refusal, ...values), headers), refusal: name }
}

/** An entry as written down: its name and its code are added by `refusalCatalogue`. */
type CatalogueEntry = Omit<Refusal, 'name' | 'code' | 'reason'> & {
  readonly reason: FailureReason
  /** HTTP status code; absent = the usual one of the reason. */
  readonly code?: number
}

/** A catalogue of refusals by name. */
export const refusalCatalogue = <const Entries extends Readonly<Record<string, CatalogueEntry>>>(
  entries: Entries,
): { readonly [Name in keyof Entries]: Entries[Name] & Refusal } =>
  Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [
      name,
      { code: STATUS_CODES[entry.reason], ...entry, name },
    ]),
  ) as { readonly [Name in keyof Entries]: Entries[Name] & Refusal }

/** The headers of every response. */
export const COMMON_HEADERS: OutgoingHttpHeaders = { 'x-content-type-options': 'nosniff' }

/**
 * The headers of an answer with those of every response, in an object of its own.
 *
 * @param id of the request, which replaces an upstream's
 */
export const completeHeaders = (headers: OutgoingHttpHeaders, id: string): OutgoingHttpHeaders => ({
  ...COMMON_HEADERS,
  ...headers,
  'audit-id': id,
  'x-request-id': id,
})

/** Each metav1.StatusReason with its usual HTTP status code. */
const STATUS_CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  Conflict: 409,
  AlreadyExists: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  RequestHeaderFieldsTooLarge: 431,
  InternalError: 500,
  NotImplemented: 501,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const

/** One of those reasons. */
type FailureReason = keyof typeof STATUS_CODES

/** A metav1.Status of a failure. */
export const failureStatus = (code: number, reason: string, message: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
})

/** A response with a metav1.Status of this code and reason. */
function statusAnswer(
  code: number,
  reason: string,
  message: string,
  headers: OutgoingHttpHeaders,
): BufferedAnswer {
  return {
    status: code,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: Buffer.from(JSON.stringify(failureStatus(code, reason, message))),
  }
}

/** Maximum bytes of a body that is parsed here, as in the API server (contract 13.3). */
export const LONGEST_PARSED_BODY = 3 * 1024 * 1024

/**
 * Reads a whole body; null = it is longer than LONGEST_PARSED_BODY, and the rest stays unread.
 *
 * @throws Error when the client disconnects
 */
export async function readBody(body: Readable): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > LONGEST_PARSED_BODY) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces, length)
}
