import { ACCESS_KEYS, TOKENS } from '../../api/group.ts'
import { countTokens } from '../../controllers/directclusterendpointtoken/counts.ts'
import { countKeys, keyEnds } from '../../controllers/ownedaccesskey/counts.ts'
import { NONE_LATE } from '../../domain/late.ts'
import type { MetricSources } from '../../runtime/metrics.ts'
import type { ControllersOptions } from './loop.ts'

/** A scrape asks several times for what one walk over the objects tells. */
const COUNT_AGAIN_AFTER_MS = 1000

/** Only the leader counts: replicas that stand by would count every object once more. */
export function countObjects({
  stores: { keys, tokens },
  caps,
  clock,
  keyring,
  revocations,
}: ControllersOptions): MetricSources {
  const none = { byState: {}, capped: 0, overdue: NONE_LATE }
  let counts = { keys: none, tokens: none }
  let countedMs = Number.NEGATIVE_INFINITY
  const counted = (): typeof counts => {
    const current = caps.current()
    if (current && clock.monotonicMs() - countedMs > COUNT_AGAIN_AFTER_MS) {
      const nowMs = clock.nowMs()
      counts = { keys: countKeys(keys, current, nowMs), tokens: countTokens(tokens, nowMs) }
      countedMs = clock.monotonicMs()
    }
    return counts
  }
  return {
    keysByState: () => counted().keys.byState,
    tokensByState: () => counted().tokens.byState,
    cappedByKind: () => ({
      [ACCESS_KEYS.kind]: counted().keys.capped,
      [TOKENS.kind]: counted().tokens.capped,
    }),
    overdueByKind: () => ({
      [ACCESS_KEYS.kind]: counted().keys.overdue,
      [TOKENS.kind]: counted().tokens.overdue,
    }),
    keyEnds: () => {
      const current = caps.current()
      return current ? keyEnds(keys, current, clock.nowMs()) : []
    },
    signingKeys: () => keyring.lives(),
    signingKeyFaults: () => keyring.faults().length,
    revokedTokens: () => revocations.countAt(clock.nowMs()),
    revocationBacklog: () => revocations.backlog(),
  }
}
