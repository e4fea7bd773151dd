// A scope as a list of grants, one for each entry. Values are unchecked, as the API server sent them.
import type { Scope } from '../../api/scope.gen.ts'
import { isMap, own } from '../config/json.ts'
import { type Path, pathText } from '../config/path.ts'
import { type Limit, limit, type Rule, ruleOf } from './rule.ts'
import {
  CLUSTER,
  PROJECT,
  ROLE,
  RULE,
  ruleFault,
  type Shape,
  SPACE,
  shapeFault,
  VIRTUAL_CLUSTER,
} from './shape.ts'

/** A role, and where it applies (contract 11.4). */
export interface RoleGrant {
  readonly kind: 'role'
  /** Name of the role, `platformCLI` also for its other spelling. */
  readonly role: string
  readonly projects: Limit
  readonly virtualClusters: Limit
}

/** The fields that list targets by name. */
export type TargetList = 'projects' | 'spaces' | 'virtualClusters' | 'clusters'

/** All of a target, or of all targets of its kind (contract 11.3). */
export interface TargetGrant {
  readonly kind: 'target'
  readonly list: TargetList
  /** The project or cluster, then the target inside the project; `*` means all. */
  readonly names: readonly string[]
}

/** What one entry of a scope grants. */
export type Grant = RoleGrant | TargetGrant | Rule

/** An entry that grants nothing, and why, as a clause. */
export interface Malformed {
  readonly kind: 'malformed'
  readonly fault: string
}

/** An entry of a scope and its path, such as `scope.rules[2]`. */
export interface Entry {
  readonly path: string
  readonly grant: Grant | Malformed
}

type Read = (value: unknown) => Grant | Malformed

const entry =
  <Value>(shape: Shape<Value>, grantOf: (value: Value) => Grant | Malformed): Read =>
  (value) => {
    const fault = shapeFault(shape, value)
    return fault === null ? grantOf(value as Value) : malformed(fault)
  }

const LISTS: Readonly<Record<Exclude<keyof Scope, 'allowPlatformCli'>, Read>> = {
  roles: entry(ROLE, ({ role = '', projects, virtualClusters }) =>
    roleGrant(role, limit(projects), limit(virtualClusters)),
  ),
  projects: entry(PROJECT, ({ project = '' }) => targetGrant('projects', project)),
  spaces: entry(SPACE, ({ project = '', space = '' }) => targetGrant('spaces', project, space)),
  virtualClusters: entry(VIRTUAL_CLUSTER, ({ project = '', virtualCluster = '' }) =>
    targetGrant('virtualClusters', project, virtualCluster),
  ),
  clusters: entry(CLUSTER, ({ cluster = '' }) => targetGrant('clusters', cluster)),
  rules: entry(RULE, (rule) => {
    const fault = ruleFault(rule)
    return fault === null ? ruleOf(rule) : malformed(fault)
  }),
}

/**
 * The entries of a scope, list by list, malformed and unknown ones included. Never empty: a scope that sets nothing
 * gives one malformed entry, so no caller takes it for a scope within every other.
 */
export function entriesOf(scope: Scope): readonly Entry[] {
  if (!isMap(scope)) return [at([], malformed('it is not an object'))]
  const lists = Object.entries(LISTS).flatMap(([field, read]) =>
    listEntries(field, own(scope, field), read),
  )
  const entries = [...strangers(scope), ...lists, ...cliEntry(own(scope, 'allowPlatformCli'))]
  return entries.length > 0 ? entries : [at([], malformed('it sets nothing'))]
}

function strangers(scope: object): readonly Entry[] {
  return Object.keys(scope)
    .filter((field) => field !== 'allowPlatformCli' && !Object.hasOwn(LISTS, field))
    .map((field) => at([field], malformed('this field is unknown')))
}

function listEntries(field: string, list: unknown, read: Read): readonly Entry[] {
  if (list === undefined) return []
  if (!Array.isArray(list)) return [at([field], malformed('it is not a list'))]
  return list.map((value: unknown, index) => at([field, index], read(value)))
}

function cliEntry(value: unknown): readonly Entry[] {
  if (value === undefined || value === false) return []
  const isSound = value === true
  const grant = isSound ? roleGrant('platformCLI', null, null) : malformed('it is not a boolean')
  return [at(['allowPlatformCli'], grant)]
}

const at = (path: Path, grant: Grant | Malformed): Entry => ({
  path: pathText(['scope', ...path]),
  grant,
})

const malformed = (fault: string): Malformed => ({ kind: 'malformed', fault })

const roleGrant = (role: string, projects: Limit, virtualClusters: Limit): RoleGrant => ({
  kind: 'role',
  role: role === 'platform-cli' ? 'platformCLI' : role,
  projects,
  virtualClusters,
})

const targetGrant = (list: TargetList, ...names: readonly string[]): TargetGrant => ({
  kind: 'target',
  list,
  names,
})
