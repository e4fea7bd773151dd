// Requests to connected targets: which upstream gets them, and the refusals before (contract 9.1, 9.5, 11.3, 11.6, 11.9).
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import type { Scope } from '../../../src/api/scope.gen.ts'
import type { KeyCaller } from '../../../src/authn/caller.ts'
import { parseScope } from '../../../src/domain/scope/authorize.ts'
import { type RequestTarget, targetText } from '../../../src/domain/scope/request-info.ts'
import { type TargetState, createTargetRegistry } from '../../../src/gateway/targets/resolver.ts'
import { type Upstream, UpstreamUnavailable } from '../../../src/kube/proxy/types.ts'
import { viewOf } from '../../support/key-builder.ts'
import {
  cluster,
  of,
  project,
  scopeOf,
  space,
  verbs,
  virtualCluster,
} from '../domain/scope/scope-builder.ts'
import { CALLER, NO_UPSTREAM, handlerFor, managementOf } from './handler-builder.ts'
import { callTo } from './request-builder.ts'

/** The answer of each upstream to a self review. */
const REVIEW = {
  spec: { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'other' } },
  status: { allowed: true },
}

const EXISTING = new Map<string, string | null>([
  ['cluster "east"', null],
  ['virtual cluster "p/vc"', null],
  ['space "p/team"', 'ns-team'],
])

interface Asked {
  readonly scope?: Scope
  readonly method?: string
  readonly path: string
  readonly review?: object
  readonly unusable?: string
}

async function asked({ scope, method = 'GET', path, review = REVIEW, unusable }: Asked) {
  const sent: string[] = []
  const upstreamOf = (name: string): Upstream => ({
    ...NO_UPSTREAM,
    send: async ({ path: forwarded }) => {
      sent.push(`${name} ${forwarded}`)
      return {
        status: 201,
        headers: {},
        body: Readable.from([Buffer.from(JSON.stringify(review))]),
      }
    },
  })
  const find = (target: RequestTarget): TargetState | null => {
    if (unusable !== undefined) return { kind: 'unusable', because: unusable }
    const name = targetText(target)
    const namespace = EXISTING.get(name)
    if (namespace === undefined) return null
    return { kind: 'usable', connection: { upstream: upstreamOf(name) }, namespace }
  }
  const caller: KeyCaller = {
    key: viewOf({ metadata: { name: 'ci', uid: 'uid-ci' } }),
    identity: { user: 'ada', groups: [] },
    scope: parseScope(scope ?? null),
    expiresMs: null,
  }
  const targets = createTargetRegistry(managementOf(upstreamOf('management')), {
    find,
    isFresh: () => true,
  })
  const handle = handlerFor(caller, NO_UPSTREAM.send, { targets })
  const { status, refusal, body } = await handle(callTo(path, { method }))
  const answer = Buffer.isBuffer(body) ? body.toString() : await text(body)
  return { status, refusal, sent, answer: JSON.parse(answer) as unknown }
}

const PODS = '/api/v1/namespaces/ns-team/pods'

describe('a request goes to the API server of its target (9.1)', () => {
  test.each([
    { path: `/kubernetes/cluster/east${PODS}`, to: 'cluster "east"' },
    { path: `/kubernetes/project/p/virtualcluster/vc${PODS}`, to: 'virtual cluster "p/vc"' },
    { path: `/kubernetes/project/p/space/team${PODS}`, to: 'space "p/team"' },
    { path: `/kubernetes/management${PODS}`, to: 'management' },
  ])('$path', async ({ path, to }) => {
    expect(await asked({ path })).toMatchObject({ status: 201, sent: [`${to} ${PODS}`] })
  })
})

describe('a request is refused before it is forwarded', () => {
  const UNKNOWN = '/kubernetes/cluster/west'
  test.each<Asked & { readonly name: string; readonly status: number; readonly refusal: string }>([
    {
      name: 'to an unknown target',
      path: `${UNKNOWN}${PODS}`,
      status: 404,
      refusal: 'targetUnknown',
    },
    {
      name: 'to an unknown target on which the scope grants another request',
      scope: scopeOf({ ...of('secrets'), cluster: 'west', requestTargets: ['Cluster'] }),
      path: `${UNKNOWN}${PODS}`,
      status: 404,
      refusal: 'targetUnknown',
    },
    {
      name: 'to an unknown target on which the scope grants nothing',
      scope: cluster('east'),
      path: `${UNKNOWN}${PODS}`,
      status: 403,
      refusal: 'scopeDenied',
    },
    {
      name: 'to a known target on which the scope grants nothing',
      scope: cluster('west'),
      path: `/kubernetes/cluster/east${PODS}`,
      status: 403,
      refusal: 'scopeDenied',
    },
    {
      name: 'to a target with a fault',
      unusable: 'its kubeconfig has a fault',
      path: `/kubernetes/cluster/east${PODS}`,
      status: 503,
      refusal: 'targetUnusable',
    },
    {
      name: 'to a target with a fault on which the scope grants nothing',
      unusable: 'its kubeconfig has a fault',
      scope: cluster('west'),
      path: `/kubernetes/cluster/east${PODS}`,
      status: 403,
      refusal: 'scopeDenied',
    },
    {
      name: 'out of a space without a scope (11.9)',
      path: '/kubernetes/project/p/space/team/api/v1/namespaces/other/pods',
      status: 403,
      refusal: 'outsideSpace',
    },
    {
      name: 'out of a space with a scope that names it (11.9)',
      scope: space('p', 'team'),
      path: '/kubernetes/project/p/space/team/api/v1/pods',
      status: 403,
      refusal: 'outsideSpace',
    },
    {
      name: 'to the space of another project by a name that collides (threats B12)',
      scope: space('p-a', 'team'),
      path: `/kubernetes/project/p/space/a-team${PODS}`,
      status: 403,
      refusal: 'scopeDenied',
    },
    {
      name: 'to a space by a scope for a virtual cluster of its name (threats B12)',
      scope: virtualCluster('p', 'team'),
      path: `/kubernetes/project/p/space/team${PODS}`,
      status: 403,
      refusal: 'scopeDenied',
    },
    {
      name: 'to a cluster by a scope for its projects (threats B12)',
      scope: project('p'),
      path: `/kubernetes/cluster/east${PODS}`,
      status: 403,
      refusal: 'scopeDenied',
    },
    {
      name: 'for keys of another cluster (12.4)',
      path: '/kubernetes/cluster/east/apis/management.platform.sh/v1/ownedaccesskeys',
      status: 403,
      refusal: 'ownKindsElsewhere',
    },
  ])('$name: $status', async (row) => {
    const { status, refusal } = row
    expect(await asked(row)).toMatchObject({ status, refusal, sent: [] })
  })
})

test('a target that cannot be reached is named in the 503 (9.5)', async () => {
  const upstream = {
    ...NO_UPSTREAM,
    send: () => Promise.reject(new UpstreamUnavailable('unprocessed', 'x')),
  }
  const targets = createTargetRegistry(managementOf(upstream), {
    find: () => ({ kind: 'usable', connection: { upstream }, namespace: null }),
    isFresh: () => true,
  })
  const handle = handlerFor(CALLER, NO_UPSTREAM.send, { targets })
  const { status, body } = await handle(callTo('/kubernetes/cluster/east/api'))
  expect({ status, text: Buffer.isBuffer(body) && body.toString() }).toEqual({
    status: 503,
    text: expect.stringContaining(
      JSON.stringify('cluster "east" cannot be used: its API server cannot be reached').slice(
        1,
        -1,
      ),
    ),
  })
})

describe('a session in a Pod needs create under a scope, and get too by GET (11.6)', () => {
  const EXEC = '/kubernetes/cluster/east/api/v1/namespaces/a/pods/b/exec'
  test.each([
    { granted: ['get'], method: 'GET', status: 403 },
    { granted: ['create'], method: 'GET', status: 403 },
    { granted: ['get', 'create'], method: 'GET', status: 201 },
    { granted: ['create'], method: 'POST', status: 201 },
    { granted: ['get'], method: 'POST', status: 403 },
  ])('$granted by $method: $status', async ({ granted, method, status }) => {
    const scope = scopeOf({ ...of('pods/exec'), verbs: granted, requestTargets: ['Cluster'] })
    expect(await asked({ scope, method, path: EXEC })).toMatchObject({ status })
  })

  test('a list of clusters grants it (11.7)', async () => {
    expect(await asked({ scope: cluster('east'), path: EXEC })).toMatchObject({ status: 201 })
  })
})

describe('a self review', () => {
  const ACCESS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const RULES = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
  const reviewed = (given: Omit<Asked, 'method'>) => asked({ ...given, method: 'POST' })

  test('without a scope is the answer of the API server (11.3)', async () => {
    const { answer } = await reviewed({ path: `/kubernetes/cluster/east${ACCESS}` })
    expect(answer).toEqual(REVIEW)
  })

  test('denies what the scope does not grant (11.3)', async () => {
    const scope = scopeOf({ ...of('secrets'), requestTargets: ['Cluster'] })
    const { answer } = await reviewed({ scope, path: `/kubernetes/cluster/east${ACCESS}` })
    expect(answer).toMatchObject({ status: { allowed: false, denied: true } })
  })

  test.each([
    {
      name: 'an update without create',
      scope: scopeOf({ ...verbs('update'), ...of('configmaps') }),
      attributes: { verb: 'update', resource: 'configmaps' },
      reason: 'does not grant "create"',
    },
    {
      name: 'a session without create',
      scope: scopeOf({ ...verbs('get'), ...of('pods/exec') }),
      attributes: { verb: 'get', resource: 'pods', subresource: 'exec' },
      reason: 'does not grant "create"',
    },
    {
      name: 'our own kinds',
      scope: cluster('east'),
      attributes: { verb: 'get', resource: 'configs', group: 'management.platform.sh' },
      reason: 'are served below /kubernetes/management only',
    },
  ])('denies $name, as it would the request (11.3, 11.6)', async (row) => {
    const spec = { resourceAttributes: { ...row.attributes, namespace: 'a', name: 'x' } }
    const review = { spec, status: { allowed: true } }
    const path = `/kubernetes/cluster/east${ACCESS}`
    const { answer } = await reviewed({ scope: row.scope, path, review })
    const reason = expect.stringContaining(row.reason)
    expect(answer).toMatchObject({ status: { allowed: false, denied: true, reason } })
  })

  test('denies what is outside a space, whatever the scope (11.9)', async () => {
    const path = `/kubernetes/project/p/space/team${ACCESS}`
    const { answer } = await reviewed({ path })
    expect(answer).toMatchObject({
      status: { allowed: false, reason: expect.stringContaining('is outside the space') },
    })
    const inside = {
      spec: { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'ns-team' } },
      status: { allowed: true },
    }
    expect((await reviewed({ path, review: inside })).answer).toEqual(inside)
  })

  test.each([
    {
      name: 'under a scope (11.3)',
      scope: cluster('east'),
      path: `/kubernetes/cluster/east${RULES}`,
    },
    { name: 'in a space (11.9)', path: `/kubernetes/project/p/space/team${RULES}` },
  ])('of rules is no complete list $name', async (row) => {
    const review = { spec: { namespace: 'a' }, status: { incomplete: false, resourceRules: [] } }
    const { answer } = await reviewed({ ...row, review })
    expect(answer).toEqual({ ...review, status: { incomplete: true, resourceRules: [] } })
  })
})
