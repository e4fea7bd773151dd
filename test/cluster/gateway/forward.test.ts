// Requests through forward() to a real API server with the gateway's ServiceAccount (contract 10.5, 13.1).
import { Readable } from 'node:stream'
import { afterAll, describe, expect, test } from 'vitest'
import { type KeyCaller, userInfoOf } from '../../../src/authn/caller.ts'
import { forward } from '../../../src/gateway/proxy/forward.ts'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { connect } from '../../../src/kube/client/connection.ts'
import { createUpstream } from '../../../src/kube/proxy/upstream.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { Answer } from '../../../src/serving/http/answer.ts'
import type { HttpRequest } from '../../../src/serving/http/request.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { viewOf } from '../../support/key-builder.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { randomFrom } from '../../support/random.ts'
import { untilMay } from '../../support/raw-client.ts'
import { callTo } from '../../unit/gateway/request-builder.ts'

const plane = await sharedControlPlane()
const clock = systemClock()
const { namespace, name } = GATEWAY_ACCOUNT
const connection = await connect(
  { kind: 'files', paths: [await plane.serviceAccountKubeconfig(namespace, name)] },
  clock,
)
const upstream = createUpstream({ connection, clock, observer: { responded: () => undefined } })
afterAll(async () => {
  await upstream.close()
  await connection.close()
})

interface Spec {
  readonly user?: string
  readonly team?: string
  readonly subject?: string
  readonly groups?: string[]
}

function callerOf(spec: Spec, key = 'ci'): KeyCaller {
  const { user = '' } = spec
  const view = viewOf({ metadata: { name: key }, spec: { ...spec, user } })
  const identity = userInfoOf(view)
  if (!identity) throw new Error('the key has no identity')
  return { key: view, identity, scope: null, expiresMs: null }
}

/** Forwards a client's request. */
function send(caller: KeyCaller, method: string, target: string, given: Partial<HttpRequest> = {}) {
  const reading = parseRequest(method, { kind: 'Management' }, target)
  if (!reading.ok) throw new Error(reading.answer.body.toString())
  const call = callTo(target, { method, ...given })
  return forward(upstream, reading.request, call, { caller }, { signal: call.gone })
}

async function textOf({ body }: Answer): Promise<string> {
  if (Buffer.isBuffer(body)) return body.toString()
  return Buffer.concat((await body.toArray()) as Buffer[]).toString()
}

const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const REVIEW = JSON.stringify({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'SelfSubjectReview',
})
const JSON_BODY = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }

/** The user that the API server sees: userInfo of a SelfSubjectReview. */
async function seenUser(caller: KeyCaller, given: Partial<HttpRequest> = {}): Promise<unknown> {
  const body = Readable.from([Buffer.from(REVIEW)])
  const answer = await send(caller, 'POST', REVIEWS, { headers: JSON_BODY, body, ...given })
  const { status } = JSON.parse(await textOf(answer)) as { status?: { userInfo: unknown } }
  return status?.userInfo
}

describe('the API server sees exactly the identity of the key (10.5)', () => {
  const MANY = Array.from({ length: 128 }, (_, n) => `g-${n}-`.padEnd(253, 'x'))
  test.each<{ name: string; spec: Spec; key?: string }>([
    { name: 'a user', spec: { user: 'ada' } },
    { name: 'an e-mail address', spec: { user: 'Ada.Lovelace+x@example.com' } },
    { name: 'all printable ASCII characters', spec: { user: printableAscii() } },
    {
      name: 'names that look like escapes',
      spec: { user: '%61da%20', groups: ['%2f', '\\u0061'] },
    },
    { name: 'names that look like lists', spec: { user: 'a,b;c', groups: ['a,b', 'c;d', '"e"'] } },
    { name: 'a team', spec: { team: 'shop' } },
    { name: 'a subject', spec: { subject: 'https://idp.example/#1' } },
    { name: 'groups', spec: { user: 'ada', groups: ['dev', 'ops', 'a:b'] } },
    { name: 'the most and longest groups that a key may have', spec: { user: 'a', groups: MANY } },
    { name: 'a key with the longest name', spec: { user: 'ada' }, key: 'k'.repeat(253) },
  ])('$name', async ({ spec, key = 'ci' }) => {
    const caller = callerOf(spec, key)
    const { user, groups } = caller.identity
    expect(await seenUser(caller)).toEqual({
      username: user,
      groups,
      extra: { 'platform.sh/access-key': [key] },
    })
  })

  test.each([
    { 'x-remote-user': 'root', 'x-remote-group': 'system:masters' },
    { 'impersonate-user': 'root', impersonate_user: 'root' },
    {
      connection: 'impersonate-user, impersonate-group, impersonate-extra-platform.sh%2faccess-key',
    },
    { authorization: 'Bearer x', cookie: 'a=b', 'x-forwarded-user': 'root' },
  ])('with these headers of the client: %o (A2, A6)', async (headers) => {
    const caller = callerOf({ user: 'ada' })
    expect(await seenUser(caller, { headers: { ...JSON_BODY, ...headers } })).toMatchObject({
      username: 'ada',
      groups: caller.identity.groups,
    })
  })

  test.each([' ', '\u00a0', '\u200b', 'system:masters', 'é', 'a b'])(
    'an identity that is invalid for a key is not forwarded: %j (A3, A4, A5)',
    async (user) => {
      const caller = callerOf({ user: 'ada' })
      for (const identity of [
        { ...caller.identity, user },
        { ...caller.identity, groups: [user] },
      ]) {
        await expect(send({ ...caller, identity }, 'GET', '/version')).rejects.toThrow(
          /identity of a caller/,
        )
      }
    },
  )
})

describe('forwarded requests and answers', () => {
  const ada = callerOf({ user: 'ada' })

  test('a refusal by the API server reaches the client unchanged', async () => {
    const answer = await send(ada, 'GET', '/api/v1/secrets')
    expect(answer.status).toBe(403)
    expect(JSON.parse(await textOf(answer))).toMatchObject({
      kind: 'Status',
      message: expect.stringContaining('User "ada" cannot list resource "secrets"') as unknown,
    })
    // The gateway's server adds the request ID to every answer, so forward() drops the API server's.
    expect(answer.headers).not.toHaveProperty('audit-id')
  })

  test('a DELETE is forwarded with its options (13.1)', async () => {
    const user = uniqueName('forward')
    const caller = await grant(user)
    const path = `/api/v1/namespaces/default/configmaps/${user}`
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: user } }
    await plane.raw('POST', '/api/v1/namespaces/default/configmaps', object)
    const options = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: '00000000-0000-0000-0000-000000000000' },
    }
    const remove = (body: object) =>
      send(caller, 'DELETE', path, {
        headers: JSON_BODY,
        body: Readable.from([JSON.stringify(body)]),
      })
    // A 409 shows that the options were read: without them the object would be deleted.
    expect((await remove(options)).status).toBe(409)
    expect((await remove({ ...options, preconditions: undefined })).status).toBe(200)
  })

  test('a body above the limit is refused before its end', async () => {
    const caller = await grant(uniqueName('forward'))
    let pulled = 0
    const endless = new Readable({
      read() {
        pulled += 65_536
        this.push(Buffer.alloc(65_536, ' '))
      },
    })
    const path = '/api/v1/namespaces/default/configmaps'
    const answer = await send(caller, 'POST', path, { headers: JSON_BODY, body: endless })
    expect(answer.status).toBe(413)
    await textOf(answer)
    expect(pulled).toBeLessThan(16 * 1024 * 1024)
    endless.destroy()
  })
})

/** Grants a user of that name all ConfigMaps of `default`, by RBAC. */
async function grant(user: string): Promise<KeyCaller> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
  const metadata = { name: user }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }]
  await plane.raw('POST', `${rbac}/roles`, { apiVersion, kind: 'Role', metadata, rules })
  await plane.raw('POST', `${rbac}/rolebindings`, {
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  })
  await untilMay(
    plane.raw,
    { user },
    { verb: 'create', resource: 'configmaps', namespace: 'default' },
  )
  return callerOf({ user })
}

describe('concurrent requests', () => {
  const WATCH = '/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3D'

  test('2,000 watches that clients abort do not end another watch', async () => {
    const user = uniqueName('forward')
    const caller = await grant(user)
    const { body } = await send(caller, 'GET', `${WATCH}${user}`)
    const watch = body as Readable
    let isCut = false
    watch.once('close', () => (isCut = true))
    const openAndAbort = async (): Promise<void> => {
      const abort = new AbortController()
      const sent = send(caller, 'GET', `${WATCH}none`, { gone: abort.signal })
      setImmediate(() => abort.abort())
      const answer = await sent
      if (!Buffer.isBuffer(answer.body)) answer.body.destroy()
    }
    for (let n = 0; n < 2000; n += 100) await Promise.all(Array.from({ length: 100 }, openAndAbort))
    expect(isCut).toBe(false)
    const metadata = { name: user }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
    await plane.raw('POST', '/api/v1/namespaces/default/configmaps', object)
    for await (const piece of watch as AsyncIterable<Buffer>) {
      expect(piece.toString()).toContain(`"name":"${user}"`)
      break
    }
  })

  test('500 keys send 200 requests at a time and abort some: none runs as another user (A12)', async () => {
    const KEYS = 500
    const REQUESTS = 4000
    const dice = randomFrom(12)
    const callers = Array.from({ length: KEYS }, (_, n) => callerOf({ user: `a12-${n}` }, `k-${n}`))
    const foreign: unknown[] = []
    let whole = 0
    let next = 0
    const ask = async (caller: KeyCaller): Promise<void> => {
      const abort = new AbortController()
      if (dice.between(0, 1) < 0.4) setTimeout(() => abort.abort(), dice.between(0, 40))
      const who = await seenUser(caller, { gone: abort.signal }).catch(() => null)
      if (who === null || who === undefined) return
      whole += 1
      const { username, extra } = who as { username: string; extra: Record<string, string[]> }
      const isOwn = username === caller.identity.user
      if (!isOwn || extra['platform.sh/access-key']?.join() !== caller.key.name) foreign.push(who)
    }
    const worker = async (): Promise<void> => {
      while (next < REQUESTS) {
        next += 1
        const caller = callers[next % KEYS]
        if (caller) await ask(caller)
      }
    }
    await Promise.all(Array.from({ length: 200 }, worker))
    expect(foreign).toEqual([])
    expect(whole).toBeGreaterThan(REQUESTS / 2)
  })
})

/** Every character that a user name may have. */
function printableAscii(): string {
  return Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).join('')
}

test.each(['OPTIONS', 'HEAD', 'PROPFIND', 'GET', 'DELETE'])(
  '%s behind the proxy of a Service is decided by the rights of the caller (11.6)',
  async (method) => {
    const caller = callerOf({ user: 'options-user' })
    const path = '/api/v1/namespaces/default/services/none/proxy/page'
    const answer = await send(caller, method, path)
    // A user without rights gets the refusal of RBAC, which names this user and not the gateway.
    expect(answer.status).toBe(403)
    // An answer to HEAD has no body.
    expect(
      method === 'HEAD' || (await textOf(answer)).includes('User \\"options-user\\" cannot '),
    ).toBe(true)
  },
)
