// Merges layers of settings. Maps merge, lists and single values replace (contract 6.2), so each value comes from one
// source: the highest layer that has a value at its path.

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

/** The settings of one source. */
export interface SettingsLayer {
  readonly source: SettingSource
  readonly settings: JsonMap
}

/** Merges settings; the first map takes precedence. */
export const mergeSettings = (...maps: readonly JsonMap[]): JsonMap =>
  maps.reduceRight(mergeMaps, {})

function mergeMaps(lower: JsonMap, higher: JsonMap): JsonMap {
  const names = new Set([...Object.keys(lower), ...Object.keys(higher)])
  return mapFromEntries(
    [...names].map((name) => [name, mergeValues(ownValue(higher, name), ownValue(lower, name))]),
  )
}

function mergeValues(higher: Json | undefined, lower: Json | undefined): Json | undefined {
  if (isMap(higher) && isMap(lower)) return mergeMaps(lower, higher)
  return higher ?? lower
}

/**
 * The source of the value at the path. If no layer has a value there, the source of the nearest outer path with a
 * value; undefined when no layer has any value.
 */
export function sourceOfPath(
  layers: readonly SettingsLayer[],
  path: FieldPath,
): SettingSource | undefined {
  const found = layers.find(({ settings }) => hasValueAt(settings, path))
  if (found || path.length === 0) return found?.source
  return sourceOfPath(layers, path.slice(0, -1))
}

// A list or single value at an outer path replaces everything that lower layers have at this path.
function hasValueAt(settings: JsonMap, path: FieldPath): boolean {
  let value: Json | undefined = settings
  for (const step of path) {
    if (!isMap(value)) return true
    value = ownValue(value, String(step))
    if (value === undefined) return false
  }
  return !(isMap(value) && isEmptyMap(value))
}

/** The settings without the values at paths where `others` has a value too. */
export const withoutPathsOf = (settings: JsonMap, others: JsonMap): JsonMap =>
  filterSharedPaths(settings, others, () => false)

/** The settings without the values that `others` has too, at the same path. */
export const withoutEqualValues = (settings: JsonMap, others: JsonMap): JsonMap =>
  filterSharedPaths(settings, others, (value, otherValue) => !sameJson(value, otherValue))

type IsKept = (value: Json, otherValue: Json) => boolean

function filterSharedPaths(map: JsonMap, others: JsonMap, isKept: IsKept): JsonMap {
  return mapFromEntries(
    Object.entries(map).map(([name, value]): [string, Json | undefined] => {
      const otherValue = ownValue(others, name)
      if (otherValue === undefined) return [name, value]
      if (!isMap(value) || !isMap(otherValue))
        return [name, isKept(value, otherValue) ? value : undefined]
      const rest = filterSharedPaths(value, otherValue, isKept)
      return [name, isEmptyMap(rest) ? undefined : rest]
    }),
  )
}

/** Default lifetime of a Login key without a ttl: 20 days, in seconds (contract 2.1). */
export const DEFAULT_LOGIN_TTL_SECONDS = 1_728_000

/** Default prefix of the namespaces of projects. */
export const DEFAULT_NAMESPACE_PREFIX = 'p-'

/**
 * Adds every default that status shows (contract 6.4). Defaults of a provider or button appear only if the provider or
 * button exists; all others always appear.
 */
export function withDefaults(settings: Api.ConfigSettings): Api.ConfigSettings {
  const { auth, apps, audit, secretStore, costControl, imageBuilder, uiSettings } = settings
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
    ...(apps && { apps: withTitles(apps) }),
    ...(uiSettings && { uiSettings: withPositions(uiSettings) }),
    secretStore: withTokenKey({ syncInterval: '1m', ...secretStore }),
    costControl: {
      ...costControl,
      global: { ...costControl?.global, metrics: withRetention(costControl?.global?.metrics) },
      cluster: {
        ...costControl?.cluster,
        metrics: withRetention(costControl?.cluster?.metrics),
        ...(costControl?.cluster?.costEstimator && {
          costEstimator: withRequests(costControl.cluster.costEstimator),
        }),
      },
    },
    ...(imageBuilder && { imageBuilder: withRequests(imageBuilder) }),
  }
}

/** Adds the version of the program, which status shows unless a source sets another (contract 6.4). */
export const withPlatformVersion = (
  settings: Api.ConfigSettings,
  platformVersion: string,
): Api.ConfigSettings => ({
  ...settings,
  uiSettings: { platformVersion, ...settings.uiSettings },
})

// The specification names the scopes of the two providers in this order.
function providersOf({ oidc, idpA, idpB, saml }: Api.Connector = {}): Partial<Api.Connector> {
  return {
    ...(oidc && { oidc: { ...oidc, scopes: scopes(oidc.scopes, ['email', 'profile']) } }),
    ...(idpA && { idpA: { ...idpA, scopes: scopes(idpA.scopes, ['profile', 'email']) } }),
    ...(idpB && { idpB: { tenant: 'common', ...idpB } }),
    ...(saml && { saml: { nameIDPolicyFormat: DEFAULT_NAME_ID_FORMAT, ...saml } }),
  }
}

const scopes = (given: readonly string[] = [], defaults: readonly string[]): readonly string[] =>
  given.length > 0 ? given : defaults

const DEFAULT_NAME_ID_FORMAT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'

const withRetention = (metrics?: Api.CostControlMetrics): Api.CostControlMetrics => ({
  retention: '1y',
  ...withRequests(metrics ?? {}),
})

/** Without requests they equal the limits, as in a Pod. */
function withRequests<T extends { readonly resources?: Api.ComputeResources }>(owner: T): T {
  const { resources } = owner
  if (!resources?.limits || resources.requests) return owner
  return { ...owner, resources: { ...resources, requests: resources.limits } }
}

function withTokenKey(store: Api.SecretStoreSettings): Api.SecretStoreSettings {
  const { auth } = store
  if (!auth?.tokenSecretRef) return store
  return { ...store, auth: { ...auth, tokenSecretRef: { key: 'token', ...auth.tokenSecretRef } } }
}

function withTitles(apps: Api.AppsSettings): Api.AppsSettings {
  if (!apps.predefinedApps) return apps
  return {
    ...apps,
    predefinedApps: apps.predefinedApps.map((app) => ({
      ...(app.chart === undefined
        ? {}
        : { title: app.chart.slice(app.chart.lastIndexOf('/') + 1) }),
      ...app,
    })),
  }
}

function withPositions(ui: Api.UiSettings): Api.UiSettings {
  if (!ui.navBarButtons) return ui
  return {
    ...ui,
    navBarButtons: ui.navBarButtons.map((button) => ({ position: 'BottomEnd', ...button })),
  }
}
