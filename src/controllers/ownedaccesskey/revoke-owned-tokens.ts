import { TOKENS } from '../../api/names.ts'
import type { RevocationList } from '../../revocation/revocation-list.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import { deleteObject } from '../../kube/controller/object-writes.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { BY_ISSUED_UNDER, type IssuesInProgress } from '../indexes/tokens.ts'

/** Dependencies of revokeOwnedTokens. */
export interface RevokeOwnedTokensDeps {
  readonly client: KubeClient
  readonly tokens: Store<TokenObject>
  readonly revocations: RevocationList
  readonly issues: Pick<IssuesInProgress, 'hasAnyUnder'>
  readonly clock: Clock
}

/** Concurrent deletes: one key may have thousands of tokens. */
const CONCURRENT_DELETES = 8

/**
 * The work of a key's finalizer: records every token that was issued under its uid as revoked, and deletes it
 * (contract 5.1), even if its owner reference has changed since.
 *
 * @returns the number of live tokens whose record is not stored yet, plus one while a token is being issued under the
 *   key
 * @throws StatusError when a delete is refused
 */
export async function revokeOwnedTokens(
  { uid }: AccessKey,
  deps: RevokeOwnedTokensDeps,
): Promise<number> {
  const { tokens, revocations, issues, clock } = deps
  const isIssuing = issues.hasAnyUnder(uid)
  const issued = tokens.by(BY_ISSUED_UNDER, uid)
  const unrecorded = issued.filter((token) => isUnrecorded(token, deps))
  for (const token of unrecorded) {
    revocations.record(token.uid, issuedTokenEndMs(token) ?? clock.nowMs())
  }
  const toDelete = issued.filter(({ isDeleting }) => !isDeleting)
  const target = { client: deps.client, resource: TOKENS, store: tokens }
  for (let first = 0; first < toDelete.length; first += CONCURRENT_DELETES) {
    await Promise.all(
      toDelete
        .slice(first, first + CONCURRENT_DELETES)
        .map((token) => deleteObject(target, token, 'owner')),
    )
  }
  return unrecorded.length + (isIssuing ? 1 : 0)
}

/** Number of live tokens of a key whose record is not stored yet. */
export const countUnrecordedTokens = (
  { uid }: AccessKey,
  deps: Pick<RevokeOwnedTokensDeps, 'tokens' | 'revocations' | 'clock'>,
): number =>
  deps.tokens.by(BY_ISSUED_UNDER, uid).filter((token) => isUnrecorded(token, deps)).length

function isUnrecorded(
  token: TokenObject,
  { revocations, clock }: Pick<RevokeOwnedTokensDeps, 'revocations' | 'clock'>,
): boolean {
  const expiresMs = issuedTokenEndMs(token)
  return expiresMs !== null && expiresMs > clock.nowMs() && !revocations.has(token.uid)
}
