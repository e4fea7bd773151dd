// The target that a Secret defines, and the targets that all Secrets define together (contract 9.5). Pure; messages quote
// no value of a Secret.
import { TARGET_LABEL } from '../../api/names.ts'
import type { Secret } from '../../api/objects.ts'
import { TARGET_NAME_FORM, isDnsLabel, isTargetName } from '../../domain/dns-name.ts'
import { parseKubeconfigValue } from '../../kube/client/kubeconfig-value.ts'
import type { ConnectedTarget } from './resolver.ts'

/** The values of TARGET_LABEL: the kinds of targets that a Secret can define. */
export const CONNECTED_KINDS = ['cluster', 'virtualcluster', 'space'] as const

/** One of CONNECTED_KINDS. */
export type ConnectedKind = (typeof CONNECTED_KINDS)[number]

/** How requests reach a target: by a kubeconfig, or by that of the cluster that a space is in. */
type TargetAccess =
  | { readonly kind: 'kubeconfig'; readonly text: string }
  | { readonly kind: 'space'; readonly cluster: string; readonly namespace: string }

/**
 * The definition in a Secret. `because` lists its faults in one clause; `target` is null where the Secret does not even
 * say which target it is about.
 */
type TargetDefinition =
  | { readonly kind: 'valid'; readonly target: ConnectedTarget; readonly access: TargetAccess }
  | {
      readonly kind: 'invalid'
      readonly target: ConnectedTarget | null
      readonly because: string
    }

/** The data of such a Secret, decoded; a missing field is absent. */
export type TargetData = { readonly [field in TargetField]?: string }

/** The fields of such a Secret. */
const FIELDS = ['name', 'project', 'kubeconfig', 'cluster', 'namespace'] as const
type TargetField = (typeof FIELDS)[number]

/** The fields that each kind has, which are all required; any other of FIELDS is a fault. */
const FIELDS_OF: Readonly<Record<ConnectedKind, readonly TargetField[]>> = {
  cluster: ['name', 'kubeconfig'],
  virtualcluster: ['name', 'project', 'kubeconfig'],
  space: ['name', 'project', 'cluster', 'namespace'],
}

const nameFault = (text: string): string | null =>
  isTargetName(text) ? null : `must be ${TARGET_NAME_FORM}`

/** The fault of each field's value, as the end of a clause that begins with its name. */
const FAULT_OF: Readonly<Record<TargetField, (text: string) => string | null>> = {
  name: nameFault,
  project: nameFault,
  cluster: nameFault,
  namespace: (text) => (isDnsLabel(text) ? null : 'must be the name of a namespace'),
  kubeconfig: (text) => {
    try {
      parseKubeconfigValue(text)
      return null
    } catch (error) {
      // Its errors name fields and quote nothing.
      return error instanceof Error ? error.message : 'is unreadable'
    }
  },
}

/**
 * Reads a Secret. Never throws.
 *
 * @param isDirect whether a direct endpoint reads it: its spaces are in its own cluster, whatever `cluster` says, and it
 * serves no other cluster (contract 9.7)
 */
export function definitionOf({ metadata, data = {} }: Secret, isDirect: boolean): TargetDefinition {
  const kind = CONNECTED_KINDS.find((one) => one === metadata.labels?.[TARGET_LABEL])
  if (kind === undefined)
    return invalid(null, [`label ${TARGET_LABEL} must be one of ${CONNECTED_KINDS.join(', ')}`])
  const read = FIELDS.flatMap((field) => {
    const encoded = Object.hasOwn(data, field) ? data[field] : undefined
    return encoded === undefined ? [] : [[field, decoded(encoded)] as const]
  })
  const binary = read.filter(([, text]) => text === null).map(([field]) => field)
  if (binary.length > 0) return invalid(null, [`${binary.join(' and ')} must be UTF-8`])
  const given = Object.fromEntries(read) as TargetData
  if (!isDirect) return definitionFrom(kind, given)
  if (kind === 'cluster')
    return invalid(targetOf(kind, given), ['a direct endpoint serves no other cluster'])
  return definitionFrom(kind, kind === 'space' ? { ...given, cluster: IGNORED_CLUSTER } : given)
}

/** Any name: a direct endpoint looks for no cluster. */
const IGNORED_CLUSTER = 'own'

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of base64; null where it is not UTF-8. */
function decoded(base64: string): string | null {
  try {
    return UTF8.decode(Buffer.from(base64, 'base64'))
  } catch {
    return null
  }
}

/** The definition of a target by its kind and data. */
export function definitionFrom(kind: ConnectedKind, data: TargetData): TargetDefinition {
  const faults = FIELDS.flatMap((field) => {
    const text = data[field]
    const isOfKind = FIELDS_OF[kind].includes(field)
    if (text === undefined) return isOfKind ? [`${field} is missing`] : []
    if (!isOfKind) return [`${field} is not for a ${kind}`]
    const fault = FAULT_OF[field](text)
    // A fault of the kubeconfig has it as its subject.
    return fault === null ? [] : [field === 'kubeconfig' ? fault : `${field} ${fault}`]
  })
  const target = targetOf(kind, data)
  return target === null || faults.length > 0
    ? invalid(target, faults)
    : { kind: 'valid', target, access: accessOf(kind, data) }
}

const invalid = (target: ConnectedTarget | null, faults: readonly string[]): TargetDefinition => ({
  kind: 'invalid',
  target,
  because: faults.join('; '),
})

/** The target that the data name; null where its name or project is missing or malformed. */
function targetOf(kind: ConnectedKind, { name = '', project = '' }: TargetData) {
  if (!isTargetName(name)) return null
  if (kind === 'cluster') return { kind: 'Cluster', cluster: name } as const
  if (!isTargetName(project)) return null
  return kind === 'space'
    ? ({ kind: 'ProjectSpace', project, space: name } as const)
    : ({ kind: 'ProjectVirtualCluster', project, virtualCluster: name } as const)
}

function accessOf(
  kind: ConnectedKind,
  { kubeconfig = '', cluster = '', namespace = '' }: TargetData,
): TargetAccess {
  if (kind === 'space') return { kind: 'space', cluster, namespace }
  return { kind: 'kubeconfig', text: kubeconfig }
}

/** The fields by which a Secret names its target; the project of a cluster is empty. */
export interface TargetWords {
  readonly kind: ConnectedKind
  readonly project: string
  readonly name: string
}

/** The fields by which the Secret of a target names it. */
export function wordsOf(target: ConnectedTarget): TargetWords {
  if (target.kind === 'Cluster') return { kind: 'cluster', project: '', name: target.cluster }
  const { project } = target
  return target.kind === 'ProjectSpace'
    ? { kind: 'space', project, name: target.space }
    : { kind: 'virtualcluster', project, name: target.virtualCluster }
}

/** A text that differs between any two targets, whatever their names. */
export function targetKey(target: ConnectedTarget): string {
  const { kind, project, name } = wordsOf(target)
  return JSON.stringify([kind, project, name])
}

/** A Secret of the target namespace, as it was last read. */
export interface TargetSecret {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly definition: TargetDefinition
}

/** A target that Secrets name. `because`: a clause that names the fault. */
export type NamedTarget = {
  readonly target: ConnectedTarget
  /** In the order of their names; several for a conflict only. */
  readonly secrets: readonly TargetSecret[]
} & (
  | { readonly kind: 'valid'; readonly access: TargetAccess }
  | { readonly kind: 'invalid' | 'conflict'; readonly because: string }
)

/** All that Secrets name, by targetKey; a Secret that names no target defines none. */
export function decideTargets(secrets: Iterable<TargetSecret>): ReadonlyMap<string, NamedTarget> {
  const bySecretName = [...secrets].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const byTarget = new Map<string, TargetSecret[]>()
  for (const secret of bySecretName) {
    const { target } = secret.definition
    if (target === null) continue
    const key = targetKey(target)
    byTarget.set(key, [...(byTarget.get(key) ?? []), secret])
  }
  const decided = [...byTarget].flatMap(([key, all]) => {
    const target = all[0]?.definition.target ?? null
    return target === null ? [] : [[key, decideTarget(target, all)] as const]
  })
  return new Map(decided)
}

/** An invalid Secret conflicts as well: which of the two was meant is not known. */
function decideTarget(target: ConnectedTarget, secrets: readonly TargetSecret[]): NamedTarget {
  const [first, ...others] = secrets
  if (!first || others.length > 0)
    return { target, secrets, kind: 'conflict', because: 'several Secrets define it' }
  const { definition } = first
  return definition.kind === 'valid'
    ? { target, secrets, kind: 'valid', access: definition.access }
    : { target, secrets, kind: 'invalid', because: definition.because }
}
