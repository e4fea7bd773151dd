// Collects what the plan of a token needs to know, from the stores, the signer and the settings in force.
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import type { KeyLookup } from '../../domain/accesskey/owner-chain.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { RevocationList } from '../../revocation/revocation-list.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { TokenSigner } from '../../signing/keyring.ts'
import { ownerOf } from '../indexes/tokens.ts'
import type { TokenPlanInput } from './facts.ts'

/** Where the input comes from. Functions without a parameter return the value of the moment. */
export interface TokenPlanSources {
  readonly signer: TokenSigner
  readonly revocations: RevocationList
  readonly caps: () => Caps
  readonly issuer: () => string | null
  readonly configName: string
  readonly maxTtlMs: number
  readonly retentionMs: number
  readonly clock: Clock
}

/** The input of the plan at this moment. @param known the access keys that may own the token */
export function planInputOf(
  token: TokenObject,
  known: KeyLookup,
  sources: TokenPlanSources,
): TokenPlanInput {
  const { people } = known
  const { signer, revocations, clock, configName, maxTtlMs, retentionMs } = sources
  const [caps, nowMs] = [sources.caps(), clock.nowMs()]
  const { keyID } = token.published
  const owner = ownerOf(token, known, caps, nowMs)
  const identity = owner?.key.identity ?? ''
  return {
    owner,
    teams: people.teamsOf(identity),
    isInTeam: (team) => people.isInTeam(identity, team),
    caps,
    configName,
    issuer: sources.issuer(),
    signing: signer.current(),
    isKeyWithdrawn: keyID !== undefined && signer.isWithdrawn(keyID),
    maxTtlMs,
    isRecorded: revocations.has(token.uid),
    recordFault: revocations.fault(),
    recordAskedForMs: revocations.requestedForMs(token.uid),
    retentionMs,
    nowMs,
  }
}
