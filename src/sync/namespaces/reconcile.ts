// Reconciles one host namespace in multi-namespace mode: reads the namespaces that lead to it, plans, and makes, marks or
// ends it (contract 17.5).
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import { type EndDeps, endNamespace } from './end.ts'
import { planNamespace } from './plan.ts'
import type { ReconciledNamespace } from './report.ts'
import { type NamespaceStores, namespaceFacts } from './sources.ts'
import { createNamespace, markNamespace } from './writes.ts'

/** Dependencies of the reconcile. */
export interface NamespaceDeps extends EndDeps {
  readonly stores: NamespaceStores
}

/** The reconcile function of host namespaces. */
export const createNamespaceReconcile =
  (deps: NamespaceDeps) =>
  async (reconciled: ReconciledNamespace): Promise<Outcome> => {
    const outcome = await reconcile(reconciled, deps)
    deps.report.inStep(reconciled)
    return outcome
  }

async function reconcile(reconciled: ReconciledNamespace, deps: NamespaceDeps): Promise<Outcome> {
  const { hostName } = reconciled
  const { stores, place, report } = deps
  const host = stores.host.getByKey(hostName) ?? null
  const { plan, waiting, leftOut } = planNamespace(namespaceFacts(hostName, stores, place))
  for (const namespace of leftOut) report.taken(reconciled, namespace)
  switch (plan.kind) {
    case 'nothing':
    case 'use':
    case 'wait':
    case 'conflict':
      return done
    case 'create':
      await report.refusalReported(reconciled, plan.virtual, () =>
        createNamespace(hostName, plan.virtual, deps),
      )
      return done
    case 'mark':
      if (host === null) return done
      await report.refusalReported(reconciled, plan.virtual, () => markNamespace(host, plan, deps))
      return done
    case 'end':
      return host === null ? done : endNamespace({ reconciled, host, plan, waiting }, deps)
    default:
      return plan satisfies never
  }
}
