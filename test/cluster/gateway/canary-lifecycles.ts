// What can happen to secrets at a gateway: where people put them, what refuses them, what ends them.
import { createPrivateKey } from 'node:crypto'
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
import { isWatchOf } from '../../faults/observed-writes.ts'
import { eventually } from '../../support/eventually.ts'
import { type Act, type Match, first } from '../../support/fault-proxy-rules.ts'
import type { GatewayAnswer } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT, LAST_APPLIED } from '../../support/installed-control-plane.ts'
import type { StoredKey } from '../keys/key-client.ts'
import { bearerOf } from '../tokens/platform-state.ts'
import type { StoredToken } from '../tokens/token-client.ts'
import { type CanaryCluster, type SecretPlace, ROOT, VARIABLE } from './canary-cluster.ts'
import { APPLY_PATCH, JSON_PATCH, METADATA_LIST, OURS, TABLE } from './keys/self-service-clients.ts'
import { MISPLACED_CREDENTIALS, sendMisplaced } from './misplaced-credentials.ts'
import { MANAGEMENT, SOON } from './test-gateway.ts'

const KEYS = `${OURS}/ownedaccesskeys`
const NAMESPACES = '/api/v1/namespaces'

/** The codes of answers, in order, so that what was to happen did. */
const codesOf = async (answers: readonly Promise<GatewayAnswer>[]): Promise<readonly number[]> =>
  (await Promise.all(answers)).map(({ code }) => code)

/** Keys where they should not be. */
async function badPlaces({ gateway, ca, plant, holding, told }: CanaryCluster): Promise<void> {
  const { token: good } = await holding('good one beside a bad place')
  const to = { url: gateway.url(), ca }
  for (const place of MISPLACED_CREDENTIALS) {
    // One that nobody has, and one that would open.
    const { token } = await holding(place.name)
    for (const secret of [plant(`unknown: ${place.name}`), token]) {
      const answer = await sendMisplaced(to, place, secret, good)
      const isUnknown = secret !== token && place.code === 501
      expect(`${place.name}: ${answer.split(' ')[1]}`).toBe(
        `${place.name}: ${isUnknown ? 401 : place.code}`,
      )
      told.push(answer)
    }
  }
}

/** What a gateway refuses, or the API server behind it. */
async function refusals({ by, holding, plant }: CanaryCluster): Promise<void> {
  const { token } = await holding('refused')
  const scope = { rules: [{ verbs: ['get'], resources: [{ resources: ['pods'] }] }] }
  const scoped = await holding('refused by its scope', { scope })
  expect(
    await codesOf([
      by(token, 'GET', '/version'),
      by(token, 'GET', NAMESPACES),
      by(token, 'GET', '/apis/nothing.example.com/v1/things'),
      by(token, 'GET', '/api/v1/%00'),
      by(token, 'TRACE', '/version'),
      by(scoped.token, 'GET', NAMESPACES),
      by(plant('unknown: nobody has it'), 'GET', NAMESPACES),
      by('', 'GET', NAMESPACES),
    ]),
  ).toEqual([200, 403, 403, 400, 405, 403, 401, 401])
}

/** What people do to keys of their own, right and wrong. */
async function selfService({ by, holding, keys, plant, planted }: CanaryCluster): Promise<void> {
  const { object, token } = await holding('caller', { type: 'Login' })
  const one = `${KEYS}/${object.metadata.name}`
  await keys.until(
    object,
    'is written to by the operator',
    ({ metadata }) => metadata.resourceVersion !== object.metadata.resourceVersion,
  )
  const given = plant('given')
  const madeIn = async (body: object): Promise<StoredKey> => {
    const answer = await by(token, 'POST', KEYS, { body })
    expect(answer.code).toBe(201)
    return JSON.parse(answer.body) as StoredKey
  }
  const made = await madeIn({})
  planted.push({ label: 'made', secret: made.spec.key ?? '' })
  await madeIn({ spec: { key: given } })
  const envelope = { apiVersion: API_VERSION, kind: 'OwnedAccessKey' }
  const annotated = { annotations: { [LAST_APPLIED]: JSON.stringify({ spec: { key: given } }) } }
  const post = (body: unknown) => by(token, 'POST', KEYS, { body })
  const patch = (body: unknown, type?: string) =>
    by(token, 'PATCH', `${one}?fieldManager=x`, { body, ...(type ? { type } : {}) })
  const copy = { op: 'copy', from: '/spec/key', path: '/metadata/annotations/a' }
  const answers = [
    post({ spec: { key: `${plant('with a space')} !` } }),
    post({ spec: { kee: plant('mistyped') } }),
    post({ spec: { user: 'bob', key: plant("somebody else's") } }),
    post({ metadata: annotated, spec: { key: given } }),
    post(`{"spec":{"key":"${plant('no JSON')}`),
    patch({ spec: { kee: 'x' } }),
    patch({ spec: { key: plant('another') } }),
    patch([copy], JSON_PATCH),
    patch([{ op: 'test', path: '/spec/key', value: 'x' }], JSON_PATCH),
    patch({ ...envelope, spec: { kee: plant('applied') } }, APPLY_PATCH),
    by(token, 'PUT', one, {
      body: { ...envelope, metadata: { name: object.metadata.name }, spec: { kee: 'x' } },
    }),
    // Not the object's any more: the operator has written to it.
    by(token, 'PUT', one, {
      body: { ...envelope, metadata: object.metadata, spec: { user: 'ada', kee: 'x' } },
    }),
  ]
  const codes = [422, 400, 403, 422, 400, 422, 422, 422, 422, 500, 400, 409]
  expect(await codesOf(answers)).toEqual(codes)
}

/** What those get who may read everything but what is hidden. */
async function readers({ by, holding }: CanaryCluster): Promise<void> {
  const { token } = await holding('reader', { user: ROOT })
  const accepts = ['application/json', 'application/yaml', TABLE, METADATA_LIST]
  const paths = [KEYS, `${OURS}/directclusterendpointtokens`, `${OURS}/configs`]
  for (const path of paths) {
    for (const accept of accepts) {
      const { code } = await by(token, 'GET', path, { accept })
      expect(code).toBe(200)
    }
  }
}

/** Watches that end with their key, by whatever ends it. */
async function endings(stand: CanaryCluster): Promise<void> {
  const { by, holding, keys, told } = stand
  const ways: readonly ((held: SecretPlace) => Promise<unknown>)[] = [
    ({ object }) => keys.patch(object, { spec: { disabled: true } }),
    ({ object }) => keys.remove(object),
    ({ object }) => keys.patch(object, { spec: { scope: { projects: [{ project: 'x' }] } } }),
    // Has an end of its own.
    async () => undefined,
  ]
  await Promise.all(
    ways.map(async (way, at) => {
      const ttl = at === ways.length - 1 ? { ttl: 15 } : {}
      const held = await holding(`ends ${at}`, { user: ROOT, ...ttl })
      const { ended } = await watching(stand, held)
      await way(held)
      const said = await ended
      told.push(said)
      expect(said).toContain('"ERROR"')
      await by(held.token, 'GET', '/version')
    }),
  )
}

/** A watch of everybody's keys that is open: all that it says until it ends. */
function watching(
  { gateway, ca }: CanaryCluster,
  { token }: SecretPlace,
): Promise<{ readonly ended: Promise<string> }> {
  const url = `${gateway.url()}${MANAGEMENT}${KEYS}?watch=true`
  return new Promise((opened, failed) => {
    const headers = { authorization: `Bearer ${token}` }
    const request = get(url, { ca, agent: false, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      const ended = once(answer, 'close').then(() => text)
      opened({ ended })
    })
    request.once('error', failed)
  })
}

/** An answer that quotes what it should not, as the API server does for a value it refuses. */
const quoting = (status: number, text: string): Act => {
  const message = `OwnedAccessKey "x" is invalid: spec: Invalid value: {"key":"${text}"}`
  const causes = [{ reason: 'FieldValueInvalid', field: 'spec', message }]
  const body = { kind: 'Status', status: 'Failure', reason: 'Invalid', code: status, message }
  return { kind: 'answer', status, body: { ...body, details: { causes } } }
}

/** The gateway's own requests are answered with what quotes a secret. */
async function misfortune({ line, by, holding, plant }: CanaryCluster): Promise<void> {
  const isBeat: Match = ({ method, path }) =>
    method === 'PATCH' && path.endsWith('/platform-heartbeat')
  const isActivity: Match = ({ method, path }) => method === 'PATCH' && path.endsWith('/status')
  const sliding = { ttl: 15, ttlAfterLastActivity: true }
  for (const status of [400, 422, 500]) {
    const { token } = await holding(`its use is answered ${status}`, sliding)
    const rules = [
      line.on(first(1, isActivity), quoting(status, token)),
      line.on(first(1, isBeat), quoting(status, plant(`heartbeat answered ${status}`))),
    ]
    const use = async () => (await by(token, 'GET', '/version'), rules[0]?.hits[0])
    await eventually('its use is to be recorded', use, SOON)
    await rules[1]?.reached(SOON)
  }
  const watch = line.on(first(1, isWatchOf('ownedaccesskeys')), quoting(400, plant('a watch')))
  line.cut(isWatchOf('ownedaccesskeys'))
  await watch.reached(SOON)
}

/** No API server for a moment. */
async function outage({ plane, by, holding, plant }: CanaryCluster): Promise<void> {
  const { token } = await holding('outage')
  await plane.apiServer.stop()
  const codes = await codesOf([
    by(token, 'GET', NAMESPACES),
    by(token, 'POST', KEYS, { body: { spec: { key: plant('made in an outage') } } }),
    by(plant('unknown: in an outage'), 'GET', NAMESPACES),
  ])
  expect(codes.slice(0, 2)).toEqual([503, 503])
  await plane.apiServer.start()
  const isBack = async () => (await by(token, 'GET', '/version')).code === 200 || undefined
  await eventually('all is well again', isBack, { withinMs: 60_000 })
}

/** A token that is issued, shown as a key, and revoked. */
async function issued({ by, holding, keys, tokens, planted }: CanaryCluster): Promise<void> {
  const { object, token } = await holding('owner of a token', { type: 'Login' })
  const path = `${OURS}/directclusterendpointtokens`
  const create = () => by(token, 'POST', path, { body: {} })
  const answer = await create()
  // An operator that has no time for five seconds issues none (12.2).
  const { code, body } = answer.code === 504 ? await create() : answer
  expect(code).toBe(201)
  const made = JSON.parse(body) as StoredToken
  const [, claims = '', signature = ''] = bearerOf(made).split('.')
  planted.push(
    { label: 'token: claims', secret: claims },
    { label: 'token: signature', secret: signature },
  )
  expect((await by(bearerOf(made), 'GET', '/version')).code).toBe(401)
  await keys.patch(object, { spec: { disabled: true } })
  await tokens.shown(made, 'Revoked')
}

/** Settings with secrets where they belong, and one where it does not. */
async function configured({ settings, plant }: CanaryCluster): Promise<void> {
  const oidc = { issuerUrl: 'https://idp.example.com', clientId: 'a', clientSecret: `$${VARIABLE}` }
  const url = `mysql://user:${plant('DSN')}@db.example.com:3306/x`
  await settings.secret(
    `{auth: {oidc: {clientSecret: ${plant('clientSecret')}}}, database: {dataSource: "${url}"}}`,
  )
  await settings.declare({ auth: { oidc } })
  await settings.settled('settings are in force', ({ database }) => database !== undefined)
  const literal = { ...oidc, clientSecret: plant('a literal') }
  await settings.declare({ auth: { oidc: literal } })
  await settings.settled('a literal is told of', (status) =>
    JSON.stringify(status.conditions).includes('"Invalid"'),
  )
}

/** The gateway's own keys: what is private of them, as PEM writes it. */
async function noteCertificate({ plane, planted }: CanaryCluster): Promise<void> {
  const { namespace } = GATEWAY_ACCOUNT
  const names = [GATEWAY_CA_SECRET, GATEWAY_TLS_SECRET]
  const secrets = await Promise.all(
    names.map((name) => plane.admin.get<Secret>(SECRETS, { namespace, name })),
  )
  for (const [label, data] of secrets.flatMap((secret) => Object.entries(secret?.data ?? {}))) {
    if (!label.endsWith('.key')) continue
    const key = createPrivateKey(Buffer.from(data, 'base64'))
    const der = key.export({ type: 'pkcs8', format: 'der' })
    const part = Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url')
    const at = der.indexOf(part)
    // Three bytes are four characters: those that hold nothing else.
    const [from, to] = [Math.ceil(at / 3), Math.floor((at + part.length) / 3)]
    planted.push({ label, secret: der.toString('base64').slice(4 * from, 4 * to) })
  }
}

/** All of it, one thing after the other where one would disturb the other. */
export async function runCanaryLifecycles(stand: CanaryCluster): Promise<void> {
  await noteCertificate(stand)
  await configured(stand)
  await Promise.all([badPlaces, refusals, selfService, issued].map((part) => part(stand)))
  await Promise.all([readers, endings].map((part) => part(stand)))
  await misfortune(stand)
  await outage(stand)
}
