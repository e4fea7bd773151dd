// The stores of claims, their keys and their tokens.
import { hash } from 'node:crypto'
import type { AccessKeyClaim } from '../../api/accesskeyclaim.gen.ts'
import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import type { OwnedAccessKeyObject } from '../../domain/accesskey/access-key.ts'
import { storedDigestOf } from '../../domain/accesskey/access-key.ts'
import { type Claim, claimOf } from '../../domain/claim/claim.ts'
import { keyOfClaim, tokenOfClaim } from '../../domain/claim/claimed-key.ts'
import { isOlder } from '../../domain/shared-metadata.ts'
import { Store } from '../../kube/informer/store.ts'
import type { ClaimStores } from './deps.ts'

/** Index of claims by namespace, the oldest first. */
export const BY_NAMESPACE = 'namespace'

/** Index of keys and tokens by the uid of their claim. */
export const BY_CLAIM = 'claim'

/** Empty stores. */
export const createClaimStores = (): ClaimStores => ({
  claims: new Store<Claim>(
    (object) => claimOf(object as AccessKeyClaim),
    { [BY_NAMESPACE]: ({ namespace }) => namespace },
    { [BY_NAMESPACE]: isOlder },
  ),
  keys: new Store((object) => keyOfClaim(object as OwnedAccessKeyObject, digestOf), {
    [BY_CLAIM]: ({ claimUid }) => claimUid,
  }),
  tokens: new Store((object) => tokenOfClaim(object as DirectClusterEndpointToken), {
    [BY_CLAIM]: ({ claimUid }) => claimUid,
  }),
})

const digestOf = (key: string): string => storedDigestOf(key) ?? hash('sha256', key)
