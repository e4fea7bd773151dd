import { ACCESS_KEYS, TOKENS } from '../../api/group.ts'
import { countTokens } from '../../controllers/directclusterendpointtoken/counts.ts'
import { countKeys, keyEnds } from '../../controllers/ownedaccesskey/counts.ts'
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
}: ControllersOptions): MetricSources {
  const none = { byState: {}, capped: 0 }
  let counts = { keys: none, tokens: none }
  let countedMs = Number.NEGATIVE_INFINITY
  const counted = (): typeof counts => {
    const current = caps.current()
    if (current && clock.monotonicMs() - countedMs > COUNT_AGAIN_AFTER_MS) {
      counts = { keys: countKeys(keys, current, clock.nowMs()), tokens: countTokens(tokens) }
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
    keyEnds: () => {
      const current = caps.current()
      return current ? keyEnds(keys, current, clock.nowMs()) : []
    },
    signingKeyEnds: () => keyring.ends(),
  }
}
