// Secrets are planted wherever a caller or an administrator might put one, and gateway and operator go through
// all that can happen to them at their highest log level; then everything that either wrote, to whomever, is
// searched for parts of them (contract 3.5, 10.2; threats 2.6, C8).
import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Secret } from '../../../src/api/core.ts'
import { GATEWAY_TLS_SECRET, SECRETS } from '../../../src/api/group.ts'
import { LOG_LEVELS } from '../../../src/runtime/log.ts'
import { auditOf } from '../../support/audit.ts'
import { type Canary, canary, scan } from '../../support/canary.ts'
import { settingsOf } from '../../support/config.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import {
  ask,
  type AskOptions,
  type GatewayAnswer,
  gatewayCa,
  startGateway,
} from '../../support/gateway.ts'
import { GATEWAY_ACCOUNT, LAST_APPLIED } from '../../support/installed.ts'
import { ISSUER, startOperator } from '../../support/operator.ts'
import { startProxy } from '../../support/proxy.ts'
import { type Act, first, type Match } from '../../support/proxy-rules.ts'
import { isWatchOf } from '../../faults/watches.ts'
import { keysOf, type StoredKey } from '../keys/keys.ts'
import { secretive, SECRET_FIELDS } from '../keys/lives.ts'
import { bound } from '../policies/callers.ts'
import { bearerOf } from '../tokens/platform.ts'
import { type StoredToken, tokensOf } from '../tokens/tokens.ts'
import { answerThere, BAD_PLACES } from './bad-places.ts'
import { MANAGEMENT, SOON } from './front.ts'
import { auditSinks, sinksOf, type Sinks, storedSinks } from './sinks.ts'

const folder = mkdtempSync(join(tmpdir(), 'canaries-'))
const POLICY = join(folder, 'audit-policy.json')
writeFileSync(
  POLICY,
  JSON.stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'RequestResponse' }],
  }),
)
const planted: Canary[] = []
const VARIABLE = 'PLATFORM_CONFIG_IDP'
const variable = canary('environment')

/** A new secret that is to be found nowhere. */
function plant(label: string): string {
  const made = canary(label)
  planted.push(made)
  return made.secret
}

const plane = await privateControlPlane({ apiServerFlags: [`--audit-policy-file=${POLICY}`] })
const line = await startProxy(plane)
const flags = [`--log-level=${LOG_LEVELS[0]}`, `--issuer-url=${ISSUER}`]
const operator = await startOperator({
  kubeconfig: await plane.operatorKubeconfig(),
  flags: [...flags, '--leader-elect'],
  env: { [VARIABLE]: variable.secret },
})
const own = await plane.serviceAccountKubeconfig(GATEWAY_ACCOUNT.namespace, GATEWAY_ACCOUNT.name)
/** Given to the gateway where it looks at nothing: to be found in its environment. */
const unused = canary('unused')
const gateway = await startGateway({
  kubeconfig: await line.kubeconfig(own),
  flags,
  env: { UNUSED: unused.secret },
})
afterAll(async () => {
  await Promise.all([gateway.stop(), operator.stop()])
  await line[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})
const ca = await gatewayCa(plane.admin)
const keys = keysOf(plane)
const tokens = tokensOf(plane)
const settings = settingsOf(plane)
const audit = auditOf(plane)
await bound(plane, 'root-user', 'cluster-admin')

/** Everything that callers were told but the answers that are to show a credential. */
const told: string[] = []
const shown: string[] = []

/** One request by a key; a body is JSON unless it is text. */
async function by(
  token: string,
  method: string,
  path: string,
  body?: unknown,
  headers: AskOptions['headers'] = {},
): Promise<GatewayAnswer> {
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
  const answer = await ask(`${gateway.url()}${MANAGEMENT}${path}`, {
    ca,
    method,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  })
  const { code, body: said } = answer
  const isShown = code === 201 && /ownedaccesskeys$|endpointtokens$/.test(path)
  ;(isShown ? shown : told).push(JSON.stringify(answer.headers), said)
  return answer
}

/** The codes of answers, in order, so that what was to happen did. */
const codesOf = async (answers: readonly Promise<GatewayAnswer>[]): Promise<readonly number[]> =>
  (await Promise.all(answers)).map(({ code }) => code)

interface Held {
  readonly object: StoredKey
  readonly token: string
}

/** A key with a secret in each of its fields, once the gateway takes it. */
async function holding(label: string, given: Parameters<typeof secretive>[2] = {}): Promise<Held> {
  const spec = secretive(plant, label, { user: 'ada', ...given })
  const object = await keys.create(spec)
  const isTaken = async () =>
    (await by(spec.key ?? '', 'GET', '/version')).code !== 401 || undefined
  await eventually('the gateway takes the key', isTaken, SOON)
  return { object, token: spec.key ?? '' }
}

const OURS = '/apis/management.platform.sh/v1'
const KEYS = `${OURS}/ownedaccesskeys`
const NAMESPACES = '/api/v1/namespaces'

async function badPlaces(): Promise<void> {
  const { token: good } = await holding('good one beside a bad place')
  const to = { url: gateway.url(), ca }
  for (const place of BAD_PLACES) {
    // One that nobody has, and one that would open.
    const { token } = await holding(place.name)
    for (const secret of [plant(`unknown: ${place.name}`), token]) {
      const answer = await answerThere(to, place, secret, good)
      const isUnknown = secret !== token && place.code === 501
      expect(`${place.name}: ${answer.split(' ')[1]}`).toBe(
        `${place.name}: ${isUnknown ? 401 : place.code}`,
      )
      told.push(answer)
    }
  }
}

async function refusals(): Promise<void> {
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
      by(plant('nobody has it'), 'GET', NAMESPACES),
      by('', 'GET', NAMESPACES),
    ]),
  ).toEqual([200, 403, 403, 400, 405, 403, 401, 401])
}

/** What people do to keys of their own, right and wrong. */
async function selfService(): Promise<void> {
  const { object, token } = await holding('caller', { type: 'Login' })
  const one = `${KEYS}/${object.metadata.name}`
  const jsonPatch = { 'content-type': 'application/json-patch+json' }
  const apply = { 'content-type': 'application/apply-patch+yaml' }
  const given = plant('given')
  const madeIn = async (body: object): Promise<StoredKey> => {
    const answer = await by(token, 'POST', KEYS, body)
    expect(answer.code).toBe(201)
    return JSON.parse(answer.body) as StoredKey
  }
  const made = await madeIn({})
  planted.push({ label: 'made', secret: made.spec.key ?? '' })
  await madeIn({ spec: { key: given } })
  const envelope = { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey' }
  const annotated = { annotations: { [LAST_APPLIED]: JSON.stringify({ spec: { key: given } }) } }
  const answers = [
    by(token, 'POST', KEYS, { spec: { key: `${plant('with a space')} !` } }),
    by(token, 'POST', KEYS, { spec: { kee: plant('mistyped') } }),
    by(token, 'POST', KEYS, { spec: { user: 'bob', key: plant("somebody else's") } }),
    by(token, 'POST', KEYS, { metadata: annotated, spec: { key: given } }),
    by(token, 'POST', KEYS, `{"spec":{"key":"${plant('no JSON')}`),
    by(token, 'PATCH', one, { spec: { kee: 'x' } }),
    by(token, 'PATCH', one, { spec: { key: plant('another') } }),
    by(
      token,
      'PATCH',
      one,
      [{ op: 'copy', from: '/spec/key', path: '/metadata/annotations/a' }],
      jsonPatch,
    ),
    by(token, 'PATCH', one, [{ op: 'test', path: '/spec/key', value: 'x' }], jsonPatch),
    by(
      token,
      'PATCH',
      `${one}?fieldManager=x`,
      { ...envelope, spec: { kee: plant('applied') } },
      apply,
    ),
    by(token, 'PUT', one, {
      ...envelope,
      metadata: object.metadata,
      spec: { user: 'ada', kee: 'x' },
    }),
  ]
  expect(await codesOf(answers)).toEqual([422, 400, 403, 422, 400, 422, 422, 422, 422, 500, 400])
}

/** What those get who may read everything but what is hidden. */
async function readers(): Promise<void> {
  const { token } = await holding('reader', { user: 'root-user' })
  const accepts = [
    'application/json',
    'application/yaml',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  ]
  const paths = [KEYS, `${OURS}/directclusterendpointtokens`, `${OURS}/configs`]
  for (const path of paths) {
    for (const accept of accepts) {
      const { code } = await by(token, 'GET', path, undefined, { accept })
      expect(code).toBe(200)
    }
  }
}

/** Watches that end with their key, by whatever ends it. */
async function endings(): Promise<void> {
  const ways: readonly ((held: Held) => Promise<unknown>)[] = [
    ({ object }) => keys.patch(object, { spec: { disabled: true } }),
    ({ object }) => keys.remove(object),
    ({ object }) => keys.patch(object, { spec: { scope: { projects: [{ project: 'x' }] } } }),
    // Has an end of its own.
    async () => undefined,
  ]
  await Promise.all(
    ways.map(async (way, at) => {
      const ttl = at === ways.length - 1 ? { ttl: 5 } : {}
      const held = await holding(`ends ${at}`, { user: 'root-user', ...ttl })
      const { ended } = await watching(held.token)
      await way(held)
      const said = await ended
      told.push(said)
      expect(said).toContain('"ERROR"')
      await by(held.token, 'GET', '/version')
    }),
  )
}

/** A watch of everybody's keys that is open: all that it says until it ends. */
function watching(token: string): Promise<{ readonly ended: Promise<string> }> {
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
async function misfortune(): Promise<void> {
  const isBeat: Match = ({ method, path }) =>
    method === 'PATCH' && path.endsWith('/platform-heartbeat')
  const isActivity: Match = ({ method, path }) => method === 'PATCH' && path.endsWith('/status')
  const sliding = { ttl: 4, ttlAfterLastActivity: true }
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
async function outage(): Promise<void> {
  const { token } = await holding('outage')
  await plane.apiServer.stop()
  const codes = await codesOf([
    by(token, 'GET', NAMESPACES),
    by(token, 'POST', KEYS, { spec: { key: plant('made in an outage') } }),
    by(plant('unknown in an outage'), 'GET', NAMESPACES),
  ])
  expect(codes.slice(0, 2)).toEqual([503, 503])
  await plane.apiServer.start()
  const isBack = async () => (await by(token, 'GET', '/version')).code === 200 || undefined
  await eventually('all is well again', isBack, { withinMs: 60_000 })
}

/** A token that is issued, shown as a key, and revoked. */
async function issued(): Promise<void> {
  const { object, token } = await holding('owner of a token', { type: 'Login' })
  const path = `${OURS}/directclusterendpointtokens`
  const { code, body } = await by(token, 'POST', path, {})
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
async function configured(): Promise<void> {
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
async function noteCertificate(): Promise<void> {
  const { namespace } = GATEWAY_ACCOUNT
  const secret = await plane.admin.get<Secret>(SECRETS, { namespace, name: GATEWAY_TLS_SECRET })
  for (const [label, data] of Object.entries(secret?.data ?? {})) {
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

/** What is in each sink by rights: were it a secret, it would be found. */
const KNOWN: Readonly<Record<string, string>> = {
  'log of the gateway': 'platform.example.com',
  'metrics of the gateway': 'platform_gateway_authentication_total',
  'health of the gateway': 'heartbeat-heard',
  'command line of the gateway': ISSUER,
  'environment of the gateway': unused.secret,
  'log of the operator': 'token issued',
  'metrics of the operator': 'platform_tokens_issued_total',
  'health of the operator': 'signing-key-loaded',
  'command line of the operator': '--leader-elect',
  'environment of the operator': variable.secret,
  'metadata of all objects': 'platform-heartbeat',
  events: 'InvalidConfig',
  Leases: 'management-operator',
  ConfigMaps: 'platform-config-in-force',
  'status of keys': '"reason":"Active"',
  'status of tokens': '"reason":"Revoked"',
  'status of Configs': 'clientSecret',
  'audit log of the gateway': 'platform.sh/access-key',
  'audit log, bodies of credentials': 'connectorData',
  'what callers were told': 'platform access key not found',
}

test('a secret is in nothing that gateway and operator write (3.5, 12.4; 2.6, C8)', {
  timeout: 180_000,
}, async () => {
  const mark = await audit.mark()
  await noteCertificate()
  await configured()
  await Promise.all([badPlaces(), refusals(), selfService(), issued()])
  await Promise.all([readers(), endings()])
  await misfortune()
  await outage()
  const last = await holding('after all that')

  const sinks: Sinks = {
    ...(await sinksOf('gateway', gateway)),
    ...(await sinksOf('operator', operator)),
    // A server that has just started serves some kinds a moment later.
    ...(await eventually('all kinds are served', () => storedSinks(plane), SOON)),
    ...(await auditSinks(audit, mark)),
    'what callers were told': told.join('\n'),
  }
  const known = Object.entries(sinks).filter(
    ([sink, text]) =>
      scan({ [sink]: text }, [{ label: 'known', secret: KNOWN[sink] ?? '' }]).length,
  )
  expect(known.map(([sink]) => sink)).toEqual(Object.keys(sinks))

  const foundIn = (canaries: readonly Canary[]): readonly string[] =>
    scan(sinks, canaries).map(({ sink, label }) => `${sink}: ${label}`)
  const isBody = (found: string): boolean => found.startsWith('audit log, bodies of credentials')
  expect(foundIn(planted).filter((found) => !isBody(found))).toEqual([])
  expect(foundIn(planted).some(isBody)).toBe(true)
  expect(foundIn([variable])).toEqual(['environment of the operator: environment'])
  expect(
    scan({ shown: shown.join('\n') }, planted)
      .map(({ label }) => label)
      .toSorted(),
  ).toEqual(['given', 'made', 'token: claims', 'token: signature'])
  expect(scan({ spec: JSON.stringify(last.object.spec) }, planted)).toHaveLength(SECRET_FIELDS)
})
