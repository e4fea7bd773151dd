// A write whose answer a relay cuts, between forward() and a real API server; lost-answers.own.long.test.ts has each verb
// and moment (contract 13.1).
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { userInfoOf } from '../../../src/authn/caller.ts'
import { forward } from '../../../src/gateway/proxy/forward.ts'
import { parseRequest } from '../../../src/gateway/request/parse.ts'
import { connect } from '../../../src/kube/client/connection.ts'
import { createUpstream } from '../../../src/kube/proxy/upstream.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { redirected } from '../../support/fault-proxy.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed-control-plane.ts'
import { viewOf } from '../../support/key-builder.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { untilMay } from '../../support/raw-client.ts'
import { startTlsRelay } from '../../support/tls-relay.ts'
import { callTo } from '../../unit/gateway/request-builder.ts'

const plane = await sharedControlPlane()
const clock = systemClock()
const relay = await startTlsRelay(plane.url)
const account = await plane.serviceAccountKubeconfig(
  GATEWAY_ACCOUNT.namespace,
  GATEWAY_ACCOUNT.name,
)
const kubeconfig = await redirected(account, relay.url, await readFile(plane.caFile, 'utf8'))
const connection = await connect({ kind: 'files', paths: [kubeconfig] }, clock)
const upstream = createUpstream({ connection, clock, observer: { responded: () => undefined } })
afterAll(async () => {
  await upstream.close()
  await connection.close()
  await relay[Symbol.asyncDispose]()
})

const user = uniqueName('ada')
const namespace = uniqueName('lost')
const PATH = `/api/v1/namespaces/${namespace}/configmaps`
/** Of the gateway's connection: more than its handshake, and less than a request. */
const LONGER_THAN_HANDSHAKE = 5000

test('a create whose answer is cut is carried out once, and is a 504 without Retry-After (13.1)', async () => {
  const rbac = 'rbac.authorization.k8s.io'
  await plane.raw('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  await plane.raw('POST', `/apis/${rbac}/v1/namespaces/${namespace}/rolebindings`, {
    metadata: { name: 'tests' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'admin' },
    subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
  })
  await untilMay(
    plane.raw,
    { user, groups: [] },
    { verb: 'create', resource: 'configmaps', namespace },
  )
  const key = viewOf({ metadata: { name: 'ci' }, spec: { user } })
  const identity = userInfoOf(key)
  const reading = parseRequest('POST', { kind: 'Management' }, PATH)
  if (!identity || !reading.ok) throw new Error('the request is not valid')
  const object = { metadata: { generateName: 'made-' }, data: { padding: 'x'.repeat(8000) } }
  const call = callTo(PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    body: Readable.from([Buffer.from(JSON.stringify(object))]),
  })
  const made = async (): Promise<number> => {
    const { body } = await plane.raw<{ readonly items: readonly { metadata: { name: string } }[] }>(
      'GET',
      PATH,
    )
    return body.items.filter(({ metadata }) => metadata.name.startsWith('made-')).length
  }
  relay.keepAnswersOf(LONGER_THAN_HANDSHAKE)
  const caller = { key, identity, scope: null, expiresMs: null }
  const answering = forward(upstream, reading.request, call, { caller }, { signal: call.gone })
  await eventually('it is carried out', async () => (await made()) || undefined, {
    withinMs: 20_000,
  })
  relay.cutAndPass()
  const { status, headers } = await answering
  expect(status).toBe(504)
  expect(headers).not.toHaveProperty('retry-after')
  expect(await made()).toBe(1)
})
