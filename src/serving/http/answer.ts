// Answers of this program. Every failure is a Kubernetes Status object, as clients expect it.
import type { OutgoingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'

/**
 * An answer. The headers of every answer are added when it is sent, and Content-Length where the body is
 * whole; a body that streams is destroyed when the client goes.
 */
export interface Answer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer | Readable
  /** The name of the refusal that this is, for the log; absent = no refusal of this program. */
  readonly refusal?: string
}

/** An answer that is known to its end. */
export interface WholeAnswer extends Answer {
  readonly body: Buffer
}

/** A refusal of this program, as a catalogue has it: what it answers, and what the documentation says of it. */
export interface Refusal {
  /** Its name in the log. */
  readonly name: string
  readonly code: number
  /** The machine-readable word (metav1.StatusReason). */
  readonly reason: string
  /** `<name>` stands for a value. */
  readonly message: string
  /** The message in the documentation, where another part of the program words it. */
  readonly shown?: string
  readonly headers?: OutgoingHttpHeaders
  /** Why it is given, in Markdown; empty where the message says it all. */
  readonly because: string
  /** What an administrator does about it, in Markdown; absent = nothing. */
  readonly remedy?: string
}

/** The names of the values in a message. */
type Places<Message extends string> = Message extends `${string}<${infer Name}>${infer Rest}`
  ? Name | Places<Rest>
  : never

/** The values of a message: no argument where it has none. */
type MessageValues<Message extends string> = [Places<Message>] extends [never]
  ? readonly []
  : readonly [values: Readonly<Record<Places<Message>, string | number>>]

/** The message of a refusal with its values. */
function messageOf<const Message extends string>(
  { message }: { readonly message: Message },
  ...[values]: MessageValues<Message>
): string {
  const given: Readonly<Record<string, string | number>> = values ?? {}
  return message.replaceAll(/<(\w+)>/g, (_, name: string) => String(given[name]))
}

/** The answer to a request that is refused. */
export function refuse<const Message extends string>(
  refusal: Refusal & { readonly message: Message },
  ...values: MessageValues<Message>
): WholeAnswer {
  const { name, code, reason, headers = {} } = refusal
  return { ...statusAnswer(code, reason, messageOf(refusal, ...values), headers), refusal: name }
}

/** An entry of a catalogue, before it has its name and its code. */
type CatalogueEntry = Omit<Refusal, 'name' | 'code' | 'reason'> & {
  readonly reason: FailureReason
  /** Where Kubernetes has another code for the reason, too; absent = the usual one. */
  readonly code?: number
}

/** A catalogue of refusals by their names. */
export const catalogue = <const Entries extends Readonly<Record<string, CatalogueEntry>>>(
  entries: Entries,
): { readonly [Name in keyof Entries]: Entries[Name] & Refusal } =>
  Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [
      name,
      { code: FAILURES[entry.reason], ...entry, name },
    ]),
  ) as { readonly [Name in keyof Entries]: Entries[Name] & Refusal }

/** The headers of every answer. */
export const ALWAYS: OutgoingHttpHeaders = { 'x-content-type-options': 'nosniff' }

/** The machine-readable word of a failure (metav1.StatusReason) with its code. */
const FAILURES = {
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

/** One of the words. */
type FailureReason = keyof typeof FAILURES

/** A metav1.Status with a code and a reason that do not go together elsewhere, or nowhere in Kubernetes. */
function statusAnswer(
  code: number,
  reason: string,
  message: string,
  headers: OutgoingHttpHeaders,
): WholeAnswer {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code,
  }
  return {
    status: code,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: Buffer.from(JSON.stringify(status)),
  }
}

/** Bytes of a body that is parsed here, at most (contract 13.3): what the API server takes. */
export const LONGEST_PARSED_BODY = 3 * 1024 * 1024

/**
 * Reads a body whole; null when it is longer than what is parsed here. The rest is then left unread.
 *
 * @throws Error when the client breaks off
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
