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

/** An entry of a child's scope that no entry of the parent's scope covers. */
interface UncoveredEntry {
  /** Its path, such as `scope.rules[2]`. */
  readonly path: string
  /**
   * A clause about the part that exceeds the parent, such as `its verbs have "delete"`. It quotes at most two names of
   * the child, each cut after 64 characters, and nothing of the parent.
   */
  readonly because: string
}

/**
 * The first entry of a child's scope that no entry of its parent's scope covers; null when all are covered (contract
 * 11.8). A null parent is unrestricted. A null child inherits the parent's scope, so it is always covered.
 *
 * null guarantees that the child grants no request that the parent does not grant. The converse does not hold: an entry
 * that only several entries of the parent cover together counts as not covered. Fails closed: unknown fields and
 * malformed entries are never covered in the child, and cover nothing in the parent.
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

/** Why no entry of the parent covers the child's; reports the gap of the parent's entry that comes closest. */
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

/** Whether one target contains another: a project contains its spaces and virtual clusters (their first name). */
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
