// Everything that can happen to a secret at a gateway: misplaced keys, refusals, self-service, faults and outages.
import { once } from 'node:events'
import { get } from 'node:https'
import { expect } from 'vitest'
import {
  API_VERSION,
  GATEWAY_CA_SECRET,
  GATEWAY_TLS_SECRET,
  SECRETS,
} from '../../../src/api/names.ts'
import type { Secret } from '../../../src/api/objects.ts'
import { privateKeyCanary } from '../../support/canary.ts'
import { isWatchOf } from '../../faults/operator-observations.ts'
import { eventually } from '../../support/eventually.ts'
import { type Act, type Match, first } from '../../support/fault-proxy.ts'
import type { GatewayAnswer } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT, LAST_APPLIED } from '../../support/installed-control-plane.ts'
import type { StoredKey } from '../keys/key-client.ts'
import { bearerOf } from '../tokens/platform-state.ts'
import type { StoredToken } from '../tokens/token-client.ts'
import {
  type CanaryCluster,
  type KeyWithSecrets,
  CLUSTER_ADMIN,
  SECRET_VARIABLE,
} from './canary-cluster.ts'
import {
  APPLY_PATCH,
  JSON_PATCH,
  METADATA_LIST,
  GROUP_PATH,
  TABLE,
} from './keys/self-service-gateway.ts'
import { MISPLACED_CREDENTIALS, sendMisplaced } from './misplaced-credentials.ts'
import { MANAGEMENT, SOON } from './test-gateway.ts'

const KEYS = `${GROUP_PATH}/ownedaccesskeys`
const NAMESPACES = '/api/v1/namespaces'

/** The codes of the answers, in order. */
const codesOf = async (answers: readonly Promise<GatewayAnswer>[]): Promise<readonly number[]> =>
  (await Promise.all(answers)).map(({ code }) => code)

/** Keys in the wrong part of a request. */
async function misplacedKeys({
  gateway,
  ca,
  plant,
  createKey,
  received,
}: CanaryCluster): Promise<void> {
  const { token: good } = await createKey('valid key beside a misplaced one')
  const to = { url: gateway.url(), ca }
  for (const place of MISPLACED_CREDENTIALS) {
    // An unknown key, and a valid one.
    const { token } = await createKey(place.name)
    for (const secret of [plant(`unknown: ${place.name}`), token]) {
      const answer = await sendMisplaced(to, place, secret, good)
      const isUnknown = secret !== token && place.name === 'a WebSocket upgrade'
      expect(`${place.name}: ${answer.split(' ')[1]}`).toBe(
        `${place.name}: ${isUnknown ? 401 : place.code}`,
      )
      received.push(answer)
    }
  }
}

/** Requests that the gateway or the API server refuses. */
async function refusedRequests({ send, createKey, plant }: CanaryCluster): Promise<void> {
  const { token } = await createKey('refused')
  const scope = { rules: [{ verbs: ['get'], resources: [{ resources: ['pods'] }] }] }
  const scoped = await createKey('refused by its scope', { scope })
  expect(
    await codesOf([
      send(token, 'GET', '/version'),
      send(token, 'GET', NAMESPACES),
      send(token, 'GET', '/apis/nothing.example.com/v1/things'),
      send(token, 'GET', '/api/v1/%00'),
      send(token, 'TRACE', '/version'),
      send(scoped.token, 'GET', NAMESPACES),
      send(plant('unknown: of no key'), 'GET', NAMESPACES),
      send('', 'GET', NAMESPACES),
    ]),
  ).toEqual([200, 403, 403, 400, 405, 403, 401, 401])
}

/** Valid and invalid writes of a user's own keys. */
async function selfServiceWrites({
  send,
  createKey,
  keys,
  plant,
  planted,
}: CanaryCluster): Promise<void> {
  const { object, token } = await createKey('caller', { type: 'Login' })
  const one = `${KEYS}/${object.metadata.name}`
  await keys.until(
    object,
    'is written to by the operator',
    ({ metadata }) => metadata.resourceVersion !== object.metadata.resourceVersion,
  )
  const given = plant('given')
  const created = async (body: object): Promise<StoredKey> => {
    const answer = await send(token, 'POST', KEYS, { body })
    expect(answer.code).toBe(201)
    return JSON.parse(answer.body) as StoredKey
  }
  const made = await created({})
  planted.push({ label: 'made', secret: made.spec.key ?? '' })
  await created({ spec: { key: given } })
  const envelope = { apiVersion: API_VERSION, kind: 'OwnedAccessKey' }
  const annotated = { annotations: { [LAST_APPLIED]: JSON.stringify({ spec: { key: given } }) } }
  const post = (body: unknown) => send(token, 'POST', KEYS, { body })
  const patch = (body: unknown, type?: string) =>
    send(token, 'PATCH', `${one}?fieldManager=x`, { body, ...(type ? { type } : {}) })
  const copy = { op: 'copy', from: '/spec/key', path: '/metadata/annotations/a' }
  const answers = [
    post({ spec: { key: `${plant('with a space')} !` } }),
    post({ spec: { kee: plant('mistyped') } }),
    post({ spec: { user: 'bob', key: plant('of another user') } }),
    post({ metadata: annotated, spec: { key: given } }),
    post(`{"spec":{"key":"${plant('broken JSON')}`),
    patch({ spec: { kee: 'x' } }),
    patch({ spec: { key: plant('another') } }),
    patch([copy], JSON_PATCH),
    patch([{ op: 'test', path: '/spec/key', value: 'x' }], JSON_PATCH),
    patch({ ...envelope, spec: { kee: plant('applied') } }, APPLY_PATCH),
    send(token, 'PUT', one, {
      body: { ...envelope, metadata: { name: object.metadata.name }, spec: { kee: 'x' } },
    }),
    // Conflicts: the operator has written to the key since.
    send(token, 'PUT', one, {
      body: { ...envelope, metadata: object.metadata, spec: { user: 'ada', kee: 'x' } },
    }),
  ]
  const codes = [422, 400, 403, 422, 400, 422, 422, 422, 422, 500, 400, 409]
  expect(await codesOf(answers)).toEqual(codes)
}

/** Reads by a cluster admin, who sees everything except hidden fields. */
async function adminReads({ send, createKey }: CanaryCluster): Promise<void> {
  const { token } = await createKey('reader', { user: CLUSTER_ADMIN })
  const accepts = ['application/json', 'application/yaml', TABLE, METADATA_LIST]
  const paths = [KEYS, `${GROUP_PATH}/directclusterendpointtokens`, `${GROUP_PATH}/configs`]
  for (const path of paths) {
    for (const accept of accepts) {
      const { code } = await send(token, 'GET', path, { accept })
      expect(code).toBe(200)
    }
  }
}

/** Watches that the end of their key terminates, for each way that a key ends. */
async function terminatedWatches(cluster: CanaryCluster): Promise<void> {
  const { send, createKey, keys, received } = cluster
  const ways: readonly ((key: KeyWithSecrets) => Promise<unknown>)[] = [
    ({ object }) => keys.patch(object, { spec: { disabled: true } }),
    ({ object }) => keys.remove(object),
    ({ object }) => keys.patch(object, { spec: { scope: { projects: [{ project: 'x' }] } } }),
    // Expires by its ttl.
    async () => undefined,
  ]
  await Promise.all(
    ways.map(async (way, at) => {
      const ttl = at === ways.length - 1 ? { ttl: 15 } : {}
      const key = await createKey(`ends ${at}`, { user: CLUSTER_ADMIN, ...ttl })
      const { ended } = await openWatch(cluster, key)
      await way(key)
      const text = await ended
      received.push(text)
      expect(text).toContain('"ERROR"')
      await send(key.token, 'GET', '/version')
    }),
  )
}

/** Opens a watch of all keys; `ended` resolves with its text. */
function openWatch(
  { gateway, ca }: CanaryCluster,
  { token }: KeyWithSecrets,
): Promise<{ readonly ended: Promise<string> }> {
  const url = `${gateway.url()}${MANAGEMENT}${KEYS}?watch=true`
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const request = get(url, { ca, agent: false, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      const ended = once(answer, 'close').then(() => text)
      resolve({ ended })
    })
    request.once('error', reject)
  })
}

/** An error that quotes a secret, as the API server does for an invalid value. */
const quoting = (status: number, text: string): Act => {
  const message = `OwnedAccessKey "x" is invalid: spec: Invalid value: {"key":"${text}"}`
  const causes = [{ reason: 'FieldValueInvalid', field: 'spec', message }]
  const body = { kind: 'Status', status: 'Failure', reason: 'Invalid', code: status, message }
  return { kind: 'answer', status, body: { ...body, details: { causes } } }
}

/** The gateway's own requests get errors that quote a secret. */
async function quotingErrors({ proxy, send, createKey, plant }: CanaryCluster): Promise<void> {
  const isHeartbeat: Match = ({ method, path }) =>
    method === 'PATCH' && path.endsWith('/platform-heartbeat')
  const isActivity: Match = ({ method, path }) => method === 'PATCH' && path.endsWith('/status')
  const sliding = { ttl: 15, ttlAfterLastActivity: true }
  for (const status of [400, 422, 500]) {
    const { token } = await createKey(`its activity write is answered ${status}`, sliding)
    const rules = [
      proxy.on(first(1, isActivity), quoting(status, token)),
      proxy.on(first(1, isHeartbeat), quoting(status, plant(`heartbeat answered ${status}`))),
    ]
    const use = async () => (await send(token, 'GET', '/version'), rules[0]?.hits[0])
    await eventually('the gateway records the use', use, SOON)
    await rules[1]?.reached(SOON)
  }
  const watch = proxy.on(first(1, isWatchOf('ownedaccesskeys')), quoting(400, plant('a watch')))
  proxy.cut(isWatchOf('ownedaccesskeys'))
  await watch.reached(SOON)
}

/** The API server is down for a moment. */
async function outage({ plane, send, createKey, plant }: CanaryCluster): Promise<void> {
  const { token } = await createKey('outage')
  await plane.apiServer.stop()
  const codes = await codesOf([
    send(token, 'GET', NAMESPACES),
    send(token, 'POST', KEYS, { body: { spec: { key: plant('created in an outage') } } }),
    send(plant('unknown: in an outage'), 'GET', NAMESPACES),
  ])
  expect(codes.slice(0, 2)).toEqual([503, 503])
  await plane.apiServer.start()
  const isBack = async () => (await send(token, 'GET', '/version')).code === 200 || undefined
  await eventually('the gateway serves again', isBack, { withinMs: 60_000 })
}

/** A token that is issued, misused as a key, and revoked. */
async function issuedToken({
  send,
  createKey,
  keys,
  tokens,
  planted,
}: CanaryCluster): Promise<void> {
  const { object, token } = await createKey('owner of a token', { type: 'Login' })
  const path = `${GROUP_PATH}/directclusterendpointtokens`
  const create = () => send(token, 'POST', path, { body: {} })
  const answer = await create()
  // An operator that is busy for five seconds issues no token (12.2).
  const { code, body } = answer.code === 504 ? await create() : answer
  expect(code).toBe(201)
  const made = JSON.parse(body) as StoredToken
  const [, claims = '', signature = ''] = bearerOf(made).split('.')
  planted.push(
    { label: 'token: claims', secret: claims },
    { label: 'token: signature', secret: signature },
  )
  expect((await send(bearerOf(made), 'GET', '/version')).code).toBe(401)
  await keys.patch(object, { spec: { disabled: true } })
  await tokens.shown(made, 'Revoked')
}

/** A Config with secrets by reference, then with a literal one. */
async function configWithSecrets({ settings, plant }: CanaryCluster): Promise<void> {
  const oidc = {
    issuerUrl: 'https://idp.example.com',
    clientId: 'a',
    clientSecret: `$${SECRET_VARIABLE}`,
  }
  const url = `mysql://user:${plant('DSN')}@db.example.com:3306/x`
  await settings.secret(
    `{auth: {oidc: {clientSecret: ${plant('clientSecret')}}}, database: {dataSource: "${url}"}}`,
  )
  await settings.declare({ auth: { oidc } })
  await settings.settled('settings are in force', ({ database }) => database !== undefined)
  const literal = { ...oidc, clientSecret: plant('a literal') }
  await settings.declare({ auth: { oidc: literal } })
  await settings.settled('the literal is reported', (status) =>
    JSON.stringify(status.conditions).includes('"Invalid"'),
  )
}

/** Looks for the private keys of the gateway's certificates, as base64 of PEM. */
async function plantCertificateKeys({ plane, planted }: CanaryCluster): Promise<void> {
  const { namespace } = GATEWAY_ACCOUNT
  const names = [GATEWAY_CA_SECRET, GATEWAY_TLS_SECRET]
  const secrets = await Promise.all(
    names.map((name) => plane.admin.get<Secret>(SECRETS, { namespace, name })),
  )
  for (const [label, data] of secrets.flatMap((secret) => Object.entries(secret?.data ?? {}))) {
    if (label.endsWith('.key'))
      planted.push(privateKeyCanary(label, Buffer.from(data, 'base64').toString()))
  }
}

/** Runs all of them; those that would disturb others run by themselves. */
export async function runCanaryLifecycles(cluster: CanaryCluster): Promise<void> {
  await plantCertificateKeys(cluster)
  await configWithSecrets(cluster)
  await Promise.all(
    [misplacedKeys, refusedRequests, selfServiceWrites, issuedToken].map((part) => part(cluster)),
  )
  await Promise.all([adminReads, terminatedWatches].map((part) => part(cluster)))
  await quotingErrors(cluster)
  await outage(cluster)
}
