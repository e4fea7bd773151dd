// What the stages of one request know of it, each from those before it.
import type { Caller } from '../authn/caller.ts'
import type { ScopeContext } from '../domain/scope/authorize.ts'
import type { TargetKind } from '../domain/scope/request-info.ts'
import type { Answer, WholeAnswer } from '../serving/http/answer.ts'
import type { HttpRequest } from '../serving/http/server.ts'
import type { ParsedRequest, RequestParsing } from './request/parse.ts'
import type { HeldLease } from './streams/request-lease.ts'

/** What requests are counted by: `Public` needs no credential, `Other` leads to no API. */
export type AnsweredTarget = 'Public' | TargetKind | 'Other'

/**
 * What a request was for its key: a use that counts as activity (contract 14.1), or none; `ended`: the key
 * was good when the request came in, and is not any more.
 */
type KeyUse = 'used' | 'unused' | 'ended'

/** The place of an admitted request among those in progress, and what ends it with its key. */
interface Admitted {
  readonly lease: HeldLease
  /** Whether the answer has no time limit. */
  readonly isLong: boolean
  /** Ends both; may be called again. */
  readonly release: () => void
}

/** One request on its way through the stages. */
export interface RequestContext {
  readonly http: HttpRequest
  /** The request-target before its first question mark, as it was sent. */
  readonly path: string
  /** The request-target behind it, as it was sent; empty where there is none. */
  readonly query: string
  /** RequestInfo, or the answer that refuses the request; given to authenticated callers only. */
  parsing: RequestParsing | null
  /** null before the request is authenticated. */
  caller: Caller | null
  target: AnsweredTarget
  /** null before the caller may learn whether the request is understood. */
  request: ParsedRequest | null
  /** What the scope was decided by; null before. */
  scopeContext: ScopeContext | null
  admitted: Admitted | null
  use: KeyUse
}

/** The answer to a request to upgrade its connection. Each is refused, on the bare socket that Node leaves. */
interface Upgrade {
  readonly upgrade: 'refused'
  readonly answer: WholeAnswer
}

/** The result of a stage; null = the next stage decides. */
export type StageResult = Answer | Upgrade | null

/** A stage that needs `Deps`. */
export type Stage<Deps = unknown> = (
  context: RequestContext,
  deps: Deps,
) => StageResult | Promise<StageResult>

/** A request of which nothing but its bytes is known. */
export function newContext(http: HttpRequest): RequestContext {
  const { target } = http
  const at = target.indexOf('?')
  return {
    http,
    path: at === -1 ? target : target.slice(0, at),
    query: at === -1 ? '' : target.slice(at + 1),
    parsing: null,
    caller: null,
    target: 'Other',
    request: null,
    scopeContext: null,
    admitted: null,
    use: 'unused',
  }
}

/** A value of an earlier stage. @throws Error when that stage has not run: the stages are in a wrong order */
export function known<Name extends 'parsing' | 'caller' | 'request' | 'scopeContext' | 'admitted'>(
  context: RequestContext,
  name: Name,
): NonNullable<RequestContext[Name]> {
  const value = context[name]
  if (value === null) throw new Error(`a stage needs ${name} before it is known`)
  return value
}
