// The audit policy: which requests are recorded, and how much of each (contract 21.1, 21.2). Rules match as in the audit policy
// of Kubernetes, and by target besides.
import type {
  AuditPolicyResources,
  AuditPolicyRule,
  AuditPolicy as AuditPolicySettings,
  AuditSettings,
} from '../../api/config.gen.ts'
import {
  type NonResourceRequestInfo,
  type RequestTarget,
  type ResourceRequestInfo,
  resourceWithSubresource,
} from '../scope/request-info.ts'
import { type AllowedValues, allowedValues } from '../scope/rule.ts'
import { policyOfLevel } from './levels.ts'

/** How much of a request is recorded, from nothing to its bodies; each includes those before it. */
export const AUDIT_LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const

/** One of AUDIT_LEVELS. */
export type AuditLevel = (typeof AUDIT_LEVELS)[number]

/** The moments of a request that have an event of their own. */
export const AUDIT_STAGES = [
  'RequestReceived',
  'ResponseStarted',
  'ResponseComplete',
  'Panic',
] as const

/** One of AUDIT_STAGES. */
export type AuditStage = (typeof AUDIT_STAGES)[number]

/** A request as policies judge it; null = it names no target, or none that can be read. */
export type AuditedRequest = (
  | Omit<ResourceRequestInfo, 'target'>
  | Omit<NonResourceRequestInfo, 'target'>
) & { readonly target: RequestTarget | null }

/** Who makes a request, as the event names them (contract 21.3). */
export interface AuditedUser {
  readonly username: string
  readonly groups: readonly string[]
}

/** What is recorded of a request. */
export interface AuditDecision {
  readonly level: AuditLevel
  /** The stages without an event. */
  readonly omitStages: ReadonlySet<string>
}

/** The decision on a request that is not recorded. */
export const NOTHING_RECORDED: AuditDecision = { level: 'None', omitStages: new Set() }

/** A policy in force. */
export interface AuditPolicy {
  readonly rules: readonly CompiledRule[]
  /** The policy's own, for a request that no rule matches. */
  readonly omitStages: ReadonlySet<string>
}

/** A rule; null = no limit. */
interface CompiledRule extends AuditDecision {
  readonly users: AllowedValues
  readonly groups: AllowedValues
  readonly verbs: AllowedValues
  readonly namespaces: AllowedValues
  readonly resources: readonly CompiledResources[] | null
  readonly paths: readonly string[] | null
  readonly targets: AllowedValues
  readonly clusters: AllowedValues
}

/** Resources of one API group, or of every group, with their instances; null = any. */
interface CompiledResources {
  readonly group: string | null
  readonly patterns: AllowedValues
  readonly names: AllowedValues
}

/**
 * The policy of settings that are valid (contract 6.5).
 *
 * @returns null when nothing is recorded: audit is off, or there is no rule
 */
export function auditPolicyOf(settings: AuditSettings | undefined): AuditPolicy | null {
  if (settings?.enabled !== true) return null
  const { level = 0, policy = {} } = settings
  const { rules = [], omitStages = [] }: AuditPolicySettings =
    level === 0 ? policy : policyOfLevel(level)
  if (rules.length === 0) return null
  return {
    rules: rules.map((rule) => compiled(rule, omitStages)),
    omitStages: new Set(omitStages),
  }
}

/** The level and stages of a request: the first rule that matches decides; without one, the level is None. */
export function decideAudit(
  { rules, omitStages }: AuditPolicy,
  request: AuditedRequest,
  user: AuditedUser,
): AuditDecision {
  return rules.find((rule) => matches(rule, request, user)) ?? { level: 'None', omitStages }
}

function compiled(rule: AuditPolicyRule, omitStages: readonly string[]): CompiledRule {
  const { resources = [], nonResourceURLs = [] } = rule
  return {
    level: AUDIT_LEVELS.find((level) => level === rule.level) ?? 'None',
    omitStages: new Set([...omitStages, ...(rule.omitStages ?? [])]),
    users: allowedValues(rule.users),
    groups: allowedValues(rule.userGroups),
    verbs: allowedValues(rule.verbs),
    namespaces: allowedValues(rule.namespaces),
    resources: resources.length === 0 ? null : resources.map(compiledResources),
    paths: nonResourceURLs.length === 0 ? null : nonResourceURLs,
    targets: allowedValues(rule.requestTargets?.map((name) => TARGET_WORDS[name] ?? name)),
    clusters: allowedValues(rule.clusters),
  }
}

/** The specification's words for kinds of targets that scopes name otherwise. `VCluster` has no route here. */
const TARGET_WORDS: Readonly<Record<string, string>> = {
  ProjectVCluster: 'ProjectVirtualCluster',
}

const compiledResources = ({
  group = '',
  resources,
  resourceNames,
}: AuditPolicyResources): CompiledResources => ({
  group: group === '*' ? null : group,
  patterns: allowedValues(resources),
  names: allowedValues(resourceNames),
})

function matches(rule: CompiledRule, request: AuditedRequest, user: AuditedUser): boolean {
  const { users, groups, verbs, namespaces, resources, paths } = rule
  if (users !== null && !users.has(user.username)) return false
  if (groups !== null && !user.groups.some((group) => groups.has(group))) return false
  if (verbs !== null && !verbs.has(request.verb)) return false
  if (!matchesTarget(rule, request.target)) return false
  const isOfResources = namespaces !== null || resources !== null
  if ('path' in request) return !isOfResources && matchesPath(paths, request.path)
  return isOfResources ? matchesResource(rule, request) : paths === null
}

function matchesTarget({ targets, clusters }: CompiledRule, target: RequestTarget | null): boolean {
  if (targets !== null && (target === null || !targets.has(target.kind))) return false
  if (clusters === null) return true
  return target?.kind === 'Cluster' && (clusters.has('*') || clusters.has(target.cluster))
}

const matchesPath = (paths: readonly string[] | null, path: string): boolean =>
  paths === null ||
  paths.some(
    (pattern) =>
      pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))),
  )

type AuditedResource = Exclude<AuditedRequest, { readonly path: string }>

function matchesResource(
  { namespaces, resources }: CompiledRule,
  request: AuditedResource,
): boolean {
  if (namespaces !== null && !namespaces.has(request.namespace)) return false
  return resources === null || resources.some((one) => matchesResources(one, request))
}

function matchesResources(
  { group, patterns, names }: CompiledResources,
  request: AuditedResource,
): boolean {
  if (group !== null && group !== request.group) return false
  if (patterns === null) return true
  if (names !== null && !names.has(request.name)) return false
  const { resource, subresource } = request
  if (patterns.has('*') || patterns.has(resourceWithSubresource(request))) return true
  // Unlike in Kubernetes, x/* is only the subresources of x, as in a scope.
  return subresource !== '' && (patterns.has(`${resource}/*`) || patterns.has(`*/${subresource}`))
}
