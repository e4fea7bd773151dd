// The kinds that the syncer syncs, by their keys in the configuration (contract 16.1). kinds/translators.ts has the rules
// of each.
import { CONFIG_MAPS, ENDPOINTS, type Resource, SECRETS, SERVICES } from '../../api/names.ts'

/** A kind that the syncer syncs. */
interface KindRow {
  readonly resource: Resource
  /** Whether only the objects that references name are synced, unless the configuration says `all`. */
  readonly isByReference: boolean
  /** Paths of the fields that flow from host to virtual (contract 18.5). */
  readonly backFlows: readonly string[]
}

const METADATA_FLOWS = ['metadata.labels', 'metadata.annotations']
const SERVICE_FLOWS = [...METADATA_FLOWS, 'spec.ports[*].nodePort', 'status.loadBalancer']

// biome-ignore format: a table
const ROWS = {
  endpoints:  { resource: ENDPOINTS,   isByReference: false, backFlows: METADATA_FLOWS },
  services:   { resource: SERVICES,    isByReference: false, backFlows: SERVICE_FLOWS },
  secrets:    { resource: SECRETS,     isByReference: true,  backFlows: METADATA_FLOWS },
  configMaps: { resource: CONFIG_MAPS, isByReference: true,  backFlows: METADATA_FLOWS },
} as const satisfies Readonly<Record<string, KindRow>>

/** The key of a synced kind below `sync.toHost`. */
export type SyncedKind = keyof typeof ROWS

/** The synced kinds, by their keys below `sync.toHost`. */
export const KINDS: Readonly<Record<SyncedKind, KindRow>> = ROWS

/** The keys of KINDS. */
export const SYNCED_KINDS = Object.keys(KINDS) as readonly SyncedKind[]

/** A value for each synced kind. */
export const forEachKind = <T>(valueOf: (kind: SyncedKind) => T): Readonly<Record<SyncedKind, T>> =>
  Object.fromEntries(SYNCED_KINDS.map((kind) => [kind, valueOf(kind)])) as Readonly<
    Record<SyncedKind, T>
  >

/** The resources of the synced kinds. */
export const SYNCED_RESOURCES = forEachKind((kind) => KINDS[kind].resource)

/** The synced kind of a kind as in manifests; null = it is not synced. */
export const syncedKindOf = (kind: string): SyncedKind | null =>
  SYNCED_KINDS.find((one) => KINDS[one].resource.kind === kind) ?? null
