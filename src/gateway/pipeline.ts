// From a request to its answer: one ordered list, entered by whatever Node hands over. What needs no
// credential is looked up by the path as it was sent, byte by byte; everything else needs one
// (contract 9.1).
import type { Caller } from '../credentials/caller.ts'
import type { ScopedRequest, TargetKind } from '../domain/scope/request.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type Answer, failure, type WholeAnswer } from './http/answer.ts'
import { refusedHeader } from './http/request-headers.ts'
import type { Call, Respond } from './http/server.ts'
import { PUBLIC_ROUTES, type PublicRoute } from './public-routes.ts'
import { toldOf } from './request/told.ts'
import { type Route, routeOf } from './targets/route.ts'
import { VERSION_ROUTE } from './targets/version.ts'

/** Answers GET and HEAD of one public path. */
export type PublicPage = (call: Call, query: URLSearchParams) => Answer | Promise<Answer>

/** Whether there is somebody to answer to; else the answer that says no. */
export type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** Answers what an authenticated caller asks of an API; `asks` is told what that is, once it is read. */
export type ServeApi = (
  call: Call,
  caller: Caller,
  route: NonNullable<Route>,
  asks: (request: ScopedRequest) => void,
) => Promise<Answer>

/** What requests are counted by: `Public` needs no credential, `Other` leads to no API. */
export type AnsweredTarget = 'Public' | TargetKind | 'Other'

/** Told of every answer, for metrics; `seconds` until its head was known. */
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

/** What the pipeline answers from, and whom it tells. */
export interface PipelineOptions {
  readonly pages: Readonly<Record<PublicRoute, PublicPage>>
  readonly version: PublicPage
  /** Whether `/version` needs a credential (authenticateVersionEndpoint). */
  readonly isVersionGuarded: () => boolean
  readonly authenticate: (call: Call) => Promise<Authentication>
  readonly serve: ServeApi
  readonly answered: AnsweredObserver
  readonly clock: Clock
  readonly log: Log
}

/** What a request has turned out to be by now: for metrics, and for the log where it fails. */
interface Known {
  target: AnsweredTarget
  /** null until there is one that may call. */
  caller: Caller | null
  /** null until it is read. */
  asked: ScopedRequest | null
}

/** The gateway's answer to any request. What fails is logged, and a 500 that says nothing of it. */
export function createPipeline(options: PipelineOptions): Respond {
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
      // Whoever went away is no fault of ours, and is told nothing.
      if (!call.gone.aborted)
        log.error({ ...toldOf(call.method, known), ...(page && { path }), err }, 'request failed')
      return FAILED
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

async function publicly(page: PublicPage, call: Call, query: string): Promise<Answer> {
  const isRead = call.method === 'GET' || call.method === 'HEAD'
  return isRead ? page(call, new URLSearchParams(query)) : ONLY_READS
}

/** For who has a credential. In this order, so that nobody else learns what there is. */
async function privately(
  { authenticate, version, serve }: PipelineOptions,
  call: Call,
  isVersion: boolean,
  known: Known,
): Promise<Answer> {
  const authentication = await authenticate(call)
  if (!authentication.ok) return authentication.answer
  known.caller = authentication.caller
  if (call.by !== 'request') return NO_UPGRADES
  const refused = refusedHeader(call.rawHeaders)
  if (refused !== null) return failure('BadRequest', refused)
  if (isVersion) {
    known.target = 'Public'
    return publicly(version, call, '')
  }
  const route = routeOf(call.target)
  if (route === null) return NO_SUCH_API
  known.target = route.target.kind
  return serve(call, authentication.caller, route, (asked) => {
    known.asked = asked
  })
}
