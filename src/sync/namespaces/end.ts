// Ends a host namespace whose virtual one is gone or leads elsewhere: clears it of our objects, and deletes it if the
// syncer made it and nothing else is left in it (contract 17.5).
import { NAMESPACES } from '../../api/names.ts'
import type { KubeClient } from '../../kube/client/client.ts'
import type { NamespaceContent } from '../../kube/client/namespace-content.ts'
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import type { Clock } from '../../runtime/clock.ts'
import { planEnd } from './end-plan.ts'
import { hostNamespaceOf, type VirtualNamespace } from './marks.ts'
import type { PlannedEnd } from './plan.ts'
import { deleteOwnObjects, remainingContent } from './remaining-content.ts'
import type { NamespaceReport, ReconciledNamespace } from './report.ts'
import type { HostNamespaceObject } from './sources.ts'
import { deleteNamespace, type NamespaceWriteDeps, unmarkNamespace } from './writes.ts'

/** Dependencies of the end of host namespaces. */
export interface EndDeps extends NamespaceWriteDeps {
  readonly clients: { readonly virtual: KubeClient; readonly host: KubeClient }
  /** Reads the content of host namespaces. */
  readonly content: NamespaceContent
  readonly report: NamespaceReport
  readonly clock: Clock
}

/** A host namespace that ends. */
interface EndedNamespace {
  readonly reconciled: ReconciledNamespace
  readonly host: HostNamespaceObject
  readonly plan: PlannedEnd
  /** The virtual namespace that gets it afterwards; null = none waits. */
  readonly waiting: VirtualNamespace | null
}

/** When the namespace is examined again: while our objects go, and while others keep it. */
const RECHECK_MS = { clearing: 1000, kept: 300_000 }

/** Ends the host namespace, as far as that is possible now. */
export async function endNamespace(
  { reconciled, host, plan: { virtual, isMade }, waiting }: EndedNamespace,
  deps: EndDeps,
): Promise<Outcome> {
  const { clock, content, report } = deps
  const recheckAfter = (ms: number): Outcome => ({ result: 'later', atMs: clock.nowMs() + ms })
  const reported = <T>(act: () => Promise<T>): Promise<T> =>
    report.refusalReported(reconciled, virtual, act)
  if (await stillLeadsTo(host, virtual, deps)) return recheckAfter(RECHECK_MS.clearing)
  const own = await reported(() =>
    deleteOwnObjects({ hostName: host.name, virtualName: virtual.name }, deps),
  )
  if (own.kind === 'clearing') return recheckAfter(RECHECK_MS.clearing)
  const rest =
    own.kind === 'unknown' ? own : isMade ? await remainingContent(host.name, content) : null
  const end = planEnd(host.name, rest)
  switch (end.step) {
    case 'delete':
      await reported(() => deleteNamespace(host, deps))
      return done
    case 'unmark':
      // Without its marks it is not reconciled again: until they are gone, each try would report that it stays.
      await reported(() => unmarkNamespace(host, deps))
      report.kept(reconciled, virtual, end.note)
      return done
    case 'keep':
      report.kept(reconciled, virtual, end.note)
      // Its marks keep naming the other namespace, perhaps for ever.
      if (waiting !== null) report.taken(reconciled, waiting)
      return recheckAfter(RECHECK_MS.kept)
    default:
      return end satisfies never
  }
}

/** Asks the virtual cluster itself: what follows from a namespace that seems to be gone can't be undone. */
async function stillLeadsTo(
  host: HostNamespaceObject,
  virtual: VirtualNamespace,
  { clients, place }: EndDeps,
): Promise<boolean> {
  const isGone = (await clients.virtual.get(NAMESPACES, { name: virtual.name })) === null
  return !isGone && hostNamespaceOf(virtual.name, place) === host.name
}
