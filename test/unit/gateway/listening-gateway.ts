// The gateway's handler behind a listening server, and requests to it.
import { Readable } from 'node:stream'
import type { Caller } from '../../../src/authn/caller.ts'
import { ERRORS } from '../../../src/gateway/errors.ts'
import { credentialOf } from '../../../src/gateway/stages/authentication.ts'
import type { PublicPage, PublicRoute } from '../../../src/gateway/stages/public-routes.ts'
import { InFlightRequests } from '../../../src/gateway/streams/in-flight.ts'
import { type Upstream, UpstreamUnavailable } from '../../../src/kube/proxy/types.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { refuse } from '../../../src/serving/http/answer.ts'
import { viewOf } from '../../support/key-builder.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { PAGES, handlerFor } from './handler-builder.ts'
import { answersIn, served } from './listening-server.ts'

/** The caller with the credential `good`. */
export const CALLER: Caller = {
  key: viewOf({ metadata: { name: 'ci' } }),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs: null,
}

/** The upstream fails at a request to this path. */
export const BROKEN = '/api/v1/namespaces/shop/pods?broken=HUNTER2'
/** The key ends while the upstream answers a request to this path. */
export const ENDING = '/ending'

/** The handler behind a server, and what it counted and logged. */
export async function gateway(
  others: Partial<Readonly<Record<PublicRoute, PublicPage>>> = {},
  isVersionGuarded = true,
) {
  const counted: string[] = []
  const forwarded: string[] = []
  const { log, lines } = memoryLog()
  const clock = systemClock()
  let hasEnded = false
  const inFlight = new InFlightRequests({
    clock,
    reauthenticate: (caller) =>
      hasEnded ? { ok: false, because: 'revoked' } : { ok: true, caller },
    observer: { opened: () => undefined, closed: () => undefined, cut: () => undefined },
  })
  const send: Upstream['send'] = async ({ method, path, headers, impersonation, signal }) => {
    forwarded.push(`${method} ${path} ${String(headers['audit-id'])}`)
    if (path === BROKEN) throw new Error(`broken by ${path}`)
    if (path === ENDING) {
      hasEnded = true
      inFlight.look(null)
      signal.throwIfAborted()
      throw new UpstreamUnavailable('ended')
    }
    const text = `${String(impersonation?.['impersonate-user'])} asks for ${path}`
    const upstream = { 'content-type': 'text/plain', 'audit-id': 'of-the-api-server' }
    return { status: 403, headers: upstream, body: Readable.from([Buffer.from(text)]) }
  }
  const respond = handlerFor(CALLER, send, {
    pages: { ...PAGES, ...others },
    isVersionGuarded: () => isVersionGuarded,
    authenticate: async (http) => {
      const credential = credentialOf(http.rawHeaders)
      const isGood = credential.kind === 'bearer' && credential.token === 'good'
      return isGood
        ? { ok: true, caller: CALLER }
        : { ok: false, answer: refuse(ERRORS.keyNotFound) }
    },
    inFlight,
    answered: (target, verb, code) => void counted.push(`${target} ${verb} ${code}`),
    clock,
    log,
  })
  return { ...(await served(respond)), counted, lines, forwarded }
}

/** One request on a connection that ends behind it. */
export async function asked(start: string, headers = '', body = '') {
  const { say, counted, forwarded, lines } = await gateway()
  const text = await say(
    `${start} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${headers}\r\n${body}`,
  )
  return { answers: answersIn(text), counted, forwarded, lines, text }
}

/** The text of answers without what differs between two of them: the date and the request ID. */
export const withoutIds = (text: string): string =>
  text.replaceAll(/(?:date|audit-id|x-request-id): [^\r]+\r\n/gi, '')
