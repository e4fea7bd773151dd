import type { Scope } from '../../api/scope.gen.ts'
import { quoteForMessage } from '../json/json.ts'
import {
  type CoverageGap,
  roleCoverageGap,
  roleText,
  ruleCoverageGap,
  clusterCoverageGap,
} from './covers-rule.ts'
import {
  type ScopeGrant,
  type ScopeEntry,
  type TargetGrant,
  type TargetList,
  scopeEntriesOf,
} from './parse.ts'

/** The first entry of a child's scope that no entry of the parent's covers. */
interface UncoveredEntry {
  /** Its path, such as `scope.rules[2]`. */
  readonly path: string
  /**
   * The part that exceeds the parent, as a clause: `its verbs have "delete"`. Shows at most two names of the child,
   * each cut after 64 characters, and nothing of the parent.
   */
  readonly because: string
}

/**
 * The first entry of a child's scope that no entry of its parent's covers; null when all are covered (contract 11.8).
 * A null parent is unrestricted; a child without a scope inherits its parent's, so it is always covered.
 *
 * Sound, not complete: null means that the child grants no request that the parent does not. An entry that only
 * several entries of the parent cover together counts as not covered. Fails closed: an unknown field or a malformed
 * entry of the child is never covered, and one of the parent covers nothing.
 */
export function firstUncoveredEntry(
  child: Scope | null,
  parent: Scope | null,
): UncoveredEntry | null {
  if (child === null || parent === null) return null
  const parents = scopeEntriesOf(parent).flatMap(({ grant }) =>
    grant.kind === 'malformed' ? [] : [grant],
  )
  for (const { path, grant } of scopeEntriesOf(child)) {
    const because = uncoveredPart(grant, parents)
    if (because !== null) return { path, because }
  }
  return null
}

/** Reports the deepest gap: the one of the parent's entry that covers most of the child's. */
function uncoveredPart(child: ScopeEntry['grant'], parents: readonly ScopeGrant[]): string | null {
  if (child.kind === 'malformed') return child.fault
  let nearest: CoverageGap = { depth: -1, because: grantText(child) }
  for (const parent of parents) {
    const gap = coverageGap(child, parent)
    if (gap === null) return null
    if (gap.depth > nearest.depth) nearest = gap
  }
  return nearest.because
}

function coverageGap(child: ScopeGrant, parent: ScopeGrant): CoverageGap | null {
  if (child.kind === 'role' && parent.kind === 'role') return roleCoverageGap(child, parent)
  if (child.kind === 'rule' && parent.kind === 'rule') return ruleCoverageGap(child, parent)
  if (child.kind === 'rule' && parent.kind === 'target' && parent.list === 'clusters')
    return clusterCoverageGap(child, parent)
  if (child.kind === 'target' && parent.kind === 'target' && isInsideTarget(child, parent))
    return null
  return { depth: -1, because: grantText(child) }
}

/** A project covers its spaces and virtual clusters, whose first name is the project's. */
const isInsideTarget = (child: TargetGrant, parent: TargetGrant): boolean =>
  (child.list === parent.list || (parent.list === 'projects' && child.list !== 'clusters')) &&
  parent.names.every((name, at) => name === '*' || name === child.names[at])

function grantText(grant: ScopeGrant): string {
  if (grant.kind === 'role') return roleText(grant)
  if (grant.kind === 'rule') return 'no rule or cluster covers anything of it'
  return `${SINGULAR[grant.list]} ${quoteForMessage(grant.names.join('/'))}`
}

const SINGULAR: Readonly<Record<TargetList, string>> = {
  projects: 'project',
  spaces: 'space',
  virtualClusters: 'virtual cluster',
  clusters: 'cluster',
}
