// Reconciles one import: reads the copy and the host object, plans, and writes or reports (contract 19.5).
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import { objectKey } from '../../kube/informer/store.ts'
import { type HostPlace, importSourceOf, virtualNameOf } from '../objects/host-name.ts'
import type { SyncedObject } from '../objects/synced-object.ts'
import type { ReferencedObjects } from '../references/follow.ts'
import type { ImportName, ReconciledImport } from './name.ts'
import { planImport } from './plan.ts'
import { type ImportWriteDeps, writeImport } from './writes.ts'

/** Dependencies of the reconcile. */
interface ImportDeps extends ImportWriteDeps {
  readonly place: HostPlace
  readonly references: Pick<ReferencedObjects, 'isReferenced'>
}

/** The reconcile function of imports. */
export const createImportReconcile =
  (deps: ImportDeps) =>
  async (name: ReconciledImport): Promise<Outcome> => {
    const { place, references, report } = deps
    const { kind, key } = name
    const isReferenced = references.isReferenced(kind, key)
    const read = readObjects(name, isReferenced, deps)
    // An object that was not read yet may exist; its first read queues the key again.
    if (read === 'unread') {
      if (!isReferenced) report.forget(name)
      return done
    }
    const { copy, host } = read
    const plan = planImport({
      kind,
      name: virtualNameOf(key),
      virtualCluster: place.virtualCluster,
      isReferenced,
      virtual: copy && copy.object,
      host: host && host.object,
    })
    if (plan.step !== 'nothing') return writeImport({ name, plan, copy, host }, deps)
    if (copy === null && !isReferenced) report.forget(name)
    else report.inStep(name)
    return done
  }

/** The objects of an import as last read; null = the object does not exist. */
interface ReadImport {
  readonly copy: SyncedObject | null
  readonly host: SyncedObject | null
}

/** Without references the host object need not be read: the copy is deleted in any case. */
function readObjects(
  { kind, key }: ImportName,
  isReferenced: boolean,
  { place, sources }: Pick<ImportDeps, 'place' | 'sources'>,
): ReadImport | 'unread' {
  const [virtual, candidates] = [sources.virtual[kind], sources.candidates[kind]]
  const name = virtualNameOf(key)
  const source = importSourceOf(name, place)
  if (!virtual.isSynced(name) || (isReferenced && !candidates.isSynced(source))) return 'unread'
  return {
    copy: virtual.getByKey(key) ?? null,
    host: candidates.getByKey(objectKey(source)) ?? null,
  }
}
