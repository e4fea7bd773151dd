// From a request to its answer: one ordered list, entered by whatever Node hands over. What needs no
// credential is looked up by the path as it was sent, byte by byte; everything else needs one
// (contract 9.1).
import type { Caller } from '../authn/caller.ts'
import type { RequestInfo, TargetKind } from '../domain/scope/request-info.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type Answer, type WholeAnswer, failure } from '../serving/http/answer.ts'
import type { HttpRequest, RequestHandler } from '../serving/http/server.ts'
import { requestLogFields } from './access-log.ts'
import { refusedHeader } from './proxy/headers.ts'
import { PUBLIC_ROUTES, type PublicRoute, VERSION_ROUTE } from './public-routes.ts'
import { type Route, routeOf } from './targets/route.ts'

/** Answers GET and HEAD of one public path. */
export type PublicPage = (call: HttpRequest, query: URLSearchParams) => Answer | Promise<Answer>

/** Whose request it is; else the answer that refuses it. */
export type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly answer: WholeAnswer }

/**
 * What a request was for its key: a use that counts as activity (contract 14.1), or none; `ended`: the key
 * was good when the request came in, and is not any more.
 */
export type KeyUse = 'used' | 'unused' | 'ended'

/** An answer to an authenticated caller. */
export interface CallerAnswer {
  readonly answer: Answer
  readonly use: KeyUse
}

/** Answers an authenticated caller's request to an API; calls `asks` once the request is read. */
export type ServeApi = (
  call: HttpRequest,
  caller: Caller,
  route: NonNullable<Route>,
  asks: (request: RequestInfo) => void,
) => Promise<CallerAnswer>

/** What requests are counted by: `Public` needs no credential, `Other` leads to no API. */
export type AnsweredTarget = 'Public' | TargetKind | 'Other'

/** Called for every answer, for metrics; `seconds` until its head was known. */
export type AnsweredObserver = (
  target: AnsweredTarget,
  verb: string,
  code: number,
  seconds: number,
) => void

const ONLY_READS = failure('MethodNotAllowed', 'only GET and HEAD are answered here', {
  allow: 'GET, HEAD',
})

const NO_UPGRADES = failure(
  'NotImplemented',
  'this gateway serves no upgrades and no tunnels: exec, attach, port-forward and WebSockets do not work through it',
)

const NO_SUCH_API = failure(
  'NotFound',
  'there is nothing here: the API of the management cluster is below /kubernetes/management',
)

const FAILED = failure('InternalError', 'internal error, see the log of the gateway')

/** What the pipeline answers from, and its observers. */
export interface HandlerOptions {
  readonly pages: Readonly<Record<PublicRoute, PublicPage>>
  readonly version: PublicPage
  /** Whether `/version` needs a credential (authenticateVersionEndpoint). */
  readonly isVersionGuarded: () => boolean
  readonly authenticate: (call: HttpRequest) => Promise<Authentication>
  readonly serve: ServeApi
  /** The headers of an answer with those that say when the key ends (contract 13.5). */
  readonly withExpiry: (
    headers: Answer['headers'],
    caller: Caller,
    isUse: boolean,
  ) => Answer['headers']
  readonly answered: AnsweredObserver
  readonly clock: Clock
  readonly log: Log
}

/** What is known of a request so far: for metrics, and for the log when it fails. */
interface Known {
  target: AnsweredTarget
  /** null until the request is authenticated. */
  caller: Caller | null
  /** null until it is read. */
  asked: RequestInfo | null
}

/** The gateway's answer to any request. A failure is logged; its 500 says nothing about it. */
export function createHandler(options: HandlerOptions): RequestHandler {
  const { pages, answered, clock, log } = options
  const open: ReadonlyMap<string, PublicPage> = new Map(
    PUBLIC_ROUTES.map((route) => [route, pages[route]]),
  )
  return async (call) => {
    const startedMs = clock.monotonicMs()
    const [path = '', query = ''] = cut(call.target)
    const isOpenVersion = path === VERSION_ROUTE && !options.isVersionGuarded()
    const page = isOpenVersion ? options.version : open.get(path)
    const known: Known = { target: page ? 'Public' : 'Other', caller: null, asked: null }
    const answering = page
      ? publicly(page, call, query)
      : privately(options, call, path === VERSION_ROUTE, known)
    const answer = await answering.catch((err: unknown) => {
      // A client that went away is no fault of ours, and gets no answer.
      if (!call.gone.aborted)
        log.error(
          { ...requestLogFields(call.method, known), ...(page && { path }), err },
          'request failed',
        )
      return known.caller === null ? FAILED : sayingEnd(options, FAILED, known.caller, 'unused')
    })
    const seconds = (clock.monotonicMs() - startedMs) / 1000
    answered(known.target, known.asked?.verb ?? call.method, answer.status, seconds)
    return answer
  }
}

function cut(target: string): readonly string[] {
  const at = target.indexOf('?')
  return at === -1 ? [target] : [target.slice(0, at), target.slice(at + 1)]
}

async function publicly(page: PublicPage, call: HttpRequest, query: string): Promise<Answer> {
  const isRead = call.method === 'GET' || call.method === 'HEAD'
  return isRead ? page(call, new URLSearchParams(query)) : ONLY_READS
}

/** Authenticates first: an unauthenticated caller learns nothing about what is served here. */
async function privately(
  options: HandlerOptions,
  call: HttpRequest,
  isVersion: boolean,
  known: Known,
): Promise<Answer> {
  const authentication = await options.authenticate(call)
  if (!authentication.ok) return authentication.answer
  const { caller } = authentication
  known.caller = caller
  const { answer, use } = await toCaller(options, call, caller, isVersion, known)
  return sayingEnd(options, answer, caller, use)
}

/** The answer to an authenticated caller, in this order; it does not say yet when the key ends. */
async function toCaller(
  { version, serve }: HandlerOptions,
  call: HttpRequest,
  caller: Caller,
  isVersion: boolean,
  known: Known,
): Promise<CallerAnswer> {
  if (call.by !== 'request') return unused(NO_UPGRADES)
  const refused = refusedHeader(call.rawHeaders)
  if (refused !== null) return unused(failure('BadRequest', refused))
  if (isVersion) {
    known.target = 'Public'
    return unused(await publicly(version, call, ''))
  }
  const route = routeOf(call.target)
  if (route === null) return unused(NO_SUCH_API)
  known.target = route.target.kind
  return serve(call, caller, route, (asked) => {
    known.asked = asked
  })
}

const unused = (answer: Answer): CallerAnswer => ({ answer, use: 'unused' })

/** The answer, saying when the key ends; of a key that has ended it says nothing (contract 10.2, 13.5). */
function sayingEnd(
  { withExpiry }: HandlerOptions,
  answer: Answer,
  caller: Caller,
  use: KeyUse,
): Answer {
  if (use === 'ended') return answer
  return { ...answer, headers: withExpiry(answer.headers, caller, use === 'used') }
}
