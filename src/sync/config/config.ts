// The part of a virtual cluster's configuration file that endpoint sync uses (contract 16.1, 16.2).
import { nestedMap } from '../../domain/json/field-path.ts'
import {
  isList,
  isMap,
  type Json,
  type JsonMap,
  mapFromEntries,
  ownValue,
} from '../../domain/json/json.ts'
import type { NamespaceMappings } from '../objects/host-name.ts'
import { forEachKind, KINDS, SYNCED_KINDS, type SyncedKind } from '../objects/synced-kinds.ts'
import { idlePatches } from '../patches/idle-patches.ts'
import { mistypedPatches } from '../patches/mistyped-patches.ts'
import { checkPatches, type Patch } from '../patches/parse.ts'
import { slipOf, slipsIn } from './misspellings.ts'

/** How one kind is synced. */
interface KindConfig {
  readonly enabled: boolean
  /** All objects, not only those that a reference patch names. */
  readonly all: boolean
  readonly patches: readonly Patch[]
}

/** The settings of endpoint sync. */
export interface SyncConfig {
  readonly kinds: Readonly<Record<SyncedKind, KindConfig>>
  /** The mappings of multi-namespace mode (contract 17.5); null = single-namespace mode. */
  readonly namespaces: NamespaceMappings | null
  /** The whole file with the defaults of the keys above: `context.virtualCluster.config` (contract 19.4). */
  readonly withDefaults: JsonMap
}

/** A sentence about a part of the configuration that has no effect, with the reason of its Event. */
export interface ConfigWarning {
  readonly reason: 'PatchesNotServed' | 'ReverseNotServed'
  readonly text: string
}

/** The settings, or null with faults; a sentence for each. Warnings stop nothing. */
export interface CheckedConfig {
  readonly config: SyncConfig | null
  readonly faults: readonly string[]
  readonly warnings: readonly ConfigWarning[]
}

/** The keys below `sync.toHost.<kind>`. */
const keysOf = (kind: SyncedKind): readonly string[] =>
  KINDS[kind].isByReference ? ['enabled', 'all', 'patches'] : ['enabled', 'patches']

/** The keys that the syncer reads below `sync.toHost`. */
const TO_HOST_KEYS: readonly string[] = [...SYNCED_KINDS, 'namespaces']

/** Checks the parsed configuration file of a virtual cluster. Keys of others are left alone. */
export function checkSyncConfig(file: unknown): CheckedConfig {
  const faults: string[] = []
  const warnings: string[] = []
  const unservedReverses: string[] = []
  const root = mapAt(file as Json, 'the configuration', faults)
  const sync = mapAt(ownValue(root, 'sync'), 'sync', faults)
  const toHost = mapAt(ownValue(sync, 'toHost'), 'sync.toHost', faults)
  warnings.push(
    ...slipsIn(Object.keys(root), ['sync'], ''),
    ...slipsIn(Object.keys(sync), ['toHost'], 'sync.'),
    ...slipsIn(Object.keys(toHost), TO_HOST_KEYS, 'sync.toHost.'),
  )
  const kinds = forEachKind((kind) =>
    kindConfig(toHost, kind, { faults, warnings, unservedReverses }),
  )
  if (kinds.services.enabled && !kinds.endpoints.enabled)
    faults.push('sync.toHost.services requires sync.toHost.endpoints')
  warnings.push(...unservedPatches(toHost))
  const namespaces = namespacesOf(toHost, faults, warnings)
  warnings.push(
    ...SYNCED_KINDS.flatMap((kind) => [
      ...idlePatches(kind, kinds[kind].patches, namespaces),
      ...mistypedPatches(kind, kinds[kind].patches),
    ]),
  )
  const allWarnings: readonly ConfigWarning[] = [
    ...warnings.map((text) => ({ reason: 'PatchesNotServed' as const, text })),
    ...unservedReverses.map((text) => ({ reason: 'ReverseNotServed' as const, text })),
  ]
  if (faults.length > 0) return { config: null, faults, warnings: allWarnings }
  const defaults = mapFromEntries(
    SYNCED_KINDS.map((kind) => {
      const { enabled, all } = kinds[kind]
      const given = nestedMap(toHost, [kind])
      return [kind, { ...given, enabled, ...(KINDS[kind].isByReference ? { all } : {}) }]
    }),
  )
  const mode = { ...nestedMap(toHost, ['namespaces']), enabled: namespaces !== null }
  const withDefaults = {
    ...root,
    sync: { ...sync, toHost: { ...toHost, ...defaults, namespaces: mode } },
  }
  return { config: { kinds, namespaces, withDefaults }, faults, warnings: allWarnings }
}

/** Sentences about the configuration, as they are found. */
interface Findings {
  readonly faults: string[]
  readonly warnings: string[]
  readonly unservedReverses: string[]
}

function kindConfig(toHost: JsonMap, kind: SyncedKind, findings: Findings): KindConfig {
  const { faults } = findings
  const at = `sync.toHost.${kind}`
  const map = mapAt(ownValue(toHost, kind), at, faults)
  const known = keysOf(kind)
  findings.warnings.push(...unknownKeys(map, known, at))
  const checked = checkPatches(ownValue(map, 'patches'), `${at}.patches`, KINDS[kind].backFlows)
  faults.push(...checked.faults)
  findings.unservedReverses.push(...checked.unservedReverses)
  return {
    enabled: booleanAt(map, 'enabled', at, true, faults),
    all: KINDS[kind].isByReference && booleanAt(map, 'all', at, false, faults),
    patches: checked.patches,
  }
}

const unknownKeys = (map: JsonMap, known: readonly string[], at: string): readonly string[] =>
  Object.keys(map)
    .filter((name) => !known.includes(name))
    .map(
      (name) =>
        `${at} has no key ${JSON.stringify(name)} for this syncer, it knows ${known.join(', ')}`,
    )

function mapAt(value: Json | undefined, at: string, faults: string[]): JsonMap {
  if (value === undefined || value === null) return {}
  if (isMap(value)) return value
  faults.push(`${at} must be an object`)
  return {}
}

function booleanAt(
  map: JsonMap,
  name: string,
  at: string,
  fallback: boolean,
  faults: string[],
): boolean {
  const value = ownValue(map, name) ?? null
  if (value === null) return fallback
  if (typeof value === 'boolean') return value
  faults.push(`${at}.${name} must be true or false`)
  return fallback
}

/** Patches of kinds that this syncer does not sync (contract 16.2). */
const unservedPatches = (toHost: JsonMap): readonly string[] =>
  Object.entries(toHost).flatMap(([name, value]) => {
    if (TO_HOST_KEYS.includes(name) || slipOf(name, TO_HOST_KEYS) !== null || !isMap(value))
      return []
    const patches = ownValue(value, 'patches')
    if (!isList(patches) || patches.length === 0) return []
    return [
      `sync.toHost.${name}.patches is not served: this syncer syncs ${SYNCED_KINDS.join(', ')}`,
    ]
  })

const NAMESPACE = /^[a-z0-9*](?:[-a-z0-9*]{0,61}[a-z0-9*])?$/

/** null in single-namespace mode. */
function namespacesOf(
  toHost: JsonMap,
  faults: string[],
  warnings: string[],
): NamespaceMappings | null {
  const at = 'sync.toHost.namespaces'
  const map = mapAt(ownValue(toHost, 'namespaces'), at, faults)
  const mappings = mapAt(ownValue(map, 'mappings'), `${at}.mappings`, faults)
  warnings.push(
    ...unknownKeys(map, ['enabled', 'mappings'], at),
    ...unknownKeys(mappings, ['byName'], `${at}.mappings`),
  )
  const byName = mapAt(ownValue(mappings, 'byName'), `${at}.mappings.byName`, faults)
  const pairs = Object.entries(byName).flatMap(([virtual, host]) => {
    const where = `${at}.mappings.byName[${JSON.stringify(virtual)}]`
    const stars = (text: string): number => text.split('*').length - 1
    if (typeof host !== 'string' || !NAMESPACE.test(host) || !NAMESPACE.test(virtual)) {
      faults.push(`${where} must map a namespace, or a pattern with one *, to another`)
      return []
    }
    if (stars(virtual) > 1 || stars(virtual) !== stars(host)) {
      faults.push(`${where} needs one * on both sides, or none`)
      return []
    }
    return [[virtual, host] as const]
  })
  for (const [index, [virtual, host]] of pairs.entries()) {
    const other = pairs.slice(0, index).find((one) => one[1] === host)
    if (other)
      faults.push(
        `${at}.mappings.byName leads ${other[0]} and ${virtual} to one namespace, ${host}`,
      )
  }
  return booleanAt(map, 'enabled', at, false, faults) ? pairs : null
}
