import { ACCESS_KEYS, TOKENS } from '../../api/names.ts'
import type { RevocationList } from '../../authn/revocation/revocation-list.ts'
import { countTokens } from '../../controllers/directclusterendpointtoken/metrics.ts'
import { countKeys, exportKeyExpiry } from '../../controllers/ownedaccesskey/metrics.ts'
import { NOTHING_OVERDUE } from '../../domain/time.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventLoopShare } from '../../runtime/concurrency/event-loop.ts'
import type { FollowedCaps } from '../../settings/caps.ts'
import type { Keyring } from '../../signing/keyring.ts'
import type { Stores } from './informers.ts'
import type { MetricSources } from './metrics.ts'

/** The sources of the counts. */
export interface CountsOptions {
  readonly stores: Pick<Stores, 'keys' | 'tokens'>
  readonly caps: FollowedCaps
  readonly clock: Clock
  readonly turns: EventLoopShare
  readonly keyring: Keyring
  readonly revocations: RevocationList
}

/** Scrapes within this time get the same counts: going over all objects costs time. */
const COUNT_AGAIN_AFTER_MS = 1000

/** Only the leader counts: a standby replica would count every object a second time. */
export function countObjects({
  stores: { keys, tokens },
  caps,
  clock,
  turns,
  keyring,
  revocations,
}: CountsOptions): MetricSources {
  const none = { byState: {}, capped: 0, overdue: NOTHING_OVERDUE }
  let counts = { keys: none, tokens: none }
  let countedMs = Number.NEGATIVE_INFINITY
  let counting: Promise<void> | null = null
  const count = async (): Promise<void> => {
    const current = caps.current()
    if (!current || clock.monotonicMs() - countedMs <= COUNT_AGAIN_AFTER_MS) return
    const nowMs = clock.nowMs()
    const [ofKeys, ofTokens] = await Promise.all([
      countKeys(keys, current, nowMs, turns),
      countTokens(tokens, nowMs, turns),
    ])
    counts = { keys: ofKeys, tokens: ofTokens }
    countedMs = clock.monotonicMs()
  }
  return {
    refresh: () => {
      counting ??= count().finally(() => {
        counting = null
      })
      return counting
    },
    keysByState: () => counts.keys.byState,
    tokensByState: () => counts.tokens.byState,
    cappedByKind: () => ({
      [ACCESS_KEYS.kind]: counts.keys.capped,
      [TOKENS.kind]: counts.tokens.capped,
    }),
    overdueByKind: () => ({
      [ACCESS_KEYS.kind]: counts.keys.overdue,
      [TOKENS.kind]: counts.tokens.overdue,
    }),
    keyEnds: async (report) => {
      const current = caps.current()
      if (current) await exportKeyExpiry(keys, current, clock.nowMs(), turns, report)
    },
    signingKeys: () => keyring.lives(),
    signingKeyFaults: () => keyring.faults().length,
    revokedTokens: () => revocations.countAt(clock.nowMs()),
    revocationBacklog: () => revocations.backlog(),
  }
}
