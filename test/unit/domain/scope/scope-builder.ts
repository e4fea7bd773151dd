// Scopes of one entry and rules of one field, for tables.
import type { Scope, ScopeRule, ScopeRuleResources } from '../../../../src/api/scope.gen.ts'

/** A scope, an entry or a rule as it may arrive, sound or not; undefined is left out. */
export type Sent = object | null | undefined

export const project = (name: string): Scope => ({ projects: [{ project: name }] })
export const space = (of: string, name: string): Scope => ({
  spaces: [{ project: of, space: name }],
})
export const virtualCluster = (of: string, name: string): Scope => ({
  virtualClusters: [{ project: of, virtualCluster: name }],
})
export const cluster = (name: string): Scope => ({ clusters: [{ cluster: name }] })
export const role = (name: string, limits: object = {}): Scope => ({
  roles: [{ role: name, ...limits }],
})
export const cli: Scope = { allowPlatformCli: true }
/** A scope of these rules. */
export const scopeOf = (...rules: readonly unknown[]): Scope => ({ rules }) as Scope

/** A rule for resources of the core group. */
export const of = (...resources: readonly string[]): ScopeRule => ({ resources: [{ resources }] })
export const ofApps = (...resources: readonly string[]): ScopeRule => ({
  resources: [{ group: 'apps', resources }],
})
/** A rule for resources of every group. */
export const ofEvery = (...resources: readonly string[]): ScopeRule => ({
  resources: [{ group: '*', resources }],
})
export const entries = (...resources: readonly ScopeRuleResources[]): ScopeRule => ({ resources })
/** An entry for these instances of pods. */
export const pods = (...resourceNames: readonly string[]): ScopeRuleResources => ({
  resources: ['pods'],
  resourceNames,
})
/** A rule for these instances, named in the rule. */
export const named = (names: readonly string[], rule: ScopeRule): ScopeRule => ({
  ...rule,
  resourceNames: names,
})
export const verbs = (...list: readonly string[]): ScopeRule => ({ verbs: list })
export const inNamespaces = (...namespaces: readonly string[]): ScopeRule => ({ namespaces })
export const onPaths = (...nonResourceURLs: readonly string[]): ScopeRule => ({ nonResourceURLs })
export const onTargets = (...requestTargets: readonly string[]): ScopeRule => ({ requestTargets })
/** A rule for a virtual cluster by name and namespace. */
export const inVirtual = (name: string, namespace?: string): ScopeRule => ({
  virtualClusters: [{ name, ...(namespace === undefined ? {} : { namespace }) }],
})
