// From a request to its answer. What needs no credential is looked up by the path as it was sent,
// byte by byte; everything else needs one (contract 9.1).
import type { Log } from '../runtime/log.ts'
import { type Answer, failure } from './http/answer.ts'
import type { Call, Respond } from './http/server.ts'
import { PUBLIC_ROUTES, type PublicRoute } from './public-routes.ts'

/** Answers GET and HEAD of one public path. */
export type PublicPage = (call: Call, query: URLSearchParams) => Answer | Promise<Answer>

/** Told of every answer, for metrics. `target` is `Public` for the routes without a credential. */
export type AnsweredObserver = (target: 'Public' | 'Other', method: string, code: number) => void

/** The 401 that says nothing about why (contract 10.2). */
const UNAUTHORIZED = failure('Unauthorized', 'platform access key not found. Please login again', {
  'www-authenticate': 'Bearer',
})

const ONLY_READS = failure('MethodNotAllowed', 'only GET and HEAD are answered here', {
  allow: 'GET, HEAD',
})

const FAILED = failure('InternalError', 'internal error, see the log of the gateway')

/** What the pipeline answers from, and whom it tells. */
export interface PipelineOptions {
  readonly pages: Readonly<Record<PublicRoute, PublicPage>>
  readonly answered: AnsweredObserver
  readonly log: Log
}

/** The gateway's answer to any request. What fails is logged, and a 500 that says nothing of it. */
export function createPipeline({ pages, answered, log }: PipelineOptions): Respond {
  const routes: ReadonlyMap<string, PublicPage> = new Map(
    PUBLIC_ROUTES.map((route) => [route, pages[route]]),
  )
  return async (call) => {
    const [path = '', query = ''] = cut(call.target)
    const page = routes.get(path)
    const answer = await answerOf(page, call, query).catch((err: unknown) => {
      log.error({ err }, 'request failed')
      return FAILED
    })
    answered(page ? 'Public' : 'Other', call.method, answer.status)
    return answer
  }
}

function cut(target: string): readonly string[] {
  const at = target.indexOf('?')
  return at === -1 ? [target] : [target.slice(0, at), target.slice(at + 1)]
}

async function answerOf(page: PublicPage | undefined, call: Call, query: string): Promise<Answer> {
  if (!page) return UNAUTHORIZED
  if (call.method !== 'GET' && call.method !== 'HEAD') return ONLY_READS
  return page(call, new URLSearchParams(query))
}
