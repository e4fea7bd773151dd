// Counts what the syncer writes to either cluster, and what keeps objects from being synced (contract 20).
/** The reasons of Events and of platform_sync_errors_total. */
export const ERROR_REASONS = [
  'AddressRefused',
  'NameTaken',
  'NotWritten',
  'PatchFailed',
  'PatchNotStable',
  'WritesDelayed',
] as const

/** One of ERROR_REASONS. */
export type ErrorReason = (typeof ERROR_REASONS)[number]

/** The directions of writes, as in platform_sync_writes_total. */
export const DIRECTIONS = ['toHost', 'toVirtual'] as const

/** One of DIRECTIONS. */
export type WriteDirection = (typeof DIRECTIONS)[number]

/** Counters of one kind. */
export interface SyncObserver {
  readonly wrote: (direction: WriteDirection) => void
  readonly failed: (reason: ErrorReason) => void
  /** @param seconds from the change of either object until both were in step */
  readonly caughtUp: (seconds: number) => void
}
