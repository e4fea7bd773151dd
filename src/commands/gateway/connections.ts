import type { ServerObserver } from '../../gateway/http/server.ts'
import type { GatewayProcess } from './process.ts'

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
