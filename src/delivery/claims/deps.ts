// Everything that reconciles of claims work with.
import type { Caps } from '../../domain/accesskey/lifetime.ts'
import type { Claim } from '../../domain/claim/claim.ts'
import type { KeyOfClaim, TokenOfClaim } from '../../domain/claim/claimed-key.ts'
import type { RotationCause } from '../../domain/claim/replacement.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Store } from '../../kube/informer/store.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { FollowedGateway } from '../gateway.ts'
import type { ClaimMemory } from './claim-memory.ts'
import type { KeySlots } from './key-slots.ts'

/** The stores of claims and of what was made for them. */
export interface ClaimStores {
  readonly claims: Store<Claim>
  readonly keys: Store<KeyOfClaim>
  readonly tokens: Store<TokenOfClaim>
}

/** Called for what is delivered, for the platform_claim_* metrics. */
export interface ClaimObserver {
  /** @param seconds from the change that asked for it until the Secret was written */
  delivered(cause: RotationCause, seconds: number): void
}

/** Which claims have a place. */
export interface PlaceSettings {
  /** The platform namespace. */
  readonly namespace: string
  readonly signInNamespace: string
  readonly maxClaimsPerNamespace: number
}

/** Dependencies of the reconcile of a claim. */
export interface ClaimDeps {
  readonly client: KubeClient
  readonly clientDeps: ClientDeps
  readonly stores: ClaimStores
  readonly memory: ClaimMemory
  readonly slots: KeySlots
  readonly gateway: FollowedGateway
  readonly caps: () => Caps
  readonly places: PlaceSettings
  readonly events: EventRecorder
  readonly observer: ClaimObserver
  readonly clock: Clock
}
