// The controller of host namespaces in multi-namespace mode (contract 17.5). A key is the name of a host namespace.
import { NAMESPACES } from '../../api/names.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import type { KubeClient, PatchOperation } from '../../kube/client/client.ts'
import type { NamespaceContent } from '../../kube/client/namespace-content.ts'
import { type ControllerSpec, onChange } from '../../kube/controller/builder.ts'
import { done, type Outcome } from '../../kube/controller/outcome.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { HostPlace } from '../objects/host-name.ts'
import {
  hostNamespaceOf,
  namespaceMarks,
  type VirtualNamespace,
  withNamespaceMarks,
} from './marks.ts'
import { keptNote, type NamespacePlan, planNamespace } from './plan.ts'
import { deleteOwnObjects, restOf } from './remaining-content.ts'
import type { NamespaceReport, ReconciledNamespace } from './report.ts'
import { type HostNamespaceObject, type NamespaceStores, namespaceFacts } from './sources.ts'

/** The name of the controller, in metrics and logs. */
export const NAMESPACE_CONTROLLER = 'sync-namespaces'

/** Why host namespaces are written, for metrics. */
export const NAMESPACE_WRITE_REASONS = ['create', 'mark', 'unmark', 'delete'] as const

/** One at a time: a look at what is left in a namespace costs the host a request for each kind. */
export const NAMESPACE_WORKERS = 1

/** Dependencies of the controller. */
interface NamespaceDeps {
  readonly place: HostPlace
  readonly clients: { readonly virtual: KubeClient; readonly host: KubeClient }
  readonly stores: NamespaceStores
  /** Reads the content of host namespaces. */
  readonly content: NamespaceContent
  readonly report: NamespaceReport
  readonly clock: Clock
}

/** The controller; it examines all host namespaces when it starts. */
export function namespaceController(deps: NamespaceDeps): ControllerSpec {
  const { virtual, host } = deps.stores
  return {
    name: NAMESPACE_CONTROLLER,
    workers: NAMESPACE_WORKERS,
    reconcile: async (hostName, context) => {
      const reconciled = { hostName, context }
      const outcome = await reconcile(reconciled, deps)
      deps.report.inStep(reconciled)
      return outcome
    },
    objectOf: (name) => host.getByKey(name),
    reads: [virtual, host],
    watches: [
      onChange(virtual, ({ name }) => [hostNamespaceOf(name, deps.place)]),
      onChange(host),
      (enqueue) => {
        for (const { name } of virtual.values())
          enqueue(hostNamespaceOf(name, deps.place), 'resync')
        for (const { name } of host.values()) enqueue(name, 'resync')
      },
    ],
  }
}

async function reconcile(reconciled: ReconciledNamespace, deps: NamespaceDeps): Promise<Outcome> {
  const { hostName } = reconciled
  const { stores, report } = deps
  const host = stores.host.getByKey(hostName) ?? null
  const { plan, waiting, leftOut } = planNamespace(namespaceFacts(hostName, stores, deps.place))
  for (const one of leftOut) report.taken(reconciled, one)
  switch (plan.kind) {
    case 'nothing':
    case 'use':
    case 'wait':
    case 'conflict':
      return done
    case 'create':
      return report.refusalReported(reconciled, plan.virtual, () =>
        create(hostName, plan.virtual, deps),
      )
    case 'mark':
      if (host === null) return done
      return report.refusalReported(reconciled, plan.virtual, () => mark(host, plan, deps))
    case 'end':
      return host === null ? done : end(host, { ...plan, waiting, reconciled }, deps)
    default:
      return plan satisfies never
  }
}

async function create(
  name: string,
  virtual: VirtualNamespace,
  { clients, place }: NamespaceDeps,
): Promise<Outcome> {
  const metadata = { name, ...namespaceMarks(virtual, true, place) }
  const { version: apiVersion, kind } = NAMESPACES
  await clients.host.create(NAMESPACES, { apiVersion, kind, metadata }, 'create')
  return done
}

type Planned<Kind extends NamespacePlan['kind']> = Extract<NamespacePlan, { readonly kind: Kind }>

const mark = (
  host: HostNamespaceObject,
  { virtual, isMade }: Planned<'mark'>,
  deps: NamespaceDeps,
): Promise<Outcome> => setMarks(host, namespaceMarks(virtual, isMade, deps.place), deps)

/** Replaces the marks; what others have set in labels and annotations stays. @param marks null = it gets none */
async function setMarks(
  { name, resourceVersion }: HostNamespaceObject,
  marks: Parameters<typeof withNamespaceMarks>[1],
  { clients }: NamespaceDeps,
): Promise<Outcome> {
  const found = await clients.host.get(NAMESPACES, { name })
  // An event of the change queues the key again.
  if (found === null || found.metadata.resourceVersion !== resourceVersion) return done
  const { labels, annotations } = withNamespaceMarks(found.metadata as unknown as JsonMap, marks)
  const operations: readonly PatchOperation[] = [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'add', path: '/metadata/labels', value: labels },
    { op: 'add', path: '/metadata/annotations', value: annotations },
  ]
  await clients.host.patch(NAMESPACES, { name }, operations, marks === null ? 'unmark' : 'mark')
  return done
}

const RECHECK_MS = { clearing: 1000, kept: 300_000 }

/** The end of a host namespace, as planned. */
interface EndedNamespace extends Planned<'end'> {
  /** As in the plan. */
  readonly waiting: VirtualNamespace | null
  readonly reconciled: ReconciledNamespace
}

/** Clears a host namespace of our objects, and deletes it if the syncer made it and nothing else is left in it. */
async function end(
  host: HostNamespaceObject,
  { virtual, isMade, waiting, reconciled }: EndedNamespace,
  deps: NamespaceDeps,
): Promise<Outcome> {
  const { clients, clock, content, report } = deps
  const recheckAfter = (ms: number): Outcome => ({ result: 'later', atMs: clock.nowMs() + ms })
  if (await stillLeadsTo(host, virtual, deps)) return recheckAfter(RECHECK_MS.clearing)

  const reported = <T>(act: () => Promise<T>): Promise<T> =>
    report.refusalReported(reconciled, virtual, act)
  const own = await reported(() =>
    deleteOwnObjects({ hostName: host.name, virtualName: virtual.name }, deps),
  )
  if (own.kind === 'clearing') return recheckAfter(RECHECK_MS.clearing)
  const rest = own.kind === 'unknown' ? own : isMade ? await restOf(host.name, content) : null
  if (rest?.kind === 'nothing') {
    const { name, uid, resourceVersion } = host
    await reported(() =>
      clients.host.delete(NAMESPACES, { name }, { uid, resourceVersion }, 'delete'),
    )
    return done
  }
  // Without its marks it is not reconciled again: until they are gone, each try would report that it stays.
  if (rest === null) await reported(() => setMarks(host, null, deps))
  report.kept(reconciled, virtual, keptNote(host.name, rest))
  if (rest === null) return done
  // Its marks keep naming the other namespace, perhaps for ever.
  if (waiting !== null) report.taken(reconciled, waiting)
  return recheckAfter(RECHECK_MS.kept)
}

/** Asks the virtual cluster itself: what follows from a namespace that seems to be gone can't be undone. */
async function stillLeadsTo(
  host: HostNamespaceObject,
  virtual: VirtualNamespace,
  { clients, place }: NamespaceDeps,
): Promise<boolean> {
  const isGone = (await clients.virtual.get(NAMESPACES, { name: virtual.name })) === null
  return !isGone && hostNamespaceOf(virtual.name, place) === host.name
}
