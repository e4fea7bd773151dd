// A report in memory, with its Events, counts and log lines.
import { expect } from 'vitest'
import { createReconcileContext } from '../../../src/kube/controller/reconcile-context.ts'
import { syncedObject } from '../../../src/sync/objects/synced-object.ts'
import type { ExistingPair } from '../../../src/sync/pair/pair.ts'
import { type ReportedFailures, SyncReport } from '../../../src/sync/pair/report.ts'
import { PairStates } from '../../../src/sync/pair/state.ts'
import { checkPatches, type Patch } from '../../../src/sync/patches/parse.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { memoryLog } from '../../support/memory-log.ts'
import { memoryEvents, memoryObserver } from './memory-report.ts'

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

/** @param reported the failures that earlier runs reported; absent = none */
export function reportOf(
  kind = 'Endpoints',
  patches = PATCHES,
  reported: ReportedFailures = new Map(),
) {
  const clock = manualClock(0)
  const { log, lines } = memoryLog()
  const { events, recorder } = memoryEvents()
  const { counts, observer } = memoryObserver()
  const report = new SyncReport({
    kind,
    patches,
    reported,
    states: new PairStates(),
    events: recorder,
    observer,
    clock,
  })
  const virtual = objectOf(kind)
  const context = createReconcileContext({
    controller: 'sync-endpoints',
    key: KEY,
    objectOf: () => ({ name: 'web', namespace: 'shop' }),
    log,
  })
  const pair: ExistingPair = { key: KEY, virtual, host: null, context }
  return { report, clock, events, counts, lines, pair }
}
