// CPU time of a reconcile that finds nothing to do: what each key costs at a restart, a resync or a scrape of a cap.
import { createReconcileContext } from '../../src/kube/controller/reconcile-context.ts'
import { IssuesInProgress } from '../../src/controllers/indexes/tokens.ts'
import { storedReportOf } from '../../src/controllers/ownedaccesskey/identity-change.ts'
import { type KeyDeps, reconcile } from '../../src/controllers/ownedaccesskey/reconcile.ts'
import { Store } from '../../src/kube/informer/store.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { recordedRevocations, recordingClient } from '../../test/support/fake-kube-client.ts'
import { settledKeys } from '../../test/support/key-controller-at-scale.ts'
import { memoryLog } from '../../test/support/memory-log.ts'
import { keyStore, tokenStore } from '../../test/support/token-builder.ts'
import type { Figures } from '../measure/rounds.ts'
import { peopleOf } from '../../test/unit/people/people-builder.ts'

const KEYS = 5000
const PASSES = 10
const DAY_SECONDS = 86_400

/** Reconciles settled keys again and again. @throws Error when one of them writes */
export async function measureNoOp(): Promise<Figures> {
  const clock = systemClock()
  const objects = settledKeys(KEYS, clock.nowMs(), () => DAY_SECONDS)
  const { client, asked } = recordingClient({})
  const { log } = memoryLog()
  const deps: KeyDeps = {
    client,
    keys: keyStore(...objects),
    people: peopleOf([], []),
    reports: new Store(storedReportOf),
    signInNamespace: 'platform-system-sign-in',
    tokens: tokenStore(),
    revocations: recordedRevocations().revocations,
    issues: new IssuesInProgress(),
    clock,
    caps: () => ({ maxTtlSeconds: null, loginTtlSeconds: null }),
    configName: 'platform-manager-config',
    retentionMs: DAY_SECONDS * 1000,
    newKey: () => 'never',
    events: { record: () => undefined, flush: () => Promise.resolve(), stop: () => undefined },
    observer: { expired: () => undefined },
  }
  const names = objects.map(({ metadata }) => metadata.name)
  const pass = async (): Promise<void> => {
    for (const name of names)
      await reconcile(
        name,
        deps,
        createReconcileContext({
          controller: 'no-op',
          key: name,
          objectOf: (key) => deps.keys.getByKey(key),
          log,
        }),
      )
  }
  await pass()
  const before = process.cpuUsage()
  for (let passes = 0; passes < PASSES; passes += 1) await pass()
  const { user, system } = process.cpuUsage(before)
  if (asked.length > 0) throw new Error('a reconcile of a settled key has written')
  return { noOpUs: (user + system) / (KEYS * PASSES) }
}
