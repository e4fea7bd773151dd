// One request to the API server, with credentials, one retry after a 401, and a few after a 429.
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { bodyText } from '../../domain/json/body-text.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { NoResponseError, NotLeaderError, StatusError, statusErrorOf } from './api-error.ts'
import type { Connection } from './connection.ts'

/** Callbacks for each response and each write, for metrics and the clock skew. */
export interface ClientObserver {
  /** @param date the Date header in epoch milliseconds; null = no response, or no such header */
  responded(method: string, code: string, date: number | null): void
  wrote(kind: string, reason: string): void
}

/**
 * Dependencies of a client. `mayWrite` is called right before each write and each retry is sent, after any wait for a
 * connection. It throws if this process is not the leader any more (contract 8.6).
 */
export interface ClientDeps {
  readonly connection: Connection
  readonly clock: Clock
  readonly observer: ClientObserver
  readonly userAgent: string
  /** The field manager of server-side applies. */
  readonly fieldManager: string
  readonly mayWrite: () => void
}

/** A request. A body is sent as JSON, or as YAML that its content type asks for. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly contentType?: string
  /** Media types of the response; JSON by default. */
  readonly accept?: string
  readonly signal?: AbortSignal
  /** Is told each warning of the answer, as kubectl prints them; absent = they are passed over. */
  readonly onWarning?: (text: string) => void
}

const ATTEMPTS_WHEN_BUSY = 4
const LONGEST_BUSY_WAIT_MS = 10_000

/**
 * Sends a call and reads its response. After a 429 it waits for Retry-After and tries again a few times; then the
 * work queue retries.
 *
 * @throws StatusError for an error response, NoResponseError for none, AbortError when the signal aborts
 */
export async function send(deps: ClientDeps, call: Call): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(deps, call)
    } catch (error) {
      const waitMs = error instanceof StatusError && error.code === 429 ? error.retryAfterMs : null
      const mayRetry =
        attempt < ATTEMPTS_WHEN_BUSY && waitMs !== null && waitMs <= LONGEST_BUSY_WAIT_MS
      if (!mayRetry || call.signal?.aborted) throw error
      await sleep(deps.clock, waitMs, call.signal ?? new AbortController().signal)
    }
  }
}

async function sendOnce(deps: ClientDeps, call: Call): Promise<unknown> {
  const answer = await exchange(deps, call, 'calls')
  const body = parsed(await textOf(deps, call, answer))
  if (answer.statusCode < 300 && body !== undefined) return body
  throw statusErrorOf(`${call.method} ${call.path}`, answer.statusCode, body, retryAfterOf(answer))
}

/** Opens a watch. The stream ends or fails with the connection. @throws as `send` does */
export async function openStream(deps: ClientDeps, call: Call): Promise<Readable> {
  const answer = await exchange(deps, call, 'watches')
  if (answer.statusCode < 300) return answer.body
  const body = parsed(await textOf(deps, call, answer))
  throw statusErrorOf(`WATCH ${call.path}`, answer.statusCode, body, retryAfterOf(answer))
}

/** Sends a request. After a 401 it reads the credentials again and tries once more. */
async function exchange(
  deps: ClientDeps,
  call: Call,
  pool: 'calls' | 'watches',
): Promise<Dispatcher.ResponseData> {
  const answer = await request(deps, call, pool, false)
  if (answer.statusCode !== 401) return answer
  await answer.body.dump()
  return request(deps, call, pool, true)
}

/** Reads the body of a response. @throws NoResponseError when the connection breaks meanwhile */
async function textOf(
  { connection: { breaker } }: ClientDeps,
  call: Call,
  answer: Dispatcher.ResponseData,
): Promise<string> {
  const sent = breaker.sent()
  try {
    return await answer.body.text()
  } catch (error) {
    if (isCausedByUs(error, call)) throw error
    breaker.failed(sent, error)
    throw new NoResponseError(`${call.method} ${call.path}`, error)
  }
}

/** undici's error codes for connections that this process closed. */
const CLOSED_BY_US: ReadonlySet<unknown> = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])

/** Whether this process caused the error. Errors of network, TLS and undici have a string as code; ours have none. */
function isCausedByUs(error: unknown, { signal }: Call): boolean {
  const { code } = error as { readonly code?: unknown }
  if (error instanceof NotLeaderError || signal?.aborted) return true
  return typeof code !== 'string' || CLOSED_BY_US.has(code)
}

async function request(
  deps: ClientDeps,
  call: Call,
  pool: 'calls' | 'watches',
  refused: boolean,
): Promise<Dispatcher.ResponseData> {
  const { method, path, query, body, contentType, accept, signal } = call
  const { breaker } = deps.connection
  const open = await deps.connection.open(refused)
  const dispatcher =
    method === 'GET' ? open[pool] : open[pool].compose(withLeadershipCheck(deps.mayWrite))
  const sent = breaker.sent()
  try {
    const answer = await dispatcher.request({
      method,
      path: `${deps.connection.prefix}${path}${query ? `?${new URLSearchParams(query).toString()}` : ''}`,
      headers: {
        ...open.headers,
        accept: accept ?? 'application/json',
        'user-agent': deps.userAgent,
        ...(contentType ? { 'content-type': contentType } : {}),
      },
      ...(body === undefined ? {} : { body: bodyText(body, contentType) }),
      ...(signal ? { signal } : {}),
    })
    breaker.answered()
    if (call.onWarning) warningsOf(answer).forEach(call.onWarning)
    deps.observer.responded(method, String(answer.statusCode), dateOf(answer))
    return answer
  } catch (error) {
    if (!(error instanceof NotLeaderError)) deps.observer.responded(method, '<error>', null)
    if (isCausedByUs(error, call)) throw error
    breaker.failed(sent, error)
    throw new NoResponseError(`${method} ${path}`, error)
  }
}

/**
 * Calls `mayWrite` when the request has a connection, right before its first byte, because leadership may end while
 * it waits for one. If `mayWrite` throws, nothing is sent.
 */
const withLeadershipCheck =
  (mayWrite: () => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const start = handler.onRequestStart?.bind(handler)
    handler.onRequestStart = (controller, context) => {
      mayWrite()
      start?.(controller, context)
    }
    return dispatch(options, handler)
  }

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const headerOf = (answer: Dispatcher.ResponseData, name: string): string | undefined => {
  const value = answer.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** A warning, as an API server writes it: code 299, an agent and a quoted text. */
const WARNING = /\b299 \S+ "((?:[^"\\]|\\.)*)"/g

const warningsOf = ({ headers }: Dispatcher.ResponseData): readonly string[] =>
  [...String(headers['warning'] ?? '').matchAll(WARNING)].map(([, text = '']) =>
    text.replaceAll(/\\(.)/g, '$1'),
  )

const retryAfterOf = (answer: Dispatcher.ResponseData): string | undefined =>
  headerOf(answer, 'retry-after')

function dateOf(answer: Dispatcher.ResponseData): number | null {
  const atMs = Date.parse(headerOf(answer, 'date') ?? '')
  return Number.isNaN(atMs) ? null : atMs
}

const NEWLINE = 0x0a
const YIELD_EVERY_MS = 10

/**
 * Parses each line of a byte stream as JSON. It yields to the event loop every 10 ms: to parse 100,000 objects in one
 * turn would delay every timer by seconds. A last line without line break is dropped, as the connection broke within
 * it.
 *
 * @param onBytes called for each chunk, as a sign of life
 * @throws SyntaxError for a line that is not JSON, and any error of the stream
 */
export async function* jsonLines(
  stream: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator {
  let rest: Uint8Array[] = []
  let yieldedMs = performance.now()
  for await (const chunk of stream) {
    onBytes()
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      rest.push(chunk.subarray(from, end))
      from = end + 1
      const line = Buffer.concat(rest).toString('utf8')
      rest = []
      if (line !== '') yield parsedLine(line)
      if (performance.now() - yieldedMs > YIELD_EVERY_MS) {
        await new Promise(setImmediate)
        yieldedMs = performance.now()
      }
    }
    if (from < chunk.length) rest.push(chunk.subarray(from))
  }
}

/** Parses a line. V8's own error message would quote the text, which may hold a key (contract 3.5). */
function parsedLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new SyntaxError(`a line of ${line.length} characters is not valid JSON`)
  }
}
