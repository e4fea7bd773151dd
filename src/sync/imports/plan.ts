// The next step for one name of the virtual cluster: copy a host object, update the copy or delete it (contract 19.5).
import { type JsonMap, sameJson } from '../../domain/json/json.ts'
import { importedCopy, isEnding, isImportable, isUnchangedImport } from '../kinds/imported-copy.ts'
import { TRANSLATORS } from '../kinds/translators.ts'
import { isSkipped } from '../objects/host-metadata.ts'
import type { VirtualName } from '../objects/host-name.ts'
import type { SyncedKind } from '../objects/synced-kinds.ts'

/** The facts about a name to which references lead, or led. */
interface ImportFacts {
  readonly kind: SyncedKind
  /** The name in the virtual cluster. */
  readonly name: VirtualName
  readonly virtualCluster: string
  readonly isReferenced: boolean
  /** null = it does not exist. */
  readonly virtual: JsonMap | null
  /** The host object that importSourceOf names; null = it does not exist. */
  readonly host: JsonMap | null
}

/** What to do about the copy. A copy that can't become the host object by an update is deleted first. */
export type ImportPlan =
  | { readonly step: 'create' | 'update'; readonly object: JsonMap }
  | { readonly step: 'delete' }
  | { readonly step: 'nothing' }

const NOTHING: ImportPlan = { step: 'nothing' }

/** The plan for one name. An object that a user of the virtual cluster wrote or changed stays as it is. */
export function planImport(facts: ImportFacts): ImportPlan {
  const { kind, name, virtual, isReferenced } = facts
  const source =
    facts.host !== null && isImportable(facts.host, facts.virtualCluster) ? facts.host : null
  if (virtual === null) {
    if (!isReferenced || source === null) return NOTHING
    return { step: 'create', object: importedCopy(kind, { metadata: { ...name } }, source) }
  }
  if (isEnding(virtual) || isSkipped(virtual) || !isUnchangedImport(kind, virtual)) return NOTHING
  if (!isReferenced || source === null) return { step: 'delete' }
  const object = importedCopy(kind, virtual, source)
  if (sameJson(object, virtual)) return NOTHING
  const isRefused = TRANSLATORS[kind].needsRecreation(object, virtual)
  return isRefused ? { step: 'delete' } : { step: 'update', object }
}
