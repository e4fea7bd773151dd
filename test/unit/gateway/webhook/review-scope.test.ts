// What the scope of a token grants at an API server that asks the webhook: each rule of scopes (contract 11.2 to 11.9).
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../../src/api/scope.gen.ts'
import { decideReview } from '../../../../src/gateway/webhook/subject-access-review.ts'
import {
  cli,
  cluster,
  entries,
  inNamespaces,
  of,
  ofApps,
  ofEvery,
  onPaths,
  onTargets,
  pods,
  project,
  role,
  scopeOf,
  space,
  verbs,
  virtualCluster,
} from '../../domain/scope/scope-builder.ts'
import { CONTEXT, attributesOf, decided, forwardedExtraOf, specOf } from './review-builder.ts'

const isDenied = (scope: Scope | null, text: string, namespace?: string): boolean =>
  decided(scope, text, namespace).denied

/** A scope with requests that it leaves to RBAC, and others that it denies. */
interface Row {
  readonly name: string
  readonly scope: Scope | null
  readonly passes?: readonly string[]
  readonly denies?: readonly string[]
  readonly namespace?: string
}

const SENSITIVE = [
  'create serviceaccounts/token x',
  'update certificatesigningrequests.certificates.k8s.io/approval x',
  'escalate clusterroles.rbac.authorization.k8s.io x',
  'bind clusterroles.rbac.authorization.k8s.io x',
  'impersonate users x',
  'impersonate:user-info users x',
  'impersonate-on:user-info:get pods x',
  'approve signers.certificates.k8s.io x',
  'get nodes/proxy x',
  // By a method that the API server has no verb for, as PROPFIND.
  ' nodes/proxy x',
]
const SESSIONS = [
  'create pods/exec x',
  'get pods/exec x',
  'create pods/attach x',
  'create pods/portforward x',
  'patch pods/ephemeralcontainers x',
  'get services/proxy x',
  ' services/proxy x',
  ' pods/proxy x',
  'get machines.example.com/vnc x',
]
const DISCOVERY = [
  'get /api',
  'get /apis/apps/v1',
  'get /openapi/v3',
  'get /version',
  'create selfsubjectreviews.authentication.k8s.io',
  'create selfsubjectaccessreviews.authorization.k8s.io',
]
/** Reviews that people make by `kubectl auth can-i`; no request has such attributes. */
const FOR_ALL = [
  '* *',
  '* pods',
  'get *',
  'get *.*',
  'get pods.*',
  'get pods/*',
  'get *.apps/*',
  '* /healthz',
]

const ROWS: readonly Row[] = [
  {
    name: 'without a scope everything (11.1)',
    scope: null,
    passes: [...SENSITIVE, ...SESSIONS, ...DISCOVERY, ...FOR_ALL, 'get /metrics', 'delete nodes x'],
  },
  { name: 'a scope that sets nothing (11.1)', scope: {}, denies: ['get pods x', ...DISCOVERY] },
  { name: 'a scope with an empty list (11.1)', scope: { clusters: [] }, denies: DISCOVERY },
  {
    name: 'this cluster (11.3, 11.7)',
    scope: cluster('c1'),
    passes: ['get pods x', 'delete nodes x', 'get /metrics', ...SESSIONS, ...DISCOVERY],
    denies: [...SENSITIVE, ...FOR_ALL],
  },
  {
    name: 'every cluster (11.3)',
    scope: cluster('*'),
    passes: ['get pods x', ...SESSIONS, ...DISCOVERY],
    denies: [...SENSITIVE, ...FOR_ALL],
  },
  { name: 'another cluster (11.3)', scope: cluster('c2'), denies: ['get pods x', ...DISCOVERY] },
  ...[project('p'), project('*'), space('p', 's'), virtualCluster('p', 'v')].map((scope) => ({
    name: `${JSON.stringify(scope)}, which grants no cluster (11.3)`,
    scope,
    denies: ['get pods x', 'get namespaces team', ...DISCOVERY],
  })),
  ...[cli, role('agent'), role('vcluster', { projects: ['*'] }), role('unknown')].map((scope) => ({
    name: `${JSON.stringify(scope)}: roles grant nothing here (11.4)`,
    scope,
    denies: ['get pods x', ...DISCOVERY],
  })),
  {
    name: 'an entry that is malformed beside a sound one (11.2)',
    scope: scopeOf({ verbs: ['get'], unknown: true }, of('pods')),
    passes: ['get pods x', ...DISCOVERY],
    denies: ['get secrets x'],
  },
  {
    name: 'an entry of another field beside a rule (11.2)',
    scope: { ...scopeOf(of('pods')), ...project('p') },
    passes: ['get pods x'],
    denies: ['get secrets x'],
  },
  {
    name: 'a proxy that the rule names, by any method (11.6, 11.7)',
    scope: scopeOf(of('services/proxy')),
    passes: [' services/proxy x', 'get services/proxy x', 'update services/proxy x'],
    denies: [' pods/proxy x', ' services x', ' nodes/proxy x'],
  },
  {
    name: 'a proxy by the verb get only (11.5, 11.6)',
    scope: scopeOf({ ...of('services/proxy'), ...verbs('get') }),
    passes: ['get services/proxy x'],
    denies: [' services/proxy x'],
  },
  {
    name: 'verbs are exact (11.5)',
    scope: scopeOf(verbs('get')),
    passes: ['get secrets x', 'get /metrics', ...DISCOVERY],
    denies: ['list secrets', 'watch secrets', 'Get secrets x', 'create pods', ...FOR_ALL],
  },
  {
    name: 'a rule of one resource and its group (11.5)',
    scope: scopeOf(of('pods')),
    passes: ['get pods x', 'delete pods x', 'deletecollection pods'],
    denies: [
      'get pods.metrics.k8s.io x',
      'get pods/log x',
      'get secrets x',
      'get /metrics',
      ...FOR_ALL,
    ],
  },
  {
    name: 'wildcards of resources grant no session and nothing that outlives a key (11.5, 11.7)',
    scope: scopeOf(ofEvery('*')),
    passes: ['get pods x', 'get pods/log x', 'get things.example.com x'],
    denies: [...SENSITIVE, ...SESSIONS, ...FOR_ALL],
  },
  {
    name: 'x/* grants subresources, not x itself (11.5)',
    scope: scopeOf(of('pods/*')),
    passes: ['get pods/log x', 'patch pods/status x'],
    denies: ['get pods x', ...SESSIONS, 'get pods/*', 'get pods/* x'],
  },
  {
    name: '*/sub grants that subresource of every resource (11.5)',
    scope: scopeOf(ofApps('*/scale')),
    passes: ['get deployments.apps/scale x', 'update statefulsets.apps/scale x'],
    denies: ['get deployments.apps x', 'get deployments/scale x', 'get *.apps/scale'],
  },
  {
    name: 'instances (11.5)',
    scope: scopeOf(entries(pods('x'))),
    passes: ['get pods x', 'create pods x'],
    denies: ['get pods y', 'list pods', 'create pods', 'get pods *'],
  },
  {
    name: 'namespaces (11.5)',
    scope: scopeOf(inNamespaces('team')),
    passes: ['get pods x', 'list secrets'],
    denies: ['get /metrics', ...FOR_ALL],
  },
  {
    name: 'other namespaces (11.5)',
    scope: scopeOf(inNamespaces('other', '')),
    denies: ['get pods x', 'list secrets'],
  },
  {
    name: 'what is not namespaced (11.5)',
    scope: scopeOf(inNamespaces('')),
    namespace: '',
    passes: ['get nodes x', 'list pods'],
  },
  {
    name: 'no namespace is all namespaces, which a rule for one does not grant (11.5)',
    scope: scopeOf(inNamespaces('team')),
    namespace: '',
    denies: ['list pods', 'get nodes x'],
  },
  {
    name: 'paths (11.5)',
    scope: scopeOf(onPaths('/healthz/*', '/metrics')),
    passes: ['get /healthz/etcd', 'get /metrics', ...DISCOVERY],
    denies: ['get /healthz', 'get /metrics/cadvisor', 'get /logs', 'get pods x', '* /metrics'],
  },
  {
    name: 'rules for other targets (11.5)',
    scope: scopeOf(onTargets('Management', 'ProjectSpace'), { cluster: 'c2', verbs: ['get'] }),
    denies: ['get pods x', ...DISCOVERY],
  },
  {
    name: 'rules for this cluster (11.5)',
    scope: scopeOf({ ...onTargets('Cluster'), cluster: 'c1', verbs: ['get'] }),
    passes: ['get pods x', ...DISCOVERY],
  },
  {
    name: 'a rule that names what is sensitive (11.7)',
    scope: scopeOf(
      { ...of('serviceaccounts/token'), verbs: ['create'] },
      { ...of('users'), verbs: ['impersonate'] },
    ),
    passes: ['create serviceaccounts/token x', 'impersonate users x'],
    denies: ['impersonate groups x', 'get serviceaccounts/token x', 'get users x'],
  },
  {
    name: 'discovery is read only (11.3)',
    scope: scopeOf(of('pods')),
    denies: [
      'post /api',
      'get /apisx',
      'get /',
      'create subjectaccessreviews.authorization.k8s.io',
      'get /logs/api',
    ],
  },
]

describe('at the API server itself', () => {
  test.each(ROWS)('$name', ({ scope, namespace, passes = [], denies = [] }) => {
    expect(passes.filter((text) => isDenied(scope, text, namespace))).toEqual([])
    expect(denies.filter((text) => !isDenied(scope, text, namespace))).toEqual([])
  })

  test.each([
    { text: 'update pods x', granted: ['update'], is: true },
    { text: 'update pods x', granted: ['update', 'create'], is: false },
    { text: 'update pods/status x', granted: ['update'], is: false },
    { text: 'update pods', granted: ['update'], is: false },
    { text: 'patch pods x', granted: ['patch'], is: false },
    { text: 'get pods/exec x', granted: ['get'], is: true },
    { text: 'get pods/exec x', granted: ['get', 'create'], is: false },
    { text: 'get pods/attach x', granted: ['get'], is: true },
    { text: 'get pods/portforward x', granted: ['get'], is: true },
    { text: 'create pods/exec x', granted: ['create'], is: false },
    { text: 'get pods/log x', granted: ['get'], is: false },
  ])(
    '$text under a rule for $granted is denied: $is, as at the gateway (11.6)',
    ({ text, granted, is }) => {
      const rule = {
        ...of('pods', 'pods/status', 'pods/log', 'pods/exec', 'pods/attach', 'pods/portforward'),
        verbs: granted,
      }
      expect(isDenied(scopeOf(rule), text)).toBe(is)
    },
  )
})

describe('through the direct endpoint, which may be by the path of a space', () => {
  const isDeniedThere = (scope: Scope | null, text: string, namespace?: string): boolean =>
    decideReview(specOf(forwardedExtraOf(scope), attributesOf(text, namespace)), CONTEXT).denied

  test.each([space('p', 's'), space('p', '*'), project('p'), project('*')])(
    'a scope of %j passes inside of its spaces of this cluster, and nowhere else (11.3, 11.9)',
    (scope) => {
      const inside = [
        'get pods x',
        'create secrets',
        'get namespaces team',
        ...SESSIONS,
        ...DISCOVERY,
      ]
      expect(inside.filter((text) => isDeniedThere(scope, text))).toEqual([])
      const outside = ['delete namespaces team', ...SENSITIVE, ...FOR_ALL, 'get /metrics']
      expect(outside.filter((text) => !isDeniedThere(scope, text))).toEqual([])
      expect(isDeniedThere(scope, 'get pods x', 'other')).toBe(true)
      expect(isDeniedThere(scope, 'list pods', '')).toBe(true)
      expect(isDeniedThere(scope, 'get nodes x', '')).toBe(true)
    },
  )

  test('a scope of other spaces, or of another project, grants nothing (11.3)', () => {
    for (const scope of [
      space('p', 'other'),
      space('q', 's'),
      project('q'),
      virtualCluster('p', 's'),
    ])
      expect([...DISCOVERY, 'get pods x'].filter((text) => !isDeniedThere(scope, text))).toEqual([])
  })

  test('a rule for spaces needs create where the gateway asks for it (11.6)', () => {
    const rule = { ...onTargets('ProjectSpace'), ...of('pods', 'pods/exec') }
    expect(isDeniedThere(scopeOf({ ...rule, verbs: ['update', 'get'] }), 'update pods x')).toBe(
      true,
    )
    expect(isDeniedThere(scopeOf({ ...rule, verbs: ['update', 'get'] }), 'get pods/exec x')).toBe(
      true,
    )
    expect(isDeniedThere(scopeOf({ ...rule, verbs: ['update', 'create'] }), 'update pods x')).toBe(
      false,
    )
  })

  test('the cluster counts as well, and an unrestricted token passes everywhere (11.1)', () => {
    for (const scope of [cluster('c1'), null])
      expect(
        ['get pods x', 'delete nodes x'].filter((text) => isDeniedThere(scope, text, 'a')),
      ).toEqual([])
  })

  test('a role grants nothing in a space either (11.4)', () => {
    expect(isDeniedThere(role('agent', { projects: ['p'] }), 'get pods x')).toBe(true)
  })

  test('no space counts at the API server itself (9.6)', () => {
    expect(isDenied(space('p', 's'), 'get pods x')).toBe(true)
    expect(isDenied(project('p'), 'get /api')).toBe(true)
  })
})
