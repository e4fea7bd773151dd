// A report in memory, and what it has told.
import { expect } from 'vitest'
import type { ObjectEvent } from '../../../src/kube/event-recorder.ts'
import { type ReportedFailures, SyncReport } from '../../../src/sync/pair/report.ts'
import { type Patch, checkPatches } from '../../../src/sync/patches/parse.ts'
import { syncedObject } from '../../../src/sync/objects/synced-object.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'

/** The key of the object. */
export const KEY = 'shop/web'

/** The patches of these entries, `p[0]` and so on. */
export function patchesOf(...entries: readonly object[]): readonly Patch[] {
  const { patches, faults } = checkPatches(entries as never, 'p', ['metadata.labels'])
  expect(faults).toEqual([])
  return patches
}

/** Two patches that read nothing. */
export const PATCHES = patchesOf(
  { path: 'data.a', expression: 'value' },
  { path: 'data.b', expression: 'value' },
)

/** The virtual object. */
export const objectOf = (kind: string, uid = 'u1') =>
  syncedObject(kind)({
    apiVersion: 'v1',
    kind,
    metadata: { name: 'web', namespace: 'shop', uid, resourceVersion: '1', creationTimestamp: '' },
  })

/** A report, and what it has told and counted. @param reported by reports before it; absent = nothing */
export function reportOf(
  kind = 'Endpoints',
  patches = PATCHES,
  reported: ReportedFailures = new Map(),
) {
  const clock = manualClock(0)
  const { log, lines } = memoryLog()
  const events: ObjectEvent[] = []
  const counts: unknown[] = []
  const report = new SyncReport({
    kind,
    patches,
    reported,
    events: {
      record: (event) => void events.push(event),
      flush: () => Promise.resolve(),
      stop: () => undefined,
    },
    observer: {
      wrote: (direction) => void counts.push(direction),
      failed: (reason) => void counts.push(reason),
      caughtUp: (seconds) => void counts.push(seconds),
    },
    clock,
    log,
  })
  return { report, clock, events, counts, lines, virtual: objectOf(kind) }
}
