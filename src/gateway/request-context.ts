// The state of one request: each stage reads what the stages before it have set.
import type { Caller } from '../authn/caller.ts'
import type { AccessKey } from '../domain/accesskey/access-key.ts'
import type { ScopeContext } from '../domain/scope/authorize.ts'
import type { TargetKind } from '../domain/scope/request-info.ts'
import type { SignInOutcome } from '../domain/signin/outcome.ts'
import type { UpgradeProtocol } from '../kube/proxy/types.ts'
import type { Answer } from '../serving/http/answer.ts'
import type { HttpRequest } from '../serving/http/request.ts'
import type { ParsedRequest, RequestParsing } from './request/parse.ts'
import type { AdmittedRequest } from './streams/admitted-request.ts'
import type { ResolvedTarget } from './targets/resolver.ts'

/**
 * The target label of request metrics: `Public` = a page without a credential, `SignIn` = a route of the sign-in process,
 * `Webhook` = the authorization webhook, `Other` = no API at the path.
 */
export type AnsweredTarget = 'Public' | 'SignIn' | 'Webhook' | TargetKind | 'Other'

/**
 * Whether the request counts as activity of its key (contract 14.1). `ended`: the key was valid when the request came
 * in, but ended before the answer.
 */
type KeyUse = 'used' | 'unused' | 'ended'

/** The record of a request in the audit log, before the request has any effect. */
interface PendingRecord {
  /** Judges the request. @returns the refusal when it can't be recorded; null = the next stage decides */
  readonly begin: (context: RequestContext) => StageResult | Promise<StageResult>
  /** Whether the body of the answer is recorded. */
  readonly recordsAnswer: boolean
}

/** Why a credential was refused. */
export interface CredentialRefusal {
  /** The reason, of which the caller is told less. */
  readonly because: string
  /** The key that was presented; null = none that is known. */
  readonly key: AccessKey | null
}

/** One request on its way through the stages. */
export interface RequestContext {
  readonly http: HttpRequest
  /** The request-target before its first question mark, as it was sent. */
  readonly path: string
  /** The request-target after its first question mark, as it was sent; empty where there is none. */
  readonly query: string
  /** The parsed request or its refusal, which only authenticated callers get; null = not parsed yet. */
  parsing: RequestParsing | null
  /** The record in the audit log; null = nothing of the request is recorded. */
  record: PendingRecord | null
  /** null before the request is authenticated. */
  caller: Caller | null
  /** Why the request has no caller; null = it has one, or is not authenticated yet. */
  credentialRefusal: CredentialRefusal | null
  /** What the sign-in process has reported of the request; null = nothing. */
  signIn: SignInOutcome | null
  target: AnsweredTarget
  /** null before authentication, and until the request has proved well-formed. */
  request: ParsedRequest | null
  /** The protocol of an upgrade; null = none, or not read yet. */
  upgrade: UpgradeProtocol | null
  /** The target of the request; null = not found yet. */
  resolved: ResolvedTarget | null
  /** The settings that the authorizer used; null before authorization. */
  scopeContext: ScopeContext | null
  /** null before the request is admitted. */
  admitted: AdmittedRequest | null
  use: KeyUse
  /** To be called for each chunk of a long answer, which is a use of the key as well; null = it counts as none. */
  flowed: (() => void) | null
}

/** The result of a stage; null = the next stage decides. */
export type StageResult = Answer | null

/** A stage, with the dependencies that it needs. */
export type Stage<Deps = unknown> = (
  context: RequestContext,
  deps: Deps,
) => StageResult | Promise<StageResult>

/** The context of a new request, before its first stage. */
export function newContext(http: HttpRequest): RequestContext {
  const { target } = http
  const queryStart = target.indexOf('?')
  return {
    http,
    path: queryStart === -1 ? target : target.slice(0, queryStart),
    query: queryStart === -1 ? '' : target.slice(queryStart + 1),
    parsing: null,
    record: null,
    caller: null,
    credentialRefusal: null,
    signIn: null,
    target: 'Other',
    request: null,
    upgrade: null,
    resolved: null,
    scopeContext: null,
    admitted: null,
    use: 'unused',
    flowed: null,
  }
}

/** Returns a value that an earlier stage has set. @throws Error when it is not set: the stages are in a wrong order */
export function known<
  Name extends 'parsing' | 'caller' | 'request' | 'scopeContext' | 'resolved' | 'admitted',
>(context: RequestContext, name: Name): NonNullable<RequestContext[Name]> {
  const value = context[name]
  if (value === null) throw new Error(`a stage needs ${name} before it is known`)
  return value
}
