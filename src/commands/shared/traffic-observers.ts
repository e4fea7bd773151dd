// Observers of forwarded requests and of connections, which the gateway and the direct endpoint share.
import type { ClientObserver } from '../../kube/client/request.ts'
import type { UpstreamObserver } from '../../kube/proxy/upstream.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { ServerObserver } from '../../serving/http/server.ts'
import type { ServerMetrics } from './server-metrics.ts'

/**
 * The observer of upstream requests. rest_client_requests_total counts this process's own requests and a 401 for its own
 * credential, but no other forwarded requests, answered or not. Their Date headers are ignored, because a pod behind
 * the API server's proxy may have set them.
 */
export const forwardedRequestObserver = (
  observer: Pick<ClientObserver, 'responded'>,
): UpstreamObserver => ({
  responded: ({ method, impersonation, isProxied = false }, code) => {
    if (impersonation === null || (code === '401' && !isProxied))
      observer.responded(method, code, null)
  },
})

/** Even a flood of connections logs at most one line in this time. */
const LOG_INTERVAL_MS = 60_000

/** The parts of a process that connectionObserver uses. */
interface ConnectionProcess {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<ServerMetrics, 'connectionDropped'>
}

/** Counts refused connections, and logs them at most once a minute; logs responses that can't be sent. */
export function connectionObserver({ clock, log, metrics }: ConnectionProcess): ServerObserver {
  let dropped = 0
  let nextLogMs = Number.NEGATIVE_INFINITY
  return {
    dropped: () => {
      metrics.connectionDropped()
      dropped += 1
      const nowMs = clock.monotonicMs()
      if (nowMs < nextLogMs) return
      log.warn({ dropped }, 'connections are refused, the limit is reached')
      dropped = 0
      nextLogMs = nowMs + LOG_INTERVAL_MS
    },
    unsent: (err) => log.error({ err }, 'an answer cannot be sent'),
  }
}
