// The gateway's handler with stages that succeed; a test replaces those it is about.
import { Readable } from 'node:stream'
import { type KeyCaller, keyCaller } from '../../../src/authn/caller.ts'
import { accessLog } from '../../../src/gateway/access-log.ts'
import { answerMetrics } from '../../../src/gateway/answer-metrics.ts'
import { NO_AUDIT } from '../../../src/gateway/stages/audit.ts'
import { ERRORS } from '../../../src/gateway/errors.ts'
import {
  createHandler,
  GATEWAY_STAGES,
  type GatewayHandlerOptions,
} from '../../../src/gateway/handler.ts'
import { credentialOf } from '../../../src/gateway/request/credential.ts'
import { PUBLIC_ROUTES } from '../../../src/gateway/stages/public-routes.ts'
import { ForwardBuffer } from '../../../src/gateway/streams/forward-buffer.ts'
import { InFlightRequests } from '../../../src/gateway/streams/in-flight.ts'
import { createMaxInFlight } from '../../../src/gateway/streams/max-in-flight.ts'
import {
  type ConnectedTargets,
  createTargetRegistry,
} from '../../../src/gateway/targets/resolver.ts'
import { gatewayRouteOf } from '../../../src/gateway/targets/routes.ts'
import { type Upstream, UpstreamUnavailable } from '../../../src/kube/proxy/types.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { asAbortSignal } from '../../../src/runtime/concurrency/end-signal.ts'
import { refuse } from '../../../src/serving/http/answer.ts'
import type { PublicPage } from '../../../src/serving/http/pages.ts'
import type { RequestHandler, ServerHandler } from '../../../src/serving/http/server.ts'
import { t0, viewOf } from '../../support/key-builder.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { answersIn, served } from './listening-server.ts'

type LocalTarget = Parameters<typeof createTargetRegistry>[0]

/** A response header with the name of the key, and whether the request counted as a use of it. */
export const EXPIRES = 'x-platform-key-expires'

/** A page with its path and query as text. */
export const page =
  (route: string): PublicPage =>
  (_, query) => ({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: Buffer.from(`${route} ${query.toString()}`),
  })

/** A page for each public route. */
export const PAGES: Readonly<Record<string, PublicPage>> = Object.fromEntries(
  PUBLIC_ROUTES.map((route) => [route, page(route)]),
)

/** An upstream that answers nothing. */
export const NO_UPSTREAM: Upstream = {
  send: () => Promise.reject(new Error('nothing is forwarded here')),
  upgrade: () => Promise.reject(new Error('nothing is upgraded here')),
  close: async () => undefined,
}

/** The management cluster as the local target. */
export const managementOf = (upstream: Upstream): LocalTarget => ({
  target: { kind: 'Management' },
  upstream,
})

/** No targets but the management cluster. */
export const NO_TARGETS: Pick<ConnectedTargets, 'find' | 'isFresh'> = {
  find: () => null,
  isFresh: () => true,
}

/** Answers every request as the caller's, and forwards it. */
export const handlerFor = (
  caller: KeyCaller,
  send: Upstream['send'],
  given: Partial<GatewayHandlerOptions> = {},
): RequestHandler => serverHandlerFor(caller, send, given).respond

/** The same, for a server. */
export function serverHandlerFor(
  caller: KeyCaller,
  send: Upstream['send'],
  given: Partial<GatewayHandlerOptions> = {},
): ServerHandler {
  const clock = manualClock(t0)
  return createHandler(GATEWAY_STAGES, {
    routeOf: gatewayRouteOf,
    forwardBuffer: new ForwardBuffer(2 ** 28),
    audit: NO_AUDIT,
    signIn: null,
    pages: PAGES,
    version: page('/version'),
    isVersionGuarded: () => true,
    authenticate: async () => ({ ok: true, caller }),
    scopeContext: () => ({ projectNamespacePrefix: 'p-', roleRules: () => [] }),
    scopeDenied: () => undefined,
    limits: createMaxInFlight(() => undefined),
    inFlight: new InFlightRequests({
      clock,
      reauthenticate: (known) => ({ ok: true, caller: known }),
      observer: { opened: () => undefined, closed: () => undefined, cut: () => undefined },
    }),
    eventQueries: { answer: async () => Promise.reject(new Error('no data store here')) },
    agentEvents: { take: async () => Promise.reject(new Error('no agents here')) },
    activity: {
      started: () => 'later',
      flowed: () => undefined,
      flush: async () => undefined,
    },
    selfService: {
      answer: async () => Promise.reject(new Error('no self-service here')),
      rights: () => ({ reasonFor: async () => null, rules: [] }),
    },
    targets: createTargetRegistry(managementOf({ ...NO_UPSTREAM, send }), NO_TARGETS),
    expiryHeaders: (headers, by, isUse) => ({
      ...headers,
      [EXPIRES]: `${keyCaller(by).key.name} ${isUse ? 'used' : 'unused'}`,
    }),
    observers: [],
    log: memoryLog().log,
    ...given,
  })
}

// The gateway's handler behind a listening server, and requests to it.

/** The caller with the credential `good`. */
export const CALLER: KeyCaller = {
  key: viewOf({ metadata: { name: 'ci' } }),
  identity: { user: 'ada', groups: [] },
  scope: null,
  expiresMs: null,
}

/** The upstream fails for this path. */
export const BROKEN = '/api/v1/namespaces/shop/pods?broken=HUNTER2'
/** The key ends while the upstream answers a request to this path. */
export const ENDING = '/ending'

/** A listening server with the handler, and what it counted, forwarded and logged. */
export async function gateway(
  others: Readonly<Record<string, PublicPage>> = {},
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
      asAbortSignal(signal).throwIfAborted()
      throw new UpstreamUnavailable('unprocessed', 'ended')
    }
    const text = `${String(impersonation?.['impersonate-user'])} asks for ${path}`
    const upstream = { 'content-type': 'text/plain', 'audit-id': 'of-the-api-server' }
    return { status: 403, headers: upstream, body: Readable.from([Buffer.from(text)]) }
  }
  const handler = serverHandlerFor(CALLER, send, {
    pages: { ...PAGES, ...others },
    isVersionGuarded: () => isVersionGuarded,
    authenticate: async (http) => {
      const credential = credentialOf(http.rawHeaders)
      const isGood = credential.kind === 'bearer' && credential.token === 'good'
      return isGood
        ? { ok: true, caller: CALLER }
        : {
            ok: false,
            answer: refuse(ERRORS.keyNotFound),
            refusal: { because: 'unknown', key: null },
          }
    },
    inFlight,
    observers: [
      answerMetrics((target, verb, code) => counted.push(`${target} ${verb} ${code}`), clock),
      accessLog(log, clock),
    ],
    log,
  })
  return { ...(await served(handler)), counted, lines, forwarded }
}

/** One request on a connection that closes after it. */
export async function asked(start: string, headers = '', body = '') {
  const { say, counted, forwarded, lines } = await gateway()
  const text = await say(
    `${start} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${headers}\r\n${body}`,
  )
  return { answers: answersIn(text), counted, forwarded, lines, text }
}

/** The text of responses without date and request ID. */
export const withoutIds = (text: string): string =>
  text.replaceAll(/(?:date|audit-id|x-request-id): [^\r]+\r\n/gi, '')
