// The gateway's handler behind which all is well, for tests that differ in one part of it.
import type { Caller } from '../../../src/authn/caller.ts'
import { type HandlerOptions, createHandler } from '../../../src/gateway/handler.ts'
import { createMaxInFlight } from '../../../src/gateway/stages/max-in-flight.ts'
import {
  PUBLIC_ROUTES,
  type PublicPage,
  type PublicRoute,
} from '../../../src/gateway/stages/public-routes.ts'
import { InFlightRequests } from '../../../src/gateway/streams/in-flight.ts'
import { createTargetRegistry } from '../../../src/gateway/targets/registry.ts'
import type { Upstream } from '../../../src/kube/proxy/types.ts'
import type { RequestHandler } from '../../../src/serving/http/server.ts'
import { t0 } from '../../support/key-builder.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'

/** The header that says whose key an answer is for, and whether the request was a use of it. */
export const EXPIRES = 'x-platform-key-expires'

/** A page that says its path and query. */
export const page =
  (route: string): PublicPage =>
  (_, query) => ({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body: Buffer.from(`${route} ${query.toString()}`),
  })

/** A page for each public route. */
export const PAGES = Object.fromEntries(
  PUBLIC_ROUTES.map((route) => [route, page(route)]),
) as Readonly<Record<PublicRoute, PublicPage>>

/** A handler: every request is the caller's, and goes to the upstream. */
export function handlerFor(
  caller: Caller,
  send: Upstream['send'],
  given: Partial<HandlerOptions> = {},
): RequestHandler {
  const clock = manualClock(t0)
  return createHandler({
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
    activity: {
      started: async () => 'later',
      flowed: () => undefined,
      flush: async () => undefined,
    },
    selfService: { answer: async () => Promise.reject(new Error('no self-service here')) },
    targets: createTargetRegistry({ send, close: async () => undefined }),
    expiryHeaders: (headers, { key }, isUse) => ({
      ...headers,
      [EXPIRES]: `${key.name} ${isUse ? 'used' : 'unused'}`,
    }),
    answered: () => undefined,
    clock,
    log: memoryLog().log,
    ...given,
  })
}
