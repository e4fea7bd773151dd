/** @module-tag no-retry */
// Canaries in private keys, tokens and scopes in every state: no output of the operator (requests, logs, metrics,
// events) contains a part of them but where it belongs (contract 3.5, 7.3).
import { createPrivateKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ACCESS_KEYS,
  CONFIG_MAPS,
  EXPIRED_ANNOTATION,
  ROTATE_ANNOTATION,
  TOKENS,
  WITHDRAW_ANNOTATION,
} from '../../../src/api/names.ts'
import type { Secret } from '../../../src/api/objects.ts'
import type { Scope } from '../../../src/api/scope.gen.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { auditOf } from '../../support/audit-log.ts'
import { type Canary, plantCanary, findCanaries } from '../../support/canary.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import { IN_FORCE_PATH, RECORD_PATH, isReadyBy, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import {
  type Act,
  type FaultProxy,
  type SeenRequest,
  first,
  startProxy,
} from '../../support/fault-proxy.ts'
import { OPERATOR_ACCOUNT, OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { keyClientOf } from '../keys/key-client.ts'
import {
  JWKS_PATH,
  SECRETS_PATH,
  bearerOf,
  generationOf,
  platformStateOf,
} from './platform-state.ts'
import { kidInUse, kidsIn, signingKeyClientOf } from './signing-key-client.ts'
import { type StoredToken, issuedInTime, tokenClientOf, under } from './token-client.ts'

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const tokens = tokenClientOf(plane)
const platform = platformStateOf(plane)
const signingKeys = signingKeyClientOf(plane)
const audit = auditOf(plane)
const settings = settingsOf(plane)
const CONFIG_MAPS_PATH = pathOf(CONFIG_MAPS, { namespace: OPERATOR_ACCOUNT.namespace })

/** Secrets that no output may contain. */
const planted: Canary[] = []
/** Names in scopes, which only claims of tokens may contain. */
const scopes: Canary[] = []
const bearers: Canary[] = []
const privateKeys: Canary[] = []
let proxy: FaultProxy
let operator: OwnOperator

beforeAll(async () => {
  proxy = await startProxy(plane)
  const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
  const flags = ['--log-level=debug', `--issuer-url=${ISSUER}`]
  operator = await startOperator({ kubeconfig, flags })
  await settings.settled('defaults are in force', isReadyBy('Applied'))
})
afterAll(async () => {
  await operator?.stop()
  await proxy?.[Symbol.asyncDispose]()
})

/** A new canary. */
function plant(among: Canary[], label: string): string {
  const made = plantCanary(label)
  among.push(made)
  return made.secret
}

/** A scope with a canary in each kind of field. */
const scopeOf = (label: string): Scope => ({
  projects: [{ project: plant(scopes, `${label}: project`) }],
  clusters: [{ cluster: plant(scopes, `${label}: cluster`) }],
  rules: [
    {
      verbs: ['get'],
      resources: [
        { resources: ['secrets'], resourceNames: [plant(scopes, `${label}: resourceName`)] },
      ],
      namespaces: [plant(scopes, `${label}: namespace`)],
    },
  ],
})

/** Records the token in status, without its header, which is no secret. */
function noted(token: StoredToken): StoredToken {
  const [, claims = '', signature = ''] = bearerOf(token).split('.')
  const label = token.metadata.name
  bearers.push({ label: `${label}: claims`, secret: claims })
  bearers.push({ label: `${label}: signature`, secret: signature })
  return token
}

/** Records the present private keys as JWK and PEM. */
async function noteKeys(): Promise<void> {
  for (const secret of await platform.secrets()) {
    const pem = Buffer.from(secret.data?.['private-key.pem'] ?? '', 'base64')
    const { d = '' } = createPrivateKey(pem).export({ format: 'jwk' })
    const label = secret.metadata.name
    privateKeys.push({ label, secret: d })
    privateKeys.push({ label, secret: Buffer.from(d, 'base64url').toString('base64') })
  }
}

/** A response that quotes a secret, as the API server does with a value that it rejects. */
const quoting = (status: number, label: string): Act => {
  const text = plant(planted, label)
  const message = `Invalid value: "${text}"`
  const causes = [{ reason: 'FieldValueInvalid', field: 'x', message }]
  const body = { kind: 'Status', status: 'Failure', reason: 'Invalid', code: status, message }
  return { kind: 'answer', status, body: { ...body, details: { causes } } }
}

/** Matches the operator's first write with a method to a path. */
const firstTo = (method: string, path: string) =>
  first(1, (request) => request.method === method && request.path.startsWith(path))

const owner = async (label: string) =>
  keys.shown(await keys.create({ user: 'ada', scope: scopeOf(label) }), 'Active')

/** Functions that each take a token through one lifecycle. */
const LIFECYCLES: readonly (() => Promise<unknown>)[] = [
  async () => noted(await tokens.issue({ scope: scopeOf('alone') })),
  async () => {
    const key = await owner('inherited, then narrowed')
    const token = noted(await tokens.issue({}, under(key)))
    await keys.patch(key, { spec: { scope: { projects: [{ project: 'other' }] } } })
    await tokens.shown(token, 'Revoked')
  },
  async () => {
    const key = await owner('exceeds its owner')
    const scope = { clusters: [{ cluster: 'other' }] }
    await tokens.shown(await tokens.create({ scope }, under(key)), 'ScopeExceedsOwner')
  },
  async () => {
    const scope = scopeOf('too large')
    const spaces = Array.from({ length: 64 }, (_, at) => ({
      project: 'p',
      space: `${at}${'x'.repeat(200)}`,
    }))
    await tokens.shown(await tokens.create({ scope: { ...scope, spaces } }), 'ScopeTooLarge')
  },
  async () => {
    const token = noted(await tokens.issue({ scope: scopeOf('deleted') }))
    await tokens.remove(token)
    await tokens.gone(token)
  },
  async () => {
    const annotations = { [EXPIRED_ANNOTATION]: 'Delete' }
    const scope = scopeOf('expires')
    const make = () => tokens.create({ ttl: 4, scope }, { annotations })
    await tokens.gone(noted(await issuedInTime(tokens, make)))
  },
  async () => {
    const token = noted(await tokens.issue({ scope: scopeOf('overwritten') }))
    const { code } = await plane.raw(
      'PATCH',
      pathOf(TOKENS, { name: token.metadata.name }, 'status'),
      {
        status: { token: plant(planted, 'written by another client') },
      },
    )
    expect(code).toBe(200)
    await tokens.shown(token, 'Revoked')
  },
]

/** Fails the writes of a token and of its revocation record, with responses that quote a secret. */
async function provokeFailedWrites(status: number): Promise<void> {
  const label = `answered ${status}`
  const name = uniqueName('quoted')
  const path = pathOf(TOKENS, { name })
  const rules = [
    proxy.on(firstTo('PATCH', `${path}/status`), quoting(status, `${label}: status`)),
    proxy.on(firstTo('PATCH', path), quoting(status, `${label}: adopt`)),
  ]
  const token = noted(await tokens.issue({ scope: scopeOf(label) }, { name }))
  rules.push(proxy.on(isRecord(), quoting(status, `${label}: record`)))
  await tokens.remove(token)
  await tokens.gone(token)
  for (const rule of rules) expect(rule.hits).toHaveLength(1)
}

const isRecord = () =>
  first(
    1,
    ({ method, path }) =>
      method !== 'GET' && path.startsWith(CONFIG_MAPS_PATH) && path !== JWKS_PATH,
  )

/** Rotates, withdraws and damages signing keys, with responses that quote a secret. */
async function provokeSigningKeyFaults(): Promise<void> {
  const refusal = proxy.on(firstTo('POST', SECRETS_PATH), quoting(422, 'Secret refused'))
  const conflict = proxy.on(firstTo('PUT', JWKS_PATH), quoting(422, 'published keys refused'))
  await platform.annotate(ROTATE_ANNOTATION, '')
  await signingKeys.published(2)
  expect([refusal, conflict].map(({ hits }) => hits.length)).toEqual([1, 1])
  await noteKeys()
  await platform.annotate(WITHDRAW_ANNOTATION, String(kidInUse(operator)))
  await signingKeys.published(1)
  // The Secret is deleted after the withdrawn key has left the JWKS.
  const [secret] = await platform.secretsUntil([2])
  const { metadata, type, data } = secret as Secret
  const generation = generationOf({ metadata } as Secret)
  const pem = `-----BEGIN PRIVATE KEY-----\n${plant(planted, 'damaged PEM')}\n-----END PRIVATE KEY-----\n`
  await signingKeys.removeSecret(generation)
  await signingKeys.restoreSecret(generation, { metadata, type, data } as Secret, {
    'private-key.pem': Buffer.from(pem).toString('base64'),
  })
  await signingKeys.event('SigningKeyCorrupt', 'Secret ')
  const kids = kidsIn(await platform.record())
  const mistaken = {
    kty: 'EC',
    crv: 'P-256',
    kid: 'mine',
    d: plant(planted, 'published by mistake'),
  }
  await signingKeys.damage({ 'jwks.json': JSON.stringify({ keys: [mistaken] }) })
  await platform.recordUntil('the published keys are back', (record) =>
    kids.every((kid) => kidsIn(record).includes(kid)),
  )
  await signingKeys.removeSecret(generation)
}

const isApply = ({ method, path, query }: SeenRequest): boolean =>
  method === 'PATCH' && query.has('fieldManager') && path.endsWith('/status')
const isSecret = ({ method, path }: SeenRequest): boolean =>
  method === 'POST' && path === SECRETS_PATH

const textOf = (requests: readonly SeenRequest[]): string =>
  requests.map(({ method, path, query, body }) => [method, path, query, body].join(' ')).join('\n')

/** All outputs of the operator. */
async function sinks(mark: Awaited<ReturnType<typeof audit.mark>>) {
  const read = async (path: string) => (await plane.raw<object>('GET', path)).body
  const items = async (path: string) =>
    ((await read(path)) as { readonly items: readonly StoredToken[] }).items
  const ours = [...(await items(pathOf(TOKENS, {}))), ...(await items(pathOf(ACCESS_KEYS, {})))]
  const isHidden = (field: string): boolean => field === 'spec' || field === 'token'
  const { stdout, stderr } = operator.output()
  const others = proxy.requests.filter((request) => !isApply(request) && !isSecret(request))
  return {
    log: stdout + stderr,
    metrics: await operator.metrics(),
    health: (await operator.health('/readyz?verbose')).body,
    events: JSON.stringify(await read('/apis/events.k8s.io/v1/events')),
    'all but spec and token': JSON.stringify(ours, (field, value: unknown) =>
      isHidden(field) ? undefined : value,
    ),
    settings: JSON.stringify([await read(IN_FORCE_PATH), await read(RECORD_PATH)]),
    'ConfigMaps of the platform': JSON.stringify(await read(CONFIG_MAPS_PATH)),
    'audit log': (await audit.linesSince(mark, OPERATOR_USER)).join('\n'),
    requests: textOf(others),
    'status written': textOf(proxy.requests.filter(isApply)),
    'Secrets created': textOf(proxy.requests.filter(isSecret)),
  }
}

const foundIn = (
  written: Readonly<Record<string, string>>,
  canaries: readonly Canary[],
): readonly string[] => [...new Set(findCanaries(written, canaries).map(({ sink }) => sink))]

describe('private keys, tokens and their scopes', () => {
  test('are in no output of the operator but their Secret and status (3.5, 4.5, 7.3)', async () => {
    const mark = await audit.mark()
    await noteKeys()
    await Promise.all(LIFECYCLES.map((live) => live()))
    for (const status of [400, 409, 422, 500]) await provokeFailedWrites(status)
    await provokeSigningKeyFaults()
    await noteKeys()
    const last = noted(await tokens.issue({ scope: scopeOf('after all that') }))
    await tokens.shown(last, 'Issued')

    const written = await sinks(mark)
    for (const sentence of [
      'reconcile failed',
      'changed under us',
      'revoked tokens could not be stored',
      'token issued',
      'token ended',
      'token released',
      'signing key in use',
    ])
      expect(written.log).toContain(sentence)
    for (const reason of [
      'Expired',
      'Revoked',
      'ScopeExceedsOwner',
      'SigningKeyCorrupt',
      'SigningKeyRotated',
      'TokenIssued',
    ])
      expect(written.events).toContain(`"reason":"${reason}"`)
    expect(findCanaries(written, planted)).toEqual([])
    expect(foundIn(written, scopes)).toEqual(['status written'])
    expect(foundIn(written, bearers)).toEqual(['status written'])
    expect(foundIn(written, privateKeys)).toEqual(['Secrets created'])
  })
})
