// The matching of audit policies: the cases of the Kubernetes policy checker, and a row for each field that is ours alone
// (contract 21.1, 21.2).
import { describe, expect, test } from 'vitest'
import type { AuditPolicyRule } from '../../../../src/api/config.gen.ts'
import {
  type AuditedRequest,
  auditPolicyOf,
  decideAudit,
} from '../../../../src/domain/audit/policy.ts'
import type { RequestTarget } from '../../../../src/domain/scope/request-info.ts'

const MANAGEMENT: RequestTarget = { kind: 'Management' }
const EAST: RequestTarget = { kind: 'Cluster', cluster: 'east' }
const TIM = { username: 'tim@k8s.io', groups: ['humans', 'developers'] }
const NOBODY = { username: 'system:anonymous', groups: ['system:unauthenticated'] }

const pods = {
  target: MANAGEMENT,
  verb: 'get',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: 'busybox',
}
const roles = {
  ...pods,
  group: 'rbac.authorization.k8s.io',
  resource: 'clusterroles',
  namespace: '',
  name: 'edit',
}
const REQUESTS = {
  namespaced: pods,
  cluster: roles,
  nonResource: { target: MANAGEMENT, verb: 'get', path: '/logs/kubelet.log' },
  subresource: { ...pods, subresource: 'log' },
  roleUpdate: { ...roles, verb: 'update', subresource: 'status', name: 'somerole' },
} satisfies Record<string, AuditedRequest>

const RULES = {
  default: { level: 'Metadata' },
  create: { level: 'Request', verbs: ['create'] },
  tims: { level: 'Metadata', users: ['tim@k8s.io'] },
  humans: { level: 'Metadata', userGroups: ['humans'] },
  serviceAccounts: { level: 'Request', userGroups: ['system:serviceaccounts'] },
  getPods: { level: 'RequestResponse', verbs: ['get'], resources: [{ resources: ['pods'] }] },
  getPodLogs: { level: 'Request', verbs: ['get'], resources: [{ resources: ['pods/log'] }] },
  getAll: { level: 'Request', verbs: ['get'], resources: [{ resources: ['*'] }] },
  getAllLogs: { level: 'Request', verbs: ['get'], resources: [{ resources: ['*/log'] }] },
  getOfPods: { level: 'Request', verbs: ['get'], resources: [{ resources: ['pods/*'] }] },
  getRoles: {
    level: 'RequestResponse',
    verbs: ['get'],
    resources: [{ group: 'rbac.authorization.k8s.io', resources: ['clusterroles'] }],
    namespaces: [''],
  },
  updateStatus: {
    level: 'RequestResponse',
    verbs: ['update'],
    resources: [{ group: '*', resources: ['*/status'] }],
  },
  getLogs: { level: 'RequestResponse', verbs: ['get'], nonResourceURLs: ['/logs*'] },
  getMetrics: { level: 'Request', verbs: ['get'], nonResourceURLs: ['/metrics'] },
  roleEdit: {
    level: 'Request',
    resources: [
      {
        group: 'rbac.authorization.k8s.io',
        resources: ['clusterroles'],
        resourceNames: ['edit'],
      },
    ],
  },
} satisfies Record<string, AuditPolicyRule>

type RuleName = keyof typeof RULES

const decide = (
  rules: readonly AuditPolicyRule[],
  request: AuditedRequest,
  user = TIM,
  omitStages: readonly string[] = [],
) => {
  const policy = auditPolicyOf({ enabled: true, path: '/a', policy: { rules, omitStages } })
  if (policy === null) throw new Error('the policy records nothing')
  const { level, omitStages: omitted } = decideAudit(policy, request, user)
  return { level, omitted: [...omitted] }
}

/** For each request: rules in their order, and the level. */
// biome-ignore format: a table
const CASES: Readonly<Record<string, readonly (readonly [readonly RuleName[], string])[]>> = {
  namespaced: [
    [['default'], 'Metadata'], [['create'], 'None'], [['tims'], 'Metadata'], [['humans'], 'Metadata'],
    [['serviceAccounts'], 'None'], [['getPods'], 'RequestResponse'], [['getRoles'], 'None'], [['getLogs'], 'None'],
    [['getMetrics'], 'None'], [['getMetrics', 'serviceAccounts', 'default'], 'Metadata'],
    [['getMetrics', 'getPods', 'default'], 'RequestResponse'], [['getPodLogs', 'getPods'], 'RequestResponse'],
  ],
  cluster: [
    [['default'], 'Metadata'], [['create'], 'None'], [['tims'], 'Metadata'], [['humans'], 'Metadata'],
    [['serviceAccounts'], 'None'], [['getPods'], 'None'], [['getRoles'], 'RequestResponse'],
    [['roleEdit', 'getRoles'], 'Request'], [['getLogs'], 'None'], [['getMetrics'], 'None'],
    [['getMetrics', 'serviceAccounts', 'default'], 'Metadata'],
    [['getMetrics', 'getRoles', 'default'], 'RequestResponse'], [['getPodLogs', 'getPods'], 'None'],
  ],
  nonResource: [
    [['default'], 'Metadata'], [['create'], 'None'], [['tims'], 'Metadata'], [['humans'], 'Metadata'],
    [['serviceAccounts'], 'None'], [['getPods'], 'None'], [['getRoles'], 'None'], [['getLogs'], 'RequestResponse'],
    [['getMetrics'], 'None'], [['getMetrics', 'serviceAccounts', 'default'], 'Metadata'],
    [['getLogs', 'getRoles', 'default'], 'RequestResponse'], [['getPodLogs', 'getPods'], 'None'],
  ],
  subresource: [
    [['getPodLogs', 'getPods'], 'Request'], [['getAll'], 'Request'], [['getAllLogs'], 'Request'], [['getOfPods'], 'Request'],
  ],
  roleUpdate: [[['updateStatus'], 'RequestResponse']],
}

const rows = Object.entries(CASES).flatMap(([request, cases]) =>
  cases.map(([names, level]) => ({ request: request as keyof typeof REQUESTS, names, level })),
)

describe('the cases of the Kubernetes policy checker (21.2)', () => {
  test.each(rows)(
    'rules $names record the $request request at $level',
    ({ request, names, level }) => {
      const rules = names.map((name) => RULES[name])
      expect(decide(rules, REQUESTS[request])).toEqual({ level, omitted: [] })
      const stages = ['RequestReceived', 'ResponseStarted']
      expect(decide(rules, REQUESTS[request], TIM, stages)).toEqual({ level, omitted: stages })
    },
  )

  test.each([
    { names: ['tims'], level: 'None' },
    { names: ['tims', 'default'], level: 'Metadata' },
    { names: ['humans'], level: 'None' },
    { names: ['humans', 'default'], level: 'Metadata' },
  ] as const)('rules $names record a request without a caller at $level', ({ names, level }) => {
    const rules = names.map((name) => RULES[name])
    expect(decide(rules, REQUESTS.namespaced, NOBODY).level).toBe(level)
  })

  const OMITS = {
    received: { level: 'Request', omitStages: ['RequestReceived'] },
    allButPanic: {
      level: 'Request',
      omitStages: ['RequestReceived', 'ResponseStarted', 'ResponseComplete'],
    },
  } as const
  test.each([
    { rule: OMITS.received, stages: [], omitted: ['RequestReceived'] },
    { rule: OMITS.allButPanic, stages: [], omitted: OMITS.allButPanic.omitStages },
    {
      rule: OMITS.received,
      stages: ['ResponseStarted'],
      omitted: ['ResponseStarted', 'RequestReceived'],
    },
    { rule: RULES.default, stages: ['Panic'], omitted: ['Panic'] },
  ])('a rule that omits $rule.omitStages in a policy that omits $stages omits both', (row) => {
    for (const request of Object.values(REQUESTS))
      expect(decide([row.rule, RULES.getPods], request, TIM, row.stages).omitted).toEqual([
        ...row.omitted,
      ])
  })
})

describe('wildcards of resources (11.5, 21.2)', () => {
  // biome-ignore format: a table
  test.each([
    { group: '', resources: ['pods/*'], request: pods, is: false },
    { group: '', resources: ['pods/*'], request: { ...pods, subresource: 'log' }, is: true },
    { group: '', resources: ['*/log'], request: pods, is: false },
    { group: '', resources: ['*'], request: { ...pods, subresource: 'log' }, is: true },
    { group: '', resources: [], request: { ...pods, subresource: 'log' }, is: true },
    { group: '', resources: ['*'], request: roles, is: false },
    { group: '*', resources: [], request: roles, is: true },
    { group: '*', resources: ['pods'], request: roles, is: false },
    { group: '*', resources: ['pods'], request: { ...pods, group: 'metrics.k8s.io' }, is: true },
  ])('group "$group", resources $resources, $request.resource/$request.subresource: $is', (row) => {
    const { group, resources, request, is } = row
    expect(decide([{ level: 'Metadata', resources: [{ group, resources }] }], request).level).toBe(
      is ? 'Metadata' : 'None',
    )
  })
})

describe('targets of requests (21.2)', () => {
  const TARGETS: Readonly<Record<string, RequestTarget | null>> = {
    management: MANAGEMENT,
    east: EAST,
    west: { kind: 'Cluster', cluster: 'west' },
    space: { kind: 'ProjectSpace', project: 'shop', space: 'dev' },
    'virtual cluster': { kind: 'ProjectVirtualCluster', project: 'shop', virtualCluster: 'dev' },
    none: null,
  }

  // biome-ignore format: a table
  test.each<{ rule: AuditPolicyRule; recorded: readonly string[] }>([
    { rule: {}, recorded: Object.keys(TARGETS) },
    { rule: { requestTargets: ['Management'] }, recorded: ['management'] },
    { rule: { requestTargets: ['Cluster'] }, recorded: ['east', 'west'] },
    { rule: { requestTargets: ['ProjectSpace'] }, recorded: ['space'] },
    { rule: { requestTargets: ['ProjectVCluster'] }, recorded: ['virtual cluster'] },
    { rule: { requestTargets: ['ProjectVirtualCluster'] }, recorded: ['virtual cluster'] },
    { rule: { requestTargets: ['VCluster'] }, recorded: [] },
    { rule: { requestTargets: ['*'] }, recorded: [] },
    { rule: { requestTargets: ['Management', 'ProjectSpace'] }, recorded: ['management', 'space'] },
    { rule: { clusters: ['east'] }, recorded: ['east'] },
    { rule: { clusters: ['*'] }, recorded: ['east', 'west'] },
    { rule: { clusters: ['east'], requestTargets: ['Management'] }, recorded: [] },
  ])('a rule with $rule records requests to $recorded', ({ rule, recorded }) => {
    const rules = [{ ...rule, level: 'Metadata' }]
    const of = (request: object) =>
      Object.entries(TARGETS).flatMap(([name, target]) =>
        decide(rules, { ...request, target } as AuditedRequest).level === 'None' ? [] : [name],
      )
    expect(of(REQUESTS.namespaced)).toEqual(recorded)
    expect(of(REQUESTS.nonResource)).toEqual(recorded)
  })
})

describe('settings that record nothing (21.1)', () => {
  test.each([
    { name: 'no settings', settings: undefined },
    { name: 'audit that is off', settings: { enabled: false, path: '/a', level: 4 } },
    { name: 'audit that nobody enabled', settings: { path: '/a', level: 4 } },
    { name: 'neither level nor policy', settings: { enabled: true, path: '/a' } },
    { name: 'level 0 without policy', settings: { enabled: true, path: '/a', level: 0 } },
    {
      name: 'a policy without rules',
      settings: { enabled: true, path: '/a', policy: { rules: [] } },
    },
  ])('$name', ({ settings }) => {
    expect(auditPolicyOf(settings)).toBeNull()
  })

  test('users, groups, verbs and namespaces match exactly, so * matches none', () => {
    for (const field of ['users', 'userGroups', 'verbs', 'namespaces'])
      expect(decide([{ level: 'Metadata', [field]: ['*'] }], REQUESTS.namespaced).level).toBe(
        'None',
      )
  })
})
