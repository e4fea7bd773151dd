import { eventually } from './eventually.ts'

/** A request that came to the proxy. */
export interface SeenRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly query: URLSearchParams
  /** As text; empty for a read. */
  readonly body: string
  /** The code that the API server, or a rule in its place, answered with; null while there is none. */
  readonly status: number | null
}

/** Chooses requests. */
export type Match = (request: SeenRequest) => boolean

/** What happens to a request that a rule matches. */
export type Act =
  /** The proxy answers in the API server's place, which never hears of it. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      /** Sent as JSON. */
      readonly body?: unknown
    }
  /** The connection breaks; the API server never hears of the request. */
  | { readonly kind: 'destroy' }
  /** Forwarded that much later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Kept from the API server until the rule is released. */
  | { readonly kind: 'hold' }
  /** The API server does what was asked, and its answer is kept; released, the connection breaks. */
  | { readonly kind: 'swallow' }

/** A rule that is in force until it is released or removed. */
export interface Rule {
  /** The requests that it matched so far. */
  readonly hits: readonly SeenRequest[]
  /** The first of them, once it has come to where it is kept: for `swallow`, after the commit. */
  reached(bound: { readonly withinMs: number }): Promise<SeenRequest>
  /** Ends the rule and lets go what it keeps, also for a client that is gone: a late packet. */
  release(): void
  /** Ends the rule and drops what it keeps: the connections break, nothing is forwarded. */
  remove(): void
}

/** The proxy's side of a rule. */
export interface ActiveRule extends Rule {
  readonly match: Match
  readonly act: Act
  readonly hits: SeenRequest[]
  /** Called when a request has come to where the rule keeps it, or acts on it. */
  arrived(request: SeenRequest): void
  /** True once the rule is released, false once it is removed. */
  readonly released: Promise<boolean>
}

/** A rule; `end` takes it out of force. */
export function createRule(match: Match, act: Act, end: () => void): ActiveRule {
  const { promise: released, resolve } = Promise.withResolvers<boolean>()
  const arrivals: SeenRequest[] = []
  const endWith = (isReleased: boolean) => () => {
    end()
    resolve(isReleased)
  }
  return {
    match,
    act,
    hits: [],
    released,
    arrived: (request) => void arrivals.push(request),
    reached: (bound) =>
      eventually(`a request comes to where it meets '${act.kind}'`, () => arrivals[0], bound),
    release: endWith(true),
    remove: endWith(false),
  }
}

/** Requests that may change something. */
export const isWrite: Match = ({ method }) => method !== 'GET' && method !== 'HEAD'

/** The first `n` requests of those that match. */
export function first(n: number, match: Match): Match {
  let left = n
  return (request) => left > 0 && match(request) && left-- > 0
}

/** The nth request of those that match, counted from 1, and no other. */
export function nth(n: number, match: Match): Match {
  let count = 0
  return (request) => match(request) && ++count === n
}

/** A refusal as the API server words it, with the seconds it asks to wait for where given. */
export function refusal(
  status: 409 | 429 | 500 | 503,
  retryAfterSeconds?: number,
): Extract<Act, { kind: 'answer' }> {
  const reason = {
    409: 'Conflict',
    429: 'TooManyRequests',
    500: 'InternalError',
    503: 'ServiceUnavailable',
  }
  return {
    kind: 'answer',
    status,
    ...(retryAfterSeconds === undefined
      ? {}
      : { headers: { 'retry-after': String(retryAfterSeconds) } }),
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: reason[status],
      message: `${reason[status]}, by a test`,
      code: status,
    },
  }
}
