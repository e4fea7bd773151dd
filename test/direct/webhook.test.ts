/** @module-tag no-retry */
// Tokens straight at a stock API server that asks the webhook of its direct endpoint before RBAC: scope and revocation
// hold there, for the users of the platform only (contract 9.6; threats D8).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { ACCESS_KEY_EXTRA, API_VERSION, type Resource, TEAMS, USERS } from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { createAuthority, issueCertificate } from '../../src/serving/tls/issue.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import { type AskOptions, type GatewayAnswer, ask } from '../support/gateway-process.ts'
import { metric } from '../support/metrics-page.ts'
import { uniqueName } from '../support/object-builder.ts'
import { repeated } from '../support/tier.ts'
import { startDirectCluster } from './direct-cluster.ts'
import { SPACES, grantReading, untilReady } from './direct-objects.ts'
import { completeNow, startCachingProxy } from './issuer-servers.ts'
import { printFigures, startAsking } from './token-ends.ts'
import { startTokenPlatform } from './token-platform.ts'

/** A bound for steps without a promised time, on a busy machine. */
const SOON = { withinMs: 30_000 }
/** From the publication of a revocation to its effect: the pause between polls, which the cluster sets, and 1.5 s. */
const POLL_MS = 1000
const IN_EFFECT_MS = POLL_MS + 1500
const REQUESTS = 'platform_direct_webhook_requests_total'

const proxy = await startCachingProxy(300)
const [platform, cluster] = await Promise.all([
  startTokenPlatform(proxy),
  startDirectCluster(proxy),
])
const { server } = cluster
const folder = mkdtempSync(join(tmpdir(), 'webhook-'))
afterAll(() => rmSync(folder, { recursive: true }))

const SHOP = '/api/v1/namespaces/shop/configmaps'
const SECRETS = '/api/v1/namespaces/shop/secrets'
const SCOPE = {
  rules: [
    {
      verbs: ['get', 'list'],
      resources: [{ resources: ['configmaps', 'secrets'] }],
      namespaces: ['shop'],
    },
  ],
}
const [endpoint, token, scoped] = await Promise.all([
  cluster.startEndpoint(),
  platform.issueToken(),
  platform.issueToken({ scope: SCOPE }),
  grantReading(cluster, 'shop', 'platform:group:dev'),
  cluster.apply(SPACES),
])
await Promise.all([untilReady(endpoint, SPACES.length), cluster.openWebhook(endpoint)])

/** One request with a token straight to the API server. */
const straight = (
  path: string,
  bearer: string,
  options: Partial<AskOptions> = {},
): Promise<GatewayAnswer> =>
  ask(`${server.url}${path}`, {
    ca: server.caPem,
    ...options,
    headers: { authorization: `Bearer ${bearer}` },
  })
const untilAnswered = (what: string, path: string, bearer: string, answer: object) =>
  eventuallyPasses(
    what,
    async () => expect(await straight(path, bearer)).toMatchObject(answer),
    SOON,
  )
const asked = (decision: string): Promise<number> =>
  metric(endpoint.process, REQUESTS, `decision="${decision}"`)
const containing = (text: string): object => expect.stringContaining(text)

await untilAnswered('the server accepts tokens', SHOP, token, { code: 200 })

describe('a scoped token straight at the API server (9.6)', () => {
  test('may what its scope and RBAC grant', async () => {
    expect(await straight(SHOP, scoped)).toMatchObject({ code: 200 })
    expect(await server.whoIs(scoped)).toMatchObject({ username: 'platform:user:ada' })
    for (const path of ['/api', '/apis', '/apis/apps/v1', '/openapi/v2', '/version'])
      expect(await straight(path, scoped)).toMatchObject({ code: 200 })
  })

  test('may not what its scope grants and RBAC does not', async () => {
    const { code, body } = await straight(SECRETS, scoped)
    expect({ code, body }).toMatchObject({
      code: 403,
      body: containing('cannot list resource \\"secrets\\"'),
    })
    expect(body).not.toContain('does not grant')
  })

  test.each([
    { what: 'a watch', path: `${SHOP}?watch=1`, denied: '"watch" on "configmaps"' },
    { what: 'a delete', path: `${SHOP}/x`, method: 'DELETE', denied: '"delete" on "configmaps"' },
    {
      what: 'another namespace',
      path: '/api/v1/namespaces/default/configmaps',
      denied: '"list" on "configmaps"',
    },
    { what: 'a path', path: '/metrics', denied: '"get" on path "/metrics"' },
  ])('may not what its scope does not grant, and learns why: $what', async (row) => {
    const { path, method = 'GET', denied } = row
    const answer = await straight(path, scoped, { method })
    const { message } = JSON.parse(answer.body) as { readonly message: string }
    expect({ code: answer.code, message }).toMatchObject({
      code: 403,
      message: containing(`the scope does not grant ${denied}`),
    })
  })

  test('may the same with kubectl', async () => {
    const kubeconfig = await server.tokenKubeconfig('scoped', scoped)
    const kubectl = (line: string) =>
      server.kubectl(['-n', 'shop', ...line.split(' ')], { kubeconfig })
    expect((await kubectl('get configmaps -o name')).code).toBe(0)
    expect((await kubectl('auth whoami')).stdout).toContain('platform:user:ada')
    expect((await kubectl('create configmap x')).stderr).toContain('the scope does not grant')
    expect((await kubectl('auth can-i list configmaps')).stdout).toBe('yes\n')
    expect((await kubectl('auth can-i create configmaps')).stdout).toContain('no')
  })

  test('goes through the direct endpoint as well, also on the path of its space', async () => {
    const codeOf = async (path: string, bearer: string) => (await endpoint.call(path, bearer)).code
    expect(await codeOf(`/kubernetes/cluster${SHOP}`, scoped)).toBe(200)
    expect(await codeOf(`/kubernetes/cluster${SHOP}?watch=1`, scoped)).toBe(403)
    const inSpace = await platform.issueToken({
      scope: { spaces: [{ project: 'p', space: 'plain' }] },
    })
    expect(await codeOf(`/kubernetes/project/p/space/plain${SHOP}`, inSpace)).toBe(200)
    expect(await codeOf(`/kubernetes/project/p/space/named${SHOP}`, inSpace)).toBe(403)
    expect(await codeOf(`/kubernetes/cluster${SHOP}`, inSpace)).toBe(403)
    // Nothing but the endpoint keeps requests on the path of a space.
    expect(await straight(SHOP, inSpace)).toMatchObject({ code: 403 })
  })
})

test('a revoked token is denied within the poll interval and 1.5 s of its publication, while the server caches it (9.6; D8)', async () => {
  const lags: number[] = []
  for (let trial = 0; trial < repeated(3, 20); trial += 1) {
    const bearer = await platform.issueToken()
    // The last trial ended with a poll.
    await wait(Math.random() * POLL_MS)
    const asking = await startAsking(
      server.caPem,
      async (agent) => (await straight(SHOP, bearer, { agent })).code === 200,
    )
    await platform.revoke(bearer)
    const publishedMs = Date.now()
    lags.push(Math.max(0, (await asking.lastAcceptedMs) - publishedMs))
    const denied = { code: 403, body: containing('the token is revoked') }
    expect(await straight(SHOP, bearer)).toMatchObject(denied)
    expect(await straight('/version', bearer)).toMatchObject(denied)
  }
  printFigures('revoked, ms from publication to the last request accepted by the server', lags)
  expect(Math.max(...lags)).toBeLessThanOrEqual(IN_EFFECT_MS)
})

describe('a token of a person (24.2)', () => {
  /** From the change to the manager's record of the revocation (7.4), on a busy machine. */
  const RECORDED_MS = 2500
  const answers = async (bearer: string) => {
    const straightAnswer = await straight(SHOP, bearer)
    return [straightAnswer.code, (await endpoint.call(`/kubernetes/cluster${SHOP}`, bearer)).code]
  }

  test('has the groups of the Teams, which RoleBindings name', async () => {
    const user = uniqueName('pat')
    await create(TEAMS, 'sre', { users: [user] })
    const bearer = await platform.issueToken({}, await platform.createKey(user))
    expect((await server.whoIs(bearer))?.groups).toContain('platform:team:sre')
    expect((await endpoint.call('/kubernetes/cluster/apis', bearer)).code).toBe(200)
  })

  test('ends at the direct endpoint and at the server within 5 s after the User is disabled, for good', async () => {
    const user = uniqueName('pat')
    await create(USERS, user, {})
    const key = await platform.createKey(user)
    const bearer = await platform.issueToken({}, key)
    await eventuallyPasses(
      'both accept the token',
      async () => expect(await answers(bearer)).toEqual([200, 200]),
      SOON,
    )
    const asking = await startAsking(server.caPem, async () =>
      (await answers(bearer)).includes(200),
    )
    await disable(user, true)
    const disabledMs = Date.now()
    const lag = Math.max(0, (await asking.lastAcceptedMs) - disabledMs)
    printFigures('user disabled, ms to the last request accepted by either', [lag])
    expect(lag).toBeLessThanOrEqual(RECORDED_MS + IN_EFFECT_MS)
    expect(await answers(bearer)).toEqual([403, 401])
    await disable(user, false)
    const another = await platform.issueToken({}, key)
    await eventuallyPasses(
      'a new token is accepted',
      async () => expect(await answers(another)).toEqual([200, 200]),
      SOON,
    )
    expect(await answers(bearer)).toEqual([403, 401])
  })
})

/** Creates a User or Team in the management cluster. */
const create = (resource: Resource, name: string, spec: object) =>
  platform.plane.admin.create(
    resource,
    { apiVersion: API_VERSION, kind: resource.kind, metadata: { name }, spec },
    'test',
  )

async function disable(user: string, disabled: boolean): Promise<void> {
  const path = pathOf(USERS, { name: user })
  const { code } = await platform.plane.raw('PATCH', path, { spec: { disabled } })
  expect(code).toBe(200)
}

describe('whom the webhook does not concern (9.6)', () => {
  test.each([
    { who: 'a team', user: 'platform:team:ops' },
    { who: 'a subject', user: 'platform:subject:robot' },
    { who: 'a user', user: 'ada' },
  ])('$who with an access key, as the gateway impersonates, is left to RBAC', async ({ user }) => {
    const before = await asked('denied')
    const headers = {
      'impersonate-user': user,
      'impersonate-group': ['platform:group:dev', 'platform:authenticated'],
      [`impersonate-extra-${encodeURIComponent(ACCESS_KEY_EXTRA)}`]: 'ci',
    }
    const codes = await Promise.all(
      [SHOP, SECRETS].map(
        async (path) => (await cluster.raw('GET', path, undefined, { headers })).code,
      ),
    )
    expect(codes).toEqual([200, 403])
    expect(await asked('denied')).toBe(before)
  })

  test('the server asks for no request of its own users', async () => {
    const total = () => metric(endpoint.process, REQUESTS)
    const before = await total()
    for (let count = 0; count < 20; count += 1)
      expect((await cluster.raw('GET', SHOP)).code).toBe(200)
    const account = await server.serviceAccountKubeconfig('platform-system', 'direct')
    const may = { kubeconfig: account }
    expect((await cluster.raw('GET', SHOP, undefined, may)).code).toBe(403)
    expect(await total()).toBe(before)
    await straight(SHOP, token)
    expect(await total()).toBe(before + 1)
  })
})

/** Waits until users of the platform get a 500; the code that others get. */
async function codeOfOthersInFailure(): Promise<number> {
  await untilAnswered('users of the platform get a 500', SHOP, token, { code: 500 })
  return (await cluster.raw('GET', SHOP)).code
}

describe('the token of the webhook (9.6)', () => {
  const file = cluster.webhookTokenFile
  afterAll(async () => {
    writeFileSync(file, cluster.webhookToken)
    await cluster.openWebhook(endpoint)
  })

  test('a wrong one is refused: users of the platform get a 500, others are not affected', async () => {
    await cluster.openWebhook(endpoint, { credential: { token: 'wrong' } })
    expect(await codeOfOthersInFailure()).toBe(200)
    expect(await asked('refused')).toBeGreaterThan(0)
  })

  test('another one in the same file is in use without a restart, an empty file lets nobody in', async () => {
    const next = uniqueName('n'.repeat(32))
    await cluster.openWebhook(endpoint, { credential: { token: next } })
    expect(await codeOfOthersInFailure()).toBe(200)
    writeFileSync(file, next)
    await untilAnswered('the new token is in use', SHOP, token, { code: 200 })
    writeFileSync(file, '')
    expect(await codeOfOthersInFailure()).toBe(200)
  })
})

describe('another endpoint as webhook, by a client certificate and with a short --max-staleness (9.6)', async () => {
  const nowMs = Date.now()
  const times = { nowMs, untilMs: nowMs + 3_600_000 }
  const authority = createAuthority({ ...times, commonName: 'webhook clients' })
  const use = { hosts: [], purposes: ['client'] } as const
  const credential = issueCertificate({ ...times, commonName: 'api-server' }, use, authority)
  const authorityFile = join(folder, 'webhook-ca.pem')
  writeFileSync(authorityFile, authority.certificatePem)
  const second = await cluster.startEndpoint([
    `--webhook-client-ca=${authorityFile}`,
    '--webhook-token-file=',
    '--max-staleness=5s',
  ])
  afterEach(() => {
    proxy.setAway(false)
    proxy.setList(null)
  })

  test('the certificate opens it, a token does not', async () => {
    proxy.setList(completeNow)
    await cluster.openWebhook(second)
    expect(await codeOfOthersInFailure()).toBe(200)
    await cluster.openWebhook(second, { credential })
    await untilAnswered('the certificate is accepted', SHOP, token, { code: 200 })
    expect(await straight(`${SHOP}?watch=1`, scoped)).toMatchObject({ code: 403 })
  })

  test('denies requests with tokens while the issuer is away for longer, and no others', async () => {
    proxy.setList(completeNow)
    await untilAnswered('tokens are accepted', SHOP, token, { code: 200 })
    proxy.setAway(true)
    const unknown = /revocation unknown since 20\d\d-\d\d-\d\dT[\d:.]+Z/
    const denied = { code: 403, body: expect.stringMatching(unknown) }
    await untilAnswered('tokens are denied', SHOP, token, denied)
    expect((await cluster.raw('GET', SHOP)).code).toBe(200)
    expect((await second.call(`/kubernetes/cluster${SHOP}`, token)).code).toBe(503)
    proxy.setAway(false)
    await untilAnswered('tokens are accepted again', SHOP, token, { code: 200 })
  })

  test('is down: Deny gives users of the platform a 500, and NoOpinion gives tokens all rights of RBAC', async () => {
    const revoked = await platform.issueToken()
    await platform.revoke(revoked)
    await second.process.stop()
    expect(await codeOfOthersInFailure()).toBe(200)
    await cluster.openWebhook(second, { credential, failurePolicy: 'NoOpinion' })
    await untilAnswered('RBAC alone decides', SHOP, revoked, { code: 200 })
    expect(await straight(`${SHOP}/x`, scoped, { method: 'DELETE' })).toMatchObject({ code: 404 })
    // What RBAC does not grant is an error of the webhook then, and no 403.
    expect(await straight(SECRETS, token)).toMatchObject({ code: 500 })
  })
})
