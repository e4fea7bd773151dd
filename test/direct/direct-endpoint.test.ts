/** @module-tag no-retry */
// The direct endpoint in front of a stock API server, with tokens of a real issuer: who the bearer is there, what is
// refused, where the paths lead, and when tokens, their streams and their signing keys end (contract 9.2).
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { ACCESS_KEY_EXTRA } from '../../src/api/names.ts'
import { DIRECT_PUBLIC_ROUTES, PUBLIC_ROUTES } from '../../src/gateway/stages/public-routes.ts'
import { answeredIn } from '../support/audit-log.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import { type GatewayAnswer, ask } from '../support/gateway-process.ts'
import { sumOf } from '../support/metrics-page.ts'
import { repeated } from '../support/tier.ts'
import { secretsIn } from './direct-canaries.ts'
import { CLUSTER, DIRECT_USER, startDirectCluster } from './direct-cluster.ts'
import { connectTargets, grantReading } from './direct-objects.ts'
import { openStreams } from './direct-streams.ts'
import { type TokenEnd, measureEnd, printEnds } from './token-ends.ts'
import { type Members, type SigningKey, claimsIn, forge } from './forged-tokens.ts'
import { comparable, refusedBearers } from './refused-bearers.ts'
import { startTokenPlatform } from './token-platform.ts'

/** From the publication of a change to its effect: the pause between polls, which the cluster sets, and 1.5 s. */
const POLL_MS = 1000
const IN_EFFECT_MS = POLL_MS + 1500
const DAY = 86_400

const stateDir = mkdtempSync(join(tmpdir(), 'direct-state-'))
afterAll(() => rmSync(stateDir, { recursive: true }))
const platform = await startTokenPlatform()
const { issuer } = platform
const cluster = await startDirectCluster(platform)
const { server } = cluster
const [endpoint, key, token] = await Promise.all([
  cluster.startEndpoint([`--state-dir=${stateDir}`, '--log-level=debug']),
  platform.signingKey(1),
  platform.issueToken(),
  grantReading(cluster, 'shop', 'platform:group:dev'),
])
const issued = claimsIn(token)
const own = issued['platform.sh'] as Members
const now = Math.floor(Date.now() / 1000)

/** The claims of a new token, issued a minute ago, with some claims replaced. */
function claims(different: Members = {}): Members {
  const times = { iat: now - 60, nbf: now - 60, exp: now + 3600 }
  return { ...issued, ...times, jti: randomUUID(), ...different }
}

const API = '/kubernetes/cluster'
const SHOP = '/api/v1/namespaces/shop/configmaps'
const PATHS = { asked: `${API}/version`, watched: `${API}${SHOP}` }

const codeOf = async (path: string, bearer: string | null = token): Promise<number> =>
  (await endpoint.call(path, bearer)).code
const post = (path: string, body: object, bearer = token): Promise<GatewayAnswer> =>
  endpoint.call(`${API}${path}`, bearer, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })

describe('the bearer of a token (9.2)', () => {
  test.each<{ of: string; different: Members & { readonly sub?: string } }>([
    { of: 'a user', different: {} },
    { of: 'a team', different: { sub: 'team:ops', groups: ['team:ops'], kind: 'Team' } },
    { of: 'a subject', different: { sub: 'subject:robot', groups: [], kind: 'Subject' } },
    { of: 'no key', different: { sub: 'token:t1', kind: 'Token' } },
    { of: 'a user without groups', different: { groups: undefined } },
    {
      of: 'a user with a scope',
      different: { aud: [`${issuer}/scoped`], scope: '{"rules":[{"verbs":["get"]}]}' },
    },
  ])('of $of has the user, groups and extras that a stock server makes of it', async (row) => {
    const { kind = 'User', scope = '*', ...different } = row.different
    const bearer = forge(key, claims({ ...different, 'platform.sh': { ...own, kind, scope } }))
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const { body } = await post('/apis/authentication.k8s.io/v1/selfsubjectreviews', review, bearer)
    const { status } = JSON.parse(body) as { readonly status: { readonly userInfo: object } }
    const straight = await server.whoIs(bearer)
    const { 'platform.sh/name': name, ...extra } = straight?.extra ?? {}
    delete (extra as Record<string, unknown>)['authentication.kubernetes.io/credential-id']
    expect(status.userInfo).toEqual({
      username: straight?.username,
      groups: straight?.groups,
      extra: { ...extra, [ACCESS_KEY_EXTRA]: name },
    })
    expect(straight?.username).toBe(`platform:${row.different.sub ?? 'user:ada'}`)
  })

  test.each(['group:dev', 'user:ada', 'authenticated'])(
    'is authorized by one RoleBinding for group platform:%s both ways, in its namespace only',
    async (group) => {
      const namespace = `for-${group.replace(':', '-')}`
      const path = `/api/v1/namespaces/${namespace}/configmaps`
      const bothWays = async (at: string) => [
        await codeOf(`${API}${at}`),
        await server.get(at, token),
      ]
      expect(await bothWays(path)).toEqual([403, 403])
      await grantReading(cluster, namespace, `platform:${group}`)
      expect(await bothWays(path)).toEqual([200, 200])
      expect(await bothWays('/api/v1/namespaces/default/configmaps')).toEqual([403, 403])
    },
  )
})

describe('what is no valid token is refused like no token at all, byte by byte (9.2; D1, D2, D3, D7)', async () => {
  const bearers = await refusedBearers({ platform, cluster, key, claims })
  const refused = comparable(await endpoint.call(`${API}/version`, null))

  test.each(bearers)('$name', async ({ bearer }) => {
    expect(comparable(await endpoint.call(`${API}/version`, bearer))).toEqual(refused)
  })

  test('each of them is counted as refused', async () => {
    expect(refused).toMatchObject({ code: 401, headers: { 'www-authenticate': 'Bearer' } })
    const page = await endpoint.process.metrics()
    const refusals = sumOf(page, 'platform_gateway_authentication_total', 'result="refused"')
    expect(refusals).toBe(bearers.length + 1)
  })

  test('two credentials are a 400, and impersonation too', async () => {
    const twice = {
      'sec-websocket-protocol': `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`,
    }
    expect((await endpoint.call(`${API}/version`, token, { headers: twice })).code).toBe(400)
    const other = { 'impersonate-user': 'system:admin' }
    expect((await endpoint.call(`${API}/version`, token, { headers: other })).code).toBe(400)
  })

  test('the gateway refuses tokens as it does unknown keys (9.2)', async () => {
    const { origin } = new URL(platform.gateway.issuer)
    for (const path of [
      '/kubernetes/management/version',
      `/kubernetes/cluster/${CLUSTER}/version`,
      '/nowhere',
    ]) {
      const [withToken, unknown] = await Promise.all(
        [token, 'unknown'].map((bearer) =>
          ask(`${origin}${path}`, {
            ca: platform.gateway.caPem,
            headers: { authorization: `Bearer ${bearer}` },
          }),
        ),
      )
      expect(withToken && comparable(withToken)).toEqual(unknown && comparable(unknown))
      expect(withToken?.code).toBe(401)
    }
  })
})

describe('the paths of a direct endpoint (9.1, 9.2)', () => {
  test.each([
    { path: `${API}/api`, code: 200 },
    { path: `${API}/apis/apps/v1`, code: 200 },
    { path: `${API}/openapi/v2`, code: 200 },
    { path: `${API}/version`, code: 200 },
    { path: `${API}${SHOP}?limit=1`, code: 200 },
    { path: '/version', code: 200 },
    { path: '/kubernetes/management/api', code: 404 },
    { path: '/kubernetes', code: 404 },
    { path: '/oidc/keys', code: 404 },
    { path: '/metrics', code: 404 },
    { path: `${API}/${CLUSTER}${SHOP}`, code: 403 },
    { path: `${API}/apis/management.platform.sh/v1/ownedaccesskeys`, code: 403 },
    { path: '/kubernetes/project/p/space/unknown/api', code: 404 },
    { path: '/kubernetes/project/p/virtualcluster/unknown/api', code: 404 },
    { path: '/authorize', code: 401 },
  ])('$path is answered with $code, and with 401 without a token', async ({ path, code }) => {
    expect(await codeOf(path)).toBe(code)
    expect(await codeOf(path, null)).toBe(401)
  })

  test.each([...new Set([...DIRECT_PUBLIC_ROUTES, ...PUBLIC_ROUTES, '/livez', '/openid/v1/jwks'])])(
    '%s needs no credential exactly if it is one of DIRECT_PUBLIC_ROUTES (9.1)',
    async (path) => {
      const isPublic = (DIRECT_PUBLIC_ROUTES as readonly string[]).includes(path)
      expect(await codeOf(path, null)).toBe(isPublic ? 200 : 401)
    },
  )

  test('kubectl works with the path in its server: discovery, list, watch, create and diff (9.4)', async () => {
    const kubeconfig = await endpoint.kubeconfig(token)
    const kubectl = (line: string, input = '') =>
      server.kubectl(['-n', 'shop', ...line.split(' ')], { kubeconfig, input })
    const object = (data: string) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'made' },
        data: { a: data },
      })
    const waiting = kubectl('wait configmap/made --for=create --timeout=30s')
    expect(await kubectl('apply -f -', object('1'))).toMatchObject({ code: 0 })
    expect(await waiting).toMatchObject({ code: 0 })
    expect(await kubectl('diff -f -', object('2'))).toMatchObject({ code: 1 })
    expect((await kubectl('get configmaps -o name')).stdout).toContain('configmap/made')
    expect((await kubectl('auth whoami')).stdout).toContain('platform:user:ada')
    expect((await kubectl('api-resources')).stdout).toContain('configmaps')
    expect((await kubectl('get nodes')).stderr).toContain('User "platform:user:ada" cannot list')
    expect((await kubectl('delete configmap made')).code).toBe(0)
  })

  test('answers say when the token ends, and warn near its end (13.5)', async () => {
    const { headers } = await endpoint.call(`${API}/version`, token)
    const end = new Date(Number(issued['exp']) * 1000).toISOString().replace('.000', '')
    expect({ end: headers['x-platform-key-expires'], warning: headers['warning'] }).toEqual({ end })
    const ending = forge(
      key,
      claims({ iat: now - DAY + 600, nbf: now - DAY + 600, exp: now + 500 }),
    )
    const near = await endpoint.call(`${API}/version`, ending)
    expect(near.headers['warning']).toMatch(/^299 - "this token expires at .*: get a new one/)
  })
})

// These wait more than they work, each for objects and tokens of its own.
test.concurrent('spaces and virtual clusters of Secrets are served, a space in its namespace only (9.2, 9.7, 11.9)', async () => {
  await connectTargets({ cluster, endpoint, plane: platform.plane })
  const space = (name: string, path: string) => codeOf(`/kubernetes/project/p/space/${name}${path}`)
  // One names no cluster, the other one another: both are in this one.
  for (const name of ['plain', 'named']) {
    expect(await space(name, SHOP)).toBe(200)
    expect(await space(name, '/api/v1/namespaces/shop')).toBe(200)
    expect(await space(name, '/apis')).toBe(200)
    const outside = `/kubernetes/project/p/space/${name}/api/v1/namespaces/default/configmaps`
    const { code, body } = await endpoint.call(outside, token)
    expect({ code, body }).toMatchObject({
      code: 403,
      body: expect.stringContaining('is outside the space'),
    })
    expect(await space(name, '/api/v1/configmaps')).toBe(403)
  }
  const virtual = '/kubernetes/project/p/virtualcluster/vc'
  expect(await codeOf(`${virtual}/api/v1/namespaces/default/configmaps`)).toBe(200)
  expect(await codeOf(`${virtual}/apis/management.platform.sh/v1/configs`)).toBe(403)
})

test.concurrent('a scope narrows what its token may do, discovery and self reviews pass (11.1, 11.3)', async () => {
  const resources = [{ resources: ['configmaps'] }]
  const rule = { verbs: ['get', 'list'], resources, namespaces: ['shop'] }
  const scoped = await platform.issueToken({ scope: { rules: [rule] } })
  expect(await codeOf(`${API}${SHOP}`, scoped)).toBe(200)
  expect(await codeOf(`${API}/apis`, scoped)).toBe(200)
  const denied = await endpoint.call(`${API}${SHOP}?watch=1`, scoped)
  expect(denied).toMatchObject({
    code: 403,
    body: expect.stringContaining('the scope does not grant \\"watch\\" on \\"configmaps\\"'),
  })
  const review = (kind: string, spec: object) =>
    post(
      `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
      { apiVersion: 'authorization.k8s.io/v1', kind, spec },
      scoped,
    )
  const may = async (verb: string) => {
    const resourceAttributes = { verb, resource: 'configmaps', namespace: 'shop' }
    const { body } = await review('SelfSubjectAccessReview', { resourceAttributes })
    return (JSON.parse(body) as { readonly status: object }).status
  }
  expect(await may('list')).toMatchObject({ allowed: true })
  expect(await may('create')).toMatchObject({
    allowed: false,
    reason: expect.stringContaining('the scope'),
  })
  const rules = await review('SelfSubjectRulesReview', { namespace: 'shop' })
  expect(JSON.parse(rules.body)).toMatchObject({ status: { incomplete: true } })
})

test.concurrent('a token that ends is refused with the reason, and so are its streams (9.2, 13.4)', async () => {
  const exp = Math.floor(Date.now() / 1000) + 4
  const bearer = forge(key, claims({ exp }))
  const streams = await openStreams(endpoint, `${API}${SHOP}`, bearer)
  const endsMs = await Promise.all(streams.map(({ ended }) => ended))
  for (const { lastWords } of streams) expect(lastWords()).toContain('the token expired')
  for (const endMs of endsMs) expect(Math.abs(endMs - exp * 1000)).toBeLessThan(1500)
  const { code, body } = await endpoint.call(`${API}/version`, bearer)
  expect({ code, body }).toMatchObject({
    code: 401,
    body: expect.stringContaining('the token expired. Please get a new one'),
  })
})

test.concurrent('a revoked token and its streams end within the poll interval and 1.5 s of its publication (9.2; D8)', async () => {
  const ends: TokenEnd[] = []
  for (let trial = 0; trial < repeated(3, 30); trial += 1) {
    const bearer = await platform.issueToken()
    // The last trial ended with a poll.
    await wait(Math.random() * POLL_MS)
    const end = await measureEnd(endpoint, PATHS, bearer, () => platform.revoke(bearer))
    for (const words of end.lastWords) expect(words).toContain('the token is not accepted')
    ends.push(end)
  }
  expect(printEnds('revoked', ends)).toBeLessThanOrEqual(IN_EFFECT_MS)
})

test('a flood of unknown signing keys makes the endpoint ask the issuer once in ten seconds (9.2; D5)', async () => {
  const before = await platform.fetchCount()
  const startMs = performance.now()
  for (let count = 0; count < 100; count += 1) {
    const kid = randomBytes(32).toString('base64url')
    expect(await codeOf(`${API}/version`, forge({ ...key, kid }, claims()))).toBe(401)
  }
  // Each poll has three documents.
  const most = 4 * ((performance.now() - startMs) / 1000 + 2)
  expect((await platform.fetchCount()) - before).toBeLessThanOrEqual(most)
})

test('a rotation leaves tokens of both keys accepted, and a withdrawn key ends its tokens and streams (9.2; D4)', async () => {
  const isAccepted = async (one: SigningKey) =>
    (await codeOf(`${API}/version`, forge(one, claims()))) === 200
  const [watch] = await openStreams(endpoint, `${API}${SHOP}`, forge(key, claims()))
  await platform.rotate()
  const next = await platform.signingKey(2)
  await eventually('the new key is known', async () => (await isAccepted(next)) || undefined, {
    withinMs: IN_EFFECT_MS,
  })
  await staysTrue(
    'tokens of both keys are accepted',
    async () => expect([await isAccepted(key), await isAccepted(next)]).toEqual([true, true]),
    { forMs: 1500 },
  )
  expect(watch?.hasEnded()).toBe(false)

  const old = forge(key, claims())
  const end = await measureEnd(endpoint, PATHS, old, () => platform.withdraw(key.kid))
  expect(printEnds('withdrawn', [end])).toBeLessThanOrEqual(IN_EFFECT_MS)
  expect([await isAccepted(key), await isAccepted(next)]).toEqual([false, true])
  await watch?.ended
})

test('every request of a bearer is impersonated in the audit log, and the endpoint itself does only its own (9.2)', async () => {
  const requests = answeredIn(await cluster.audit.linesSince({ offset: 0 }, DIRECT_USER))
  const asItself = requests.filter(({ impersonatedUser }) => !impersonatedUser)
  const what = asItself.map(({ objectRef: ref }) => `${ref?.['resource']} ${ref?.['namespace']}`)
  const targets = ['secrets platform-system-targets', 'events platform-system-targets']
  expect(new Set(what)).toEqual(new Set(['secrets platform-system', ...targets]))
  const users = new Set(requests.map(({ impersonatedUser }) => impersonatedUser?.username))
  expect(users).toContain('platform:user:ada')
  for (const user of users) expect(user ?? 'heartbeat').toMatch(/^(platform:|heartbeat$)/)
})

test('no token, access key or private key is in logs, metrics, Events, audit log or state (3.5)', async () => {
  const found = await secretsIn({ cluster, endpoint, stateDir, platform, tokens: [token] })
  expect(found).toEqual([])
})
