// The controller of host namespaces in multi-namespace mode (contract 17.5). A key is the name of a host namespace.
import { type ControllerSpec, onChange } from '../../kube/controller/builder.ts'
import { hostNamespaceOf } from './marks.ts'
import { createNamespaceReconcile, type NamespaceDeps } from './reconcile.ts'

/** The name of the controller, in metrics and logs. */
export const NAMESPACE_CONTROLLER = 'sync-namespaces'

/** One at a time: a look at what is left in a namespace costs the host a request for each kind. */
export const NAMESPACE_WORKERS = 1

/** The controller; it examines all host namespaces when it starts. */
export function namespaceController(deps: NamespaceDeps): ControllerSpec {
  const { place } = deps
  const { virtual, host } = deps.stores
  const reconcile = createNamespaceReconcile(deps)
  return {
    name: NAMESPACE_CONTROLLER,
    workers: NAMESPACE_WORKERS,
    reconcile: (hostName, context) => reconcile({ hostName, context }),
    objectOf: (hostName) => host.getByKey(hostName),
    reads: [virtual, host],
    watches: [
      onChange(virtual, ({ name }) => [hostNamespaceOf(name, place)]),
      onChange(host),
      (enqueue) => {
        for (const { name } of virtual.values()) enqueue(hostNamespaceOf(name, place), 'resync')
        for (const { name } of host.values()) enqueue(name, 'resync')
      },
    ],
  }
}
