// What the gateway counts and logs of its connections and of the requests that it sends.
import { type ClampedClock, clampedClock } from '../../gateway/activity/clamped-clock.ts'
import type { ClientDeps, ClientObserver } from '../../kube/client/request.ts'
import type { UpstreamObserver } from '../../kube/proxy/upstream.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ServerObserver } from '../../serving/http/server.ts'
import type { GatewayProcess } from './metrics.ts'

/** Client dependencies, and a clock that follows the API server's. */
export interface TimedDeps {
  /** Held back by the Date headers of responses to `deps`. */
  readonly clock: ClampedClock
  readonly deps: ClientDeps
}

/** The same dependencies, with a clock that follows the API server's Date headers. */
export function timedDeps(local: Clock, deps: ClientDeps): TimedDeps {
  const clock = clampedClock(local)
  const { observer } = deps
  const responded: typeof observer.responded = (method, code, dateMs) => {
    observer.responded(method, code, dateMs)
    if (dateMs !== null) clock.heard(dateMs)
  }
  return { clock, deps: { ...deps, observer: { ...observer, responded } } }
}

/**
 * Responses to forwarded requests count as the caller's, a missing response too. rest_client_requests_total
 * counts the gateway's own requests, and a 401 for its own credential. The Date header may be that of a pod
 * behind the API server's proxy, so it measures no clock.
 */
export const ofForwarded = (observer: Pick<ClientObserver, 'responded'>): UpstreamObserver => ({
  responded: ({ method, impersonation, isProxied = false }, code) => {
    if (impersonation === null || (code === '401' && !isProxied))
      observer.responded(method, code, null)
  },
})

/** A flood of connections writes one line a minute. */
const TELL_EVERY_MS = 60_000

/** Counts and logs refused connections, at most one line a minute, and responses that can't be sent. */
export function connectionObserver({
  clock,
  log,
  metrics,
}: Pick<GatewayProcess, 'clock' | 'log' | 'metrics'>): ServerObserver {
  let dropped = 0
  let tellFromMs = Number.NEGATIVE_INFINITY
  return {
    dropped: () => {
      metrics.connectionDropped()
      dropped += 1
      const nowMs = clock.monotonicMs()
      if (nowMs < tellFromMs) return
      log.warn({ dropped }, 'connections are refused, the limit is reached')
      dropped = 0
      tellFromMs = nowMs + TELL_EVERY_MS
    },
    unsent: (err) => log.error({ err }, 'an answer can not be sent'),
  }
}
