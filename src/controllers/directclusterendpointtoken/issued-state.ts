// The state of an issued token: valid until a time, or revoked for a cause.
import { type Caps, isLive } from '../../domain/accesskey/lifetime.ts'
import {
  type IssuedToken,
  isIssuedFor,
  isWithinScope,
  lostTeamOf,
} from '../../domain/token/issued-token.ts'
import type { TokenObject } from '../../domain/token/token.ts'
import type { Owner } from '../indexes/tokens.ts'
import { type EndedState, revoked } from './ended-state.ts'
import { capEndMs } from './lifetime.ts'
import { ownerMessageOf } from './owner-message.ts'

/** What decides whether an issued token stays valid. */
export interface IssuedInput {
  /** null = there is no owner reference, or no known key has its name and uid. */
  readonly owner: Owner | null
  /** Whether the owner's user has the group of the team of that name, also beyond the teams that a key has. */
  readonly isInTeam: (team: string) => boolean
  readonly caps: Caps
  readonly configName: string
  /** Whether the signing key of the token was withdrawn because it leaked (contract 7.3). */
  readonly isKeyWithdrawn: boolean
  /** Whether the token is recorded as revoked, and the record is stored (contract 7.4). */
  readonly isRecorded: boolean
  readonly nowMs: number
}

/** The token in status is valid until `endMs`, in epoch milliseconds. */
export interface IssuedState {
  readonly reason: 'Issued'
  readonly issue: null
  readonly endMs: number
}

/**
 * The state of an issued token that has not expired. It ends, if nothing changes, at its `exp`, by a cap that was
 * lowered since, or with its owner.
 */
export function issuedStateOf(token: TokenObject, input: IssuedInput): IssuedState | EndedState {
  const { issued } = token.published
  if (issued === null || issued === 'damaged')
    return revoked('status no longer holds the token that was issued')
  const because = revocationCauseOf(token, issued, input)
  if (because !== null) return revoked(because)
  const { caps, owner } = input
  const endMs = Math.min(
    issued.expiresMs,
    capEndMs(token.creationMs, caps) ?? Number.POSITIVE_INFINITY,
    owner?.expiresMs ?? Number.POSITIVE_INFINITY,
  )
  return { reason: 'Issued', issue: null, endMs }
}

/**
 * Why an issued token is revoked; null = it is not (contract 5.4, 7.3). Its record comes last among the causes, so
 * that status names the cause of the record while that still applies.
 */
function revocationCauseOf(
  token: TokenObject,
  issued: IssuedToken,
  input: IssuedInput,
): string | null {
  const { caps, configName, nowMs, isKeyWithdrawn, isRecorded } = input
  if (isKeyWithdrawn) return `signing key ${token.published.keyID} was withdrawn`
  const ownerCause = ownerRevocationCauseOf(token, issued, input)
  if (ownerCause !== null) return ownerCause
  if (!isLive(capEndMs(token.creationMs, caps), nowMs))
    return `accessKeyMaxTTLSeconds of Config ${configName} ended it ${caps.maxTtlSeconds} s after its creation`
  return isRecorded ? RECORDED : null
}

function ownerRevocationCauseOf(
  { published, ownerRef }: TokenObject,
  issued: IssuedToken,
  { owner, isInTeam }: IssuedInput,
): string | null {
  if (published.owner === null)
    return ownerRef === null ? null : 'it was issued without an owner and has one now'
  const { name, uid } = published.owner
  if (ownerRef?.uid !== uid) return `its owner reference no longer names access key ${name}`
  if (owner === null) return `access key ${name} is gone`
  if (owner.end !== null) return ownerMessageOf(owner, owner.end)
  const { identity, groups, scope } = owner.key
  if (!isIssuedFor(issued, identity, groups))
    return `the identity or the groups of access key ${name} changed`
  const lost = lostTeamOf(issued, isInTeam)
  if (lost !== undefined) return `the user of access key ${name} is not in team ${lost} any more`
  if (!isWithinScope(issued, scope)) return `its scope exceeds that of access key ${name} now`
  return scope === null || issued.isConfined
    ? null
    : `access key ${name} has a scope now, which servers in its audience need not enforce`
}

/** The cause of a token that is recorded as revoked, as a clause. */
export const RECORDED = 'its id is recorded as revoked'
