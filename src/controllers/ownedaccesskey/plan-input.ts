// Collects what the plan of a key needs to know, from the stores and the settings in force.
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { keyConflictOf } from '../../domain/accesskey/key-state.ts'
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import {
  CHAIN_STATE_MESSAGES,
  type KeyLookup,
  chainStatusOf,
} from '../../domain/accesskey/owner-chain.ts'
import type { People } from '../../domain/people/people.ts'
import { isSurplusLogin } from '../../domain/accesskey/surplus-logins.ts'
import type { Store } from '../../kube/informer/store.ts'
import { BY_LOGIN, keysIn } from '../indexes/access-keys.ts'
import type { StoredReport } from './identity-change.ts'
import { keyIdentityFaultOf } from './identity-fault.ts'
import type { KeyPlanInput } from './plan.ts'
import { type RevokeOwnedTokensDeps, countUnrecordedTokens } from './revoke-owned-tokens.ts'

/** Where the input comes from. `caps` returns the caps in force at each call. */
export interface KeyPlanSources extends RevokeOwnedTokensDeps {
  readonly keys: Store<AccessKey>
  readonly people: People
  /** Reports of the sign-in process, by the names of their keys. */
  readonly reports: Store<StoredReport>
  /** The namespace of the reports. */
  readonly signInNamespace: string
  readonly caps: () => Caps
  readonly configName: string
  readonly retentionMs: number
}

/** The input of the plan at this moment. */
export function planInputOf(key: AccessKey, sources: KeyPlanSources): KeyPlanInput {
  const { keys, people, reports, signInNamespace, configName, retentionMs } = sources
  const { clock, revocations } = sources
  const [caps, nowMs] = [sources.caps(), clock.nowMs()]
  const known = keysIn(keys, people)
  const hasUnrecorded = key.isDeleting && countUnrecordedTokens(key, sources) > 0
  const tokensFault = hasUnrecorded ? revocations.fault() : null
  return {
    caps,
    configName,
    retentionMs,
    conflict: keyConflictOf(key, known),
    identityFault: keyIdentityFaultOf(key, people, nowMs),
    ownerFault: ownerFaultOf(key, known, caps, nowMs),
    isSurplusLogin: isSurplusLogin(key, keys.by(BY_LOGIN, key.identity ?? '')),
    report: reports.get(key.name, signInNamespace)?.said ?? null,
    tokensFault,
    nowMs,
  }
}

/** Why an owning key keeps this one from working, as a clause; null = none does (contract 10.3, 12.3). */
function ownerFaultOf(key: AccessKey, known: KeyLookup, caps: Caps, nowMs: number): string | null {
  if (key.ownerRef === null) return null
  const { state, above } = chainStatusOf(key, known, caps, nowMs)
  if (state === 'Active' || above === null) return null
  return `access key ${above}, which it depends on, ${CHAIN_STATE_MESSAGES[state]}`
}
