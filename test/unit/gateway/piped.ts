// The pipeline behind a server, and requests to it.
import type { Caller } from '../../../src/authn/caller.ts'
import { type PublicPage, createHandler } from '../../../src/gateway/handler.ts'
import { PUBLIC_ROUTES, type PublicRoute } from '../../../src/gateway/public-routes.ts'
import { NOT_FOUND } from '../../../src/gateway/stages/authentication.ts'
import { credentialOf } from '../../../src/gateway/stages/credential.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { failure } from '../../../src/serving/http/answer.ts'
import { viewOf } from '../../support/access-key.ts'
import { rememberingLog } from '../../support/log.ts'
import { answersIn, served } from './served.ts'

/** A page that says its path and query. */
export const page =
  (route: string): PublicPage =>
  (_, query) => ({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: Buffer.from(`${route} ${query.toString()}`),
  })

const pages = Object.fromEntries(PUBLIC_ROUTES.map((route) => [route, page(route)])) as Readonly<
  Record<PublicRoute, PublicPage>
>

/** Whom the credential `good` is of. */
export const CALLER: Caller = {
  key: viewOf({ metadata: { name: 'ci' } }),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs: null,
}

/** What every request to the API is taken for. */
const PODS = {
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'shop',
  name: '',
}

/** A request to the API that begins so fails. */
export const BROKEN = '/broken'
/** One whose key ends while it is under way. */
export const ENDING = '/ending'

/** Says when a key ends, and whether the request was a use of it. */
export const EXPIRES = 'x-platform-key-expires'

/** The pipeline behind a server, and what it counted. */
export async function gateway(
  others: Partial<Readonly<Record<PublicRoute, PublicPage>>> = {},
  isVersionGuarded = true,
) {
  const counted: string[] = []
  const { log, lines } = rememberingLog()
  const respond = createHandler({
    pages: { ...pages, ...others },
    version: page('/version'),
    isVersionGuarded: () => isVersionGuarded,
    authenticate: async (call) => {
      const credential = credentialOf(call.rawHeaders)
      const isGood = credential.kind === 'bearer' && credential.token === 'good'
      return isGood ? { ok: true, caller: CALLER } : { ok: false, answer: NOT_FOUND }
    },
    serve: async (_, { key }, { target, rest }, asks) => {
      asks({ ...PODS, target })
      if (rest.startsWith(BROKEN)) throw new Error(`broken by ${rest}`)
      const answer = failure('Forbidden', `${key.name} asks ${target.kind} for ${rest}`)
      return { answer, use: rest.startsWith(ENDING) ? 'ended' : 'used' }
    },
    withExpiry: (headers, { key }, isUse) => ({
      ...headers,
      [EXPIRES]: `${key.name} ${isUse ? 'used' : 'unused'}`,
    }),
    answered: (target, verb, code) => void counted.push(`${target} ${verb} ${code}`),
    clock: systemClock(),
    log,
  })
  return { ...(await served(respond)), counted, lines }
}

/** One request on a connection that ends behind it. */
export async function asked(start: string, headers = '', body = '') {
  const { say, counted } = await gateway()
  const text = await say(
    `${start} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${headers}\r\n${body}`,
  )
  return { answers: answersIn(text), counted, text }
}
