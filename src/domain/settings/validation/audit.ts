import { isDnsSubdomain } from '../../dns-name.ts'
import type {
  AuditPolicyResources,
  AuditPolicyRule,
  AuditSettings,
} from '../../../api/config.gen.ts'
import type { FieldPath } from '../../json/field-path.ts'
import { indexedMaps, indexedStrings } from '../../json/json.ts'
import { firstOverlappingPatterns, isResourcePattern } from '../../scope/rule.ts'
import type { UnsourcedFault } from './faults.ts'

const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse']
const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic']

/** Faults between the values of audit, and faults in its policy (contract 6.5). */
export function auditFaults(audit: AuditSettings): readonly UnsourcedFault[] {
  const { enabled, level, path, policy } = audit
  const faults: UnsourcedFault[] = []
  if (enabled === true && !path) {
    const message = 'is missing: set the directory of the log files, or leave enabled out'
    faults.push({ path: ['audit', 'path'], message, because: ['audit', 'enabled'] })
  }
  if (typeof level === 'number' && (level < 1 || level > 4))
    faults.push({ path: ['audit', 'level'], message: `is ${level}: write 1, 2, 3 or 4` })
  if (level !== undefined && policy)
    faults.push({
      path: ['audit', 'level'],
      message: 'stands beside policy: leave one of them out',
    })
  const rules = ['audit', 'policy', 'rules']
  return [
    ...faults,
    ...stageFaults(['audit', 'policy'], policy?.omitStages),
    ...indexedMaps(policy?.rules).flatMap(([at, rule]) => ruleFaults([...rules, at], rule)),
  ]
}

// Validates a rule like k8s.io/apiserver does, except that wildcards of resources follow the rules of scopes.
function ruleFaults(path: FieldPath, rule: AuditPolicyRule): readonly UnsourcedFault[] {
  const { nonResourceURLs, resources, namespaces, omitStages } = rule
  const faults: UnsourcedFault[] = []
  if (typeof rule.level !== 'string' || !LEVELS.includes(rule.level)) {
    const state = rule.level === undefined ? 'is missing' : 'is not a level'
    faults.push({
      path: [...path, 'level'],
      message: `${state}: write one of ${LEVELS.join(', ')}`,
    })
  }
  if (nonResourceURLs?.length && (resources?.length || namespaces?.length)) {
    const message = 'stands beside resources or namespaces: write a rule for each kind of request'
    faults.push({ path: [...path, 'nonResourceURLs'], message })
  }
  return [
    ...faults,
    ...indexedStrings(nonResourceURLs).flatMap(([at, url]) =>
      urlFaults([...path, 'nonResourceURLs', at], url),
    ),
    ...indexedMaps(resources).flatMap(([at, entry]) =>
      resourceFaults([...path, 'resources', at], entry),
    ),
    ...stageFaults(path, omitStages),
  ]
}

function stageFaults(
  path: FieldPath,
  stages: readonly string[] | undefined,
): readonly UnsourcedFault[] {
  const message = `is not a stage: write one of ${STAGES.join(', ')}`
  return indexedStrings(stages)
    .filter(([, stage]) => stage !== '' && !STAGES.includes(stage))
    .map(([at]) => ({ path: [...path, 'omitStages', at], message }))
}

function urlFaults(path: FieldPath, url: string): readonly UnsourcedFault[] {
  if (url === '' || url === '*') return []
  const advice = 'write *, or a path that starts with / and has * only as its last character'
  if (!url.startsWith('/')) return [{ path, message: `does not start with /: ${advice}` }]
  return url.slice(0, -1).includes('*') ? [{ path, message: `has * inside: ${advice}` }] : []
}

const isGroup = (group: string): boolean => group === '*' || isDnsSubdomain(group)

function resourceFaults(path: FieldPath, entry: AuditPolicyResources): readonly UnsourcedFault[] {
  const { group, resources, resourceNames } = entry
  const faults: UnsourcedFault[] = []
  if (typeof group === 'string' && !isGroup(group)) {
    const message =
      'is not an API group: write it in lower case and without version, as apps, or * for every group'
    faults.push({ path: [...path, 'group'], message })
  }
  if (resourceNames?.length && !resources?.length) {
    const message = 'needs resources: name at least one resource beside them'
    faults.push({ path: [...path, 'resourceNames'], message })
  }
  return [...faults, ...patternFaults([...path, 'resources'], indexedStrings(resources))]
}

function patternFaults(path: FieldPath, resources: readonly (readonly [number, string])[]) {
  const message = 'is not a resource: write name, name/sub, *, name/* or */sub'
  const invalid = resources.filter(([, text]) => text !== '' && !isResourcePattern(text))
  if (invalid.length > 0) return invalid.map(([at]) => ({ path: [...path, at], message }))
  const overlap = firstOverlappingPatterns(resources.map(([, text]) => text))
  if (!overlap) return []
  const [earlier, later] = overlap
  const overlapMessage = `covers what resources[${earlier}] covers: with a wildcard, entries must not overlap`
  return [{ path: [...path, later], message: overlapMessage }]
}
