// What the syncs of Secrets with the store work with, and what is remembered of each Secret.
import type { ObjectMeta } from '../../api/objects.ts'
import type { EventReason } from '../../api/reasons.ts'
import type { SyncOutcome } from '../../domain/store/round-status.ts'
import type { StoreDirection } from '../../domain/store/stored-secret.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { ClientDeps } from '../../kube/client/request.ts'
import type { EventRecorder } from '../../kube/event-recorder.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { StoreClient } from './client.ts'

/** A Secret as a list shows it. */
export type ListedSecret = Pick<
  ObjectMeta,
  'name' | 'uid' | 'resourceVersion' | 'labels' | 'annotations'
> & { readonly namespace: string }

/** The state of Secret and entry when they were last in step. */
export interface InStep {
  /** resourceVersion of the Secret. */
  readonly secretVersion: string
  /** Version of the entry; null = its engine has none. */
  readonly entryVersion: number | null
  /** When that version was created; empty = its engine does not say. */
  readonly entryCreated: string
  /** SHA-256 in hex of the content. */
  readonly digest: string
}

/** Why a Secret is not in step. */
export interface SyncFault {
  readonly outcome: SyncOutcome
  /** null = the condition says it, or it heals by itself. */
  readonly reason: Extract<
    EventReason,
    'StorePathRefused' | 'StoreContentRefused' | 'StoreNotFound' | 'StoreConflict'
  > | null
  /** A sentence without a value. */
  readonly message: string
}

/** The memory of a Secret; a restart loses it, and reads both again. */
export interface SyncRecord {
  /** null = never since the start. */
  inStep: InStep | null
  /** null = it is in step, or was never compared. */
  fault: SyncFault | null
  /** resourceVersion that was last compared. */
  comparedVersion: string
  /** Faults in a row. */
  failures: number
  /** Message of the last Event, unless it is in step since: a store that is away in between changes nothing. */
  told: string
  /** Not tried again before that, unless it changes; epoch milliseconds. */
  retryMs: number
}

/** Called for each comparison, for platform_secret_store_syncs_total. */
export interface StoreSyncObserver {
  compared(direction: StoreDirection, outcome: SyncOutcome): void
}

/** Dependencies of a sync. */
export interface SyncDeps {
  /** Writes data, as the field manager of claims. */
  readonly client: KubeClient
  /** Writes annotation `secret-store-written`, as a field manager of its own: data that it does not name stay. */
  readonly pushClient: KubeClient
  readonly clientDeps: ClientDeps
  readonly store: StoreClient
  readonly events: EventRecorder
  readonly observer: StoreSyncObserver
  readonly clock: Clock
  readonly log: Log
}
