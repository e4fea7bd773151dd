// From a request to its answer: one ordered list, entered by whatever Node hands over. What needs no
// credential is looked up by the path as it was sent, byte by byte; everything else needs one
// (contract 9.1).
import type { Caller } from '../credentials/caller.ts'
import type { TargetKind } from '../domain/scope/request.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type Answer, failure, type WholeAnswer } from './http/answer.ts'
import { refusedHeader } from './http/request-headers.ts'
import type { Call, Respond } from './http/server.ts'
import { PUBLIC_ROUTES, type PublicRoute } from './public-routes.ts'
import { type Route, routeOf } from './targets/route.ts'
import { VERSION_ROUTE } from './targets/version.ts'

/** Answers GET and HEAD of one public path. */
export type PublicPage = (call: Call, query: URLSearchParams) => Answer | Promise<Answer>

/** Whether there is somebody to answer to; else the answer that says no. */
export type Authentication =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly answer: WholeAnswer }

/** Answers what an authenticated caller asks of an API. */
export type ServeApi = (
  call: Call,
  caller: Caller,
  route: NonNullable<Route>,
) => Promise<{ readonly answer: Answer; readonly verb: string }>

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

interface Served {
  readonly answer: Answer
  readonly target: AnsweredTarget
  readonly verb: string
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
    const served = page
      ? publicly(page, call, query)
      : privately(options, call, path === VERSION_ROUTE)
    const { answer, target, verb } = await served.catch((err: unknown): Served => {
      // Whoever went away is no fault of ours, and is told nothing.
      if (!call.gone.aborted) log.error({ err }, 'request failed')
      return { answer: FAILED, target: page ? 'Public' : 'Other', verb: call.method }
    })
    answered(target, verb, answer.status, (clock.monotonicMs() - startedMs) / 1000)
    return answer
  }
}

function cut(target: string): readonly string[] {
  const at = target.indexOf('?')
  return at === -1 ? [target] : [target.slice(0, at), target.slice(at + 1)]
}

async function publicly(page: PublicPage, call: Call, query: string): Promise<Served> {
  const isRead = call.method === 'GET' || call.method === 'HEAD'
  const answer = isRead ? await page(call, new URLSearchParams(query)) : ONLY_READS
  return { answer, target: 'Public', verb: call.method }
}

/** For who has a credential. In this order, so that nobody else learns what there is. */
async function privately(
  { authenticate, version, serve }: PipelineOptions,
  call: Call,
  isVersion: boolean,
): Promise<Served> {
  const other = (answer: Answer): Served => ({ answer, target: 'Other', verb: call.method })
  const authentication = await authenticate(call)
  if (!authentication.ok) return other(authentication.answer)
  if (call.by !== 'request') return other(NO_UPGRADES)
  const refused = refusedHeader(call.rawHeaders)
  if (refused !== null) return other(failure('BadRequest', refused))
  if (isVersion) return publicly(version, call, '')
  const route = routeOf(call.target)
  if (route === null) return other(NO_SUCH_API)
  return { ...(await serve(call, authentication.caller, route)), target: route.target.kind }
}
