// What the syncer does about a host namespace in multi-namespace mode, and which mappings it refuses (contract 17.5).
import type { HostPlace } from '../objects/host-name.ts'
import { hostNamespaceOf, type NamespaceMark, type VirtualNamespace } from './marks.ts'

/** A namespace of the virtual cluster that leads to a host namespace. */
export interface LeadingNamespace extends VirtualNamespace {
  /** RFC 3339. */
  readonly creationTimestamp: string
  readonly isTerminating: boolean
}

/** The facts about one host namespace. */
export interface NamespaceFacts {
  /** In any order. */
  readonly leading: readonly LeadingNamespace[]
  /** null = it does not exist. */
  readonly host: { readonly mark: NamespaceMark; readonly isTerminating: boolean } | null
  /** Whether the mappings name it exactly, not by a pattern: then the syncer may use a namespace that exists already. */
  readonly isNamed: boolean
  /** Whether it is the syncer's own namespace, which is never the host namespace of a virtual one. */
  readonly isReserved: boolean
}

/**
 * `create`: the syncer makes it for this virtual namespace. `mark`: it exists, and gets the marks of this virtual namespace.
 * `use`: it has them. `end`: its virtual namespace is gone or leads elsewhere, so it is cleared, and deleted if the syncer
 * made it. `wait`: it terminates, or its virtual namespace does. `conflict`: it does not belong to this virtual cluster.
 * `nothing`: it has no marks, and no virtual namespace leads to it.
 */
type NamespacePlan =
  | { readonly kind: 'create' | 'use'; readonly virtual: VirtualNamespace }
  | { readonly kind: 'mark'; readonly virtual: VirtualNamespace; readonly isMade: boolean }
  | { readonly kind: 'end'; readonly virtual: VirtualNamespace; readonly isMade: boolean }
  | { readonly kind: 'wait' | 'conflict' | 'nothing' }

/** A plan of kind `mark`. */
export type PlannedMark = Extract<NamespacePlan, { readonly kind: 'mark' }>

/** A plan of kind `end`. */
export type PlannedEnd = Extract<NamespacePlan, { readonly kind: 'end' }>

/** The plan, and the virtual namespaces that are left out because they do not get the host namespace. */
interface PlannedNamespace {
  readonly plan: NamespacePlan
  /** The virtual namespace that gets the host namespace once that has ended; null = none waits. */
  readonly waiting: VirtualNamespace | null
  readonly leftOut: readonly VirtualNamespace[]
}

/** The plan for one host namespace. Of several virtual namespaces the marked one has it, else the oldest. */
export function planNamespace(facts: NamespaceFacts): PlannedNamespace {
  const living = facts.leading.filter((one) => !one.isTerminating)
  const plan = planOf(facts, living)
  if (plan.kind === 'conflict') return { plan, waiting: null, leftOut: living }
  const owner = 'virtual' in plan ? plan.virtual.name : null
  // While the host namespace is cleared or terminates, one virtual namespace waits for it.
  const others = living.filter(({ name }) => name !== owner)
  const waiting = owner === null || plan.kind === 'end' ? oldest(living) : null
  return { plan, waiting, leftOut: others.filter(({ name }) => name !== waiting?.name) }
}

function planOf(
  { leading, host, isNamed, isReserved }: NamespaceFacts,
  living: readonly LeadingNamespace[],
): NamespacePlan {
  const first = oldest(living)
  if (isReserved) return { kind: first === null ? 'nothing' : 'conflict' }
  if (host === null)
    return first === null ? { kind: 'nothing' } : { kind: 'create', virtual: first }
  if (host.isTerminating) return { kind: 'wait' }
  const { mark } = host
  if (mark.kind !== 'ours') {
    if (first === null) return { kind: 'nothing' }
    if (mark.kind === 'foreign' || !isNamed) return { kind: 'conflict' }
    return { kind: 'mark', virtual: first, isMade: false }
  }
  const { virtual, isMade } = mark
  const owner = leading.find(({ name }) => name === virtual.name)
  if (owner === undefined) return { kind: 'end', virtual: virtual, isMade }
  if (owner.isTerminating) return { kind: 'wait' }
  return owner.uid === virtual.uid
    ? { kind: 'use', virtual: owner }
    : { kind: 'mark', virtual: owner, isMade }
}

/** The first by creation, then by name; null = the list is empty. */
const oldest = (namespaces: readonly LeadingNamespace[]): LeadingNamespace | null =>
  namespaces.toSorted((a, b) => compare(a, b))[0] ?? null

const compare = (a: LeadingNamespace, b: LeadingNamespace): number => {
  const [one, other] = [a, b].map(({ creationTimestamp, name }) => `${creationTimestamp} ${name}`)
  return (one ?? '') < (other ?? '') ? -1 : 1
}

/** Whether the mappings name the host namespace itself. A name that a pattern makes is the tenant's choice. */
export const isMappedNamespace = (hostNamespace: string, { namespaces }: HostPlace): boolean =>
  (namespaces ?? []).some(([, host]) => host === hostNamespace)

/** A sentence for each mapping with which the syncer must not start. */
export function mappingFaults(
  virtual: readonly LeadingNamespace[],
  hosts: ReadonlyMap<string, NamespaceFacts['host']>,
  place: HostPlace,
): readonly string[] {
  const reserved = (place.namespaces ?? [])
    .filter(([, host]) => host === place.hostNamespace)
    .map(([name]) => `${name} is mapped to ${place.hostNamespace}, which is the syncer's own`)
  const living = virtual.filter(({ isTerminating }) => !isTerminating)
  const byHost = Map.groupBy(living, ({ name }) => hostNamespaceOf(name, place))
  const others = [...byHost].flatMap(([hostName, leading]) => {
    const names = leading.map(({ name }) => name).toSorted()
    const isReserved = hostName === place.hostNamespace
    if (isReserved && isMappedNamespace(hostName, place)) return []
    const isNamed = isMappedNamespace(hostName, place)
    const host = hosts.get(hostName) ?? null
    const { kind } = planOf({ leading, host, isNamed, isReserved }, leading)
    const several =
      leading.length > 1
        ? [`${names.join(' and ')} lead to one namespace of the host, ${hostName}`]
        : []
    const foreign =
      kind === 'conflict'
        ? [`${names.join(' and ')} leads to ${hostName} on the host, which is not its own`]
        : []
    return [...several, ...foreign]
  })
  return [...reserved, ...others]
}
