// Layers of settings. Maps merge, lists and single values replace (contract 6.2), so a value has
// one source: the highest layer with a value at its path.

import type * as Api from '../../api/config.gen.ts'
import type { FieldPath } from '../json/field-path.ts'
import {
  type Json,
  type JsonMap,
  isEmptyMap,
  isMap,
  mapFromEntries,
  ownValue,
  sameJson,
} from '../json/json.ts'
import type { SettingSource } from './validation/faults.ts'

/** Settings of one source. */
export interface SettingsLayer {
  readonly source: SettingSource
  readonly settings: JsonMap
}

/** The merged settings; the first map has precedence. */
export const mergeSettings = (...maps: readonly JsonMap[]): JsonMap =>
  maps.reduceRight(mergeMaps, {})

function mergeMaps(below: JsonMap, above: JsonMap): JsonMap {
  const names = new Set([...Object.keys(below), ...Object.keys(above)])
  return mapFromEntries(
    [...names].map((name) => [name, mergeValues(ownValue(above, name), ownValue(below, name))]),
  )
}

function mergeValues(above: Json | undefined, below: Json | undefined): Json | undefined {
  if (isMap(above) && isMap(below)) return mergeMaps(below, above)
  return above ?? below
}

/**
 * The source of the value at the path. Without a value there, the source of the nearest path above it that has one;
 * undefined when no layer has any value.
 */
export function sourceOfPath(
  layers: readonly SettingsLayer[],
  path: FieldPath,
): SettingSource | undefined {
  const found = layers.find(({ settings }) => hasValueAt(settings, path))
  if (found || path.length === 0) return found?.source
  return sourceOfPath(layers, path.slice(0, -1))
}

// A list or single value above the path replaces everything that lower layers have at the path.
function hasValueAt(settings: JsonMap, path: FieldPath): boolean {
  let value: Json | undefined = settings
  for (const step of path) {
    if (!isMap(value)) return true
    value = ownValue(value, String(step))
    if (value === undefined) return false
  }
  return !(isMap(value) && isEmptyMap(value))
}

/** The settings without the values at paths where `taken` has a value. */
export const withoutPathsOf = (settings: JsonMap, taken: JsonMap): JsonMap =>
  keptValues(settings, taken, () => false)

/** The settings without the values that are equal at the same path of `others`. */
export const withoutEqualValues = (settings: JsonMap, others: JsonMap): JsonMap =>
  keptValues(settings, others, (mine, theirs) => !sameJson(mine, theirs))

type IsKept = (mine: Json, theirs: Json) => boolean

function keptValues(map: JsonMap, others: JsonMap, isKept: IsKept): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, mine]): [string, Json | undefined] => {
      const theirs = ownValue(others, name)
      if (theirs === undefined) return [name, mine]
      if (!isMap(mine) || !isMap(theirs)) return [name, isKept(mine, theirs) ? mine : undefined]
      const rest = keptValues(mine, theirs, isKept)
      return [name, isEmptyMap(rest) ? undefined : rest]
    }),
  )
}

/** Default lifetime of a Login key without a ttl: 20 days, in seconds (contract 2.1). */
export const DEFAULT_LOGIN_TTL_SECONDS = 1_728_000

/** Default prefix of the namespaces of projects. */
export const DEFAULT_NAMESPACE_PREFIX = 'p-'

/**
 * The settings with every default that status shows (contract 6.4). Lifetimes, sizes, prefix,
 * interval and retention always appear; defaults of a provider or a button appear when that exists.
 */
export function withDefaults(settings: Api.ConfigSettings): Api.ConfigSettings {
  const { auth, audit, secretStore, costControl, uiSettings } = settings
  return {
    ...settings,
    auth: {
      loginAccessKeyTTLSeconds: DEFAULT_LOGIN_TTL_SECONDS,
      ...auth,
      ...providersOf(auth),
      ...(auth?.connectors && {
        connectors: auth.connectors.map((one) => ({ ...one, ...providersOf(one) })),
      }),
    },
    projectNamespacePrefix: settings.projectNamespacePrefix ?? DEFAULT_NAMESPACE_PREFIX,
    audit: { maxSize: 100, ...audit },
    ...(uiSettings && { uiSettings: withPositions(uiSettings) }),
    secretStore: { syncInterval: '1m', ...secretStore },
    costControl: {
      ...costControl,
      global: { ...costControl?.global, metrics: withRetention(costControl?.global?.metrics) },
      cluster: { ...costControl?.cluster, metrics: withRetention(costControl?.cluster?.metrics) },
    },
  }
}

// The specification names the scopes of the two providers in this order.
function providersOf({ oidc, idpA, idpB }: Api.Connector = {}): Partial<Api.Connector> {
  return {
    ...(oidc && { oidc: { ...oidc, scopes: scopes(oidc.scopes, ['email', 'profile']) } }),
    ...(idpA && { idpA: { ...idpA, scopes: scopes(idpA.scopes, ['profile', 'email']) } }),
    ...(idpB && { idpB: { tenant: 'common', ...idpB } }),
  }
}

const scopes = (given: readonly string[] = [], otherwise: readonly string[]): readonly string[] =>
  given.length > 0 ? given : otherwise

const withRetention = (metrics?: Api.CostControlMetrics): Api.CostControlMetrics => ({
  retention: '1y',
  ...metrics,
})

function withPositions(ui: Api.UiSettings): Api.UiSettings {
  if (!ui.navBarButtons) return ui
  return {
    ...ui,
    navBarButtons: ui.navBarButtons.map((button) => ({ position: 'BottomEnd', ...button })),
  }
}
