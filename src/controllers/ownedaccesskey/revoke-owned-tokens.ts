import { TOKENS } from '../../api/names.ts'
import type { RevocationList } from '../../authn/revocation/revocation-list.ts'
import type { AccessKey } from '../../domain/accesskey/access-key.ts'
import { type TokenObject, issuedTokenEndMs } from '../../domain/token/token.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import { BY_ISSUED_UNDER, type IssuesInProgress } from '../directclusterendpointtoken/indexes.ts'

/** What ending a key's tokens takes. */
export interface TokensDeps {
  readonly client: KubeClient
  readonly tokens: Store<TokenObject>
  readonly revocations: RevocationList
  readonly issues: Pick<IssuesInProgress, 'hasAnyUnder'>
  readonly clock: Clock
}

/** So many deletes at a time: one key may have thousands of tokens. */
const AT_A_TIME = 8

/**
 * The work of a key's finalizer: every token issued under its uid is recorded as revoked and
 * deleted (contract 5.1), whatever its references say by now.
 *
 * @returns how many are neither recorded nor over yet, plus one while a token is being issued under the key
 * @throws StatusError when a delete is refused
 */
export async function revokeOwnedTokens({ uid }: AccessKey, deps: TokensDeps): Promise<number> {
  const { tokens, revocations, issues, clock } = deps
  const isIssuing = issues.hasAnyUnder(uid)
  const issued = tokens.by(BY_ISSUED_UNDER, uid)
  const unrecorded = issued.filter((token) => isUnrecorded(token, deps))
  for (const token of unrecorded) {
    revocations.record(token.uid, issuedTokenEndMs(token) ?? clock.nowMs())
  }
  const left = issued.filter(({ isDeleting }) => !isDeleting)
  for (let first = 0; first < left.length; first += AT_A_TIME) {
    await Promise.all(left.slice(first, first + AT_A_TIME).map((token) => remove(token, deps)))
  }
  return unrecorded.length + (isIssuing ? 1 : 0)
}

/** How many of a key's tokens are not recorded yet. */
export const countUnrecorded = (
  { uid }: AccessKey,
  deps: Pick<TokensDeps, 'tokens' | 'revocations' | 'clock'>,
): number =>
  deps.tokens.by(BY_ISSUED_UNDER, uid).filter((token) => isUnrecorded(token, deps)).length

function isUnrecorded(
  token: TokenObject,
  { revocations, clock }: Pick<TokensDeps, 'revocations' | 'clock'>,
): boolean {
  const outMs = issuedTokenEndMs(token)
  return outMs !== null && outMs > clock.nowMs() && !revocations.has(token.uid)
}

async function remove(token: TokenObject, { client, tokens }: TokensDeps): Promise<void> {
  const { uid, resourceVersion } = token
  const held = await client.delete(TOKENS, token, { uid, resourceVersion }, 'owner')
  if (held) tokens.observe(held)
}
