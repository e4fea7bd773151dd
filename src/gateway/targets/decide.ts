// Which targets the Secrets define together (contract 9.5). Pure.
import { type TargetAccess, type TargetDefinition, targetKey } from './definition.ts'
import type { ConnectedTarget } from './registry.ts'

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
