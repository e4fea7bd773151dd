// Collects what the plan of a key needs to know, from the stores and the settings in force.
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { keyConflictOf } from '../../domain/accesskey/key-state.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import { CHAIN_STATE_MESSAGES, chainStatusOf } from '../../domain/accesskey/owner-chain.ts'
import type { Store } from '../../kube/informer/store.ts'
import { keysIn } from '../indexes/access-keys.ts'
import type { KeyPlanInput } from './plan.ts'
import { type RevokeOwnedTokensDeps, countUnrecordedTokens } from './revoke-owned-tokens.ts'

/** Where the input comes from. `caps` returns the caps in force at each call. */
export interface KeyPlanSources extends RevokeOwnedTokensDeps {
  readonly keys: Store<AccessKey>
  readonly caps: () => Caps
  readonly configName: string
  readonly retentionMs: number
}

/** The input of the plan at this moment. */
export function planInputOf(key: AccessKey, sources: KeyPlanSources): KeyPlanInput {
  const { keys, configName, retentionMs, clock, revocations } = sources
  const [caps, nowMs] = [sources.caps(), clock.nowMs()]
  const conflict = keyConflictOf(key, keysIn(keys))
  const hasUnrecorded = key.isDeleting && countUnrecordedTokens(key, sources) > 0
  const tokensFault = hasUnrecorded ? revocations.fault() : null
  const ownerFault = ownerFaultOf(key, keys, caps, nowMs)
  return { caps, configName, retentionMs, conflict, ownerFault, tokensFault, nowMs }
}

/** Why an owning key keeps this one from working, as a clause; null = none does (contract 10.3, 12.3). */
function ownerFaultOf(
  key: AccessKey,
  keys: Store<AccessKey>,
  caps: Caps,
  nowMs: number,
): string | null {
  if (key.ownerRef === null) return null
  const { state, above } = chainStatusOf(key, keysIn(keys), caps, nowMs)
  if (state === 'Active' || above === null) return null
  return `access key ${above}, which it depends on, ${CHAIN_STATE_MESSAGES[state]}`
}
