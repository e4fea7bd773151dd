// A gateway and an operator at their highest log level on an API server that audits request and response bodies, keys
// with a secret in every field that can hold one, and the output to search for them (contract 3.5).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { JsonMap } from '../../../src/domain/json/json.ts'
import { LOG_LEVELS } from '../../../src/runtime/log.ts'
import { type Audit, type Mark, auditOf } from '../../support/audit-log.ts'
import { type Canary, plantCanary } from '../../support/canary.ts'
import { ISSUER, type Operator, startOperator } from '../../support/command-process.ts'
import { settingsOf } from '../../support/config-client.ts'
import { type TestControlPlane, ownControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { startProxy } from '../../support/fault-proxy.ts'
import { type GatewayAnswer, ask, gatewayCa, startGateway } from '../../support/gateway-process.ts'
import { GATEWAY_ACCOUNT, GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { type KeyClient, type StoredKey, keyClientOf } from '../keys/key-client.ts'
import { withPlantedSecrets } from '../keys/key-lifecycles.ts'
import { bindRole } from '../policies/rbac-users.ts'
import { tokenClientOf } from '../tokens/token-client.ts'
import { MANAGEMENT, SOON } from './test-gateway.ts'

/** The audit policy. */
const LOG_EVERYTHING = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'RequestResponse' }],
}

/** The operator's environment variable with a secret that a Config refers to. */
export const SECRET_VARIABLE = 'PLATFORM_CONFIG_IDP'

/** A user with the role cluster-admin. */
export const CLUSTER_ADMIN = 'root-user'

/** A stored key with planted secrets, and its bearer token. */
export interface KeyWithSecrets {
  readonly object: StoredKey
  readonly token: string
}

/** The optional parts of a request; an object as body is sent as JSON. */
export interface Sent {
  readonly body?: unknown
  /** The content type. Absent: merge patch for PATCH, JSON otherwise. */
  readonly type?: string
  readonly accept?: string
}

/** The programs of one test file, and the secrets planted in them. */
export type CanaryCluster = Awaited<ReturnType<typeof startCanaryCluster>>

/** Starts the programs; they are stopped after the file's last test. */
export async function startCanaryCluster() {
  const programs = await startPrograms()
  const { plane } = programs
  await bindRole(plane, CLUSTER_ADMIN, 'cluster-admin')
  const keys = keyClientOf(plane)
  return {
    ...programs,
    ...callersOf(programs, keys),
    keys,
    tokens: tokenClientOf(plane),
    settings: settingsOf(plane),
    audit: auditOf(plane),
  }
}

/** `proxy` is between the gateway and the API server. */
async function startPrograms() {
  const folder = mkdtempSync(join(tmpdir(), 'canaries-'))
  const policy = join(folder, 'audit-policy.json')
  writeFileSync(policy, JSON.stringify(LOG_EVERYTHING))
  const plane = await ownControlPlane({ apiServerFlags: [`--audit-policy-file=${policy}`] })
  const proxy = await startProxy(plane)
  const flags = [`--log-level=${LOG_LEVELS[0]}`, `--issuer-url=${ISSUER}`]
  const inEnvironment = {
    operator: plantCanary('environment'),
    gateway: plantCanary('environment'),
  }
  const operator = await startOperator({
    kubeconfig: await plane.operatorKubeconfig(),
    flags: [...flags, '--leader-elect'],
    env: { [SECRET_VARIABLE]: inEnvironment.operator.secret },
  })
  const { namespace, name } = GATEWAY_ACCOUNT
  const own = await plane.serviceAccountKubeconfig(namespace, name)
  const gateway = await startGateway({
    kubeconfig: await proxy.kubeconfig(own),
    flags,
    // The gateway reads no such variable.
    env: { UNUSED: inEnvironment.gateway.secret },
  })
  afterAll(async () => {
    await Promise.all([gateway.stop(), operator.stop()])
    await proxy[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })
  const ca = await gatewayCa(plane.admin)
  return { plane, proxy, operator, gateway, inEnvironment, ca }
}

/** Plants secrets in keys, and sends requests with these keys. */
function callersOf({ gateway, ca }: Awaited<ReturnType<typeof startPrograms>>, keys: KeyClient) {
  const planted: Canary[] = []
  const received: string[] = []
  const shownOnCreate: string[] = []
  /** A new secret that no output may contain. */
  const plant = (label: string): string => {
    const made = plantCanary(label)
    planted.push(made)
    return made.secret
  }
  /** One request with a key. */
  const send = async (
    token: string,
    method: string,
    path: string,
    sent: Sent = {},
  ): Promise<GatewayAnswer> => {
    const answer = await ask(`${gateway.url()}${MANAGEMENT}${path}`, {
      ca,
      method,
      ...framed(token, method, sent),
    })
    const showsCredential = answer.code === 201 && /(keys|tokens)$/.test(path)
    ;(showsCredential ? shownOnCreate : received).push(JSON.stringify(answer.headers), answer.body)
    return answer
  }
  /** A key with a secret in each field, once the gateway accepts it. */
  const createKey = async (
    label: string,
    given: StoredKey['spec'] = {},
  ): Promise<KeyWithSecrets> => {
    const spec = withPlantedSecrets(plant, label, { user: 'ada', ...given })
    const { key: token = '' } = spec
    const object = await keys.create(spec)
    const isAccepted = async () => (await send(token, 'GET', '/version')).code !== 401 || undefined
    await eventually('the gateway accepts the key', isAccepted, SOON)
    return { object, token }
  }
  return {
    planted,
    /** Every answer, except those that show a new credential by design: these are in `shownOnCreate`. */
    received,
    shownOnCreate,
    plant,
    send,
    createKey,
  }
}

function framed(token: string, method: string, { body, type, accept }: Sent) {
  const usual = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const headers = { authorization: `Bearer ${token}`, accept: accept ?? 'application/json' }
  if (body === undefined) return { headers }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { headers: { ...headers, 'content-type': type ?? usual }, body: text }
}

/** Everything that gateway and operator write (contract 3.5; threats 2.6): texts by the name of the output. */
export type OutputSinks = Readonly<Record<string, string>>

/** A program's log, metrics, health, command line and environment. */
export async function sinksOf(name: string, program: Operator): Promise<OutputSinks> {
  const { stdout, stderr } = program.output()
  const proc = (file: string): Promise<string> => readFile(`/proc/${program.pid}/${file}`, 'utf8')
  return {
    [`log of the ${name}`]: stdout + stderr,
    [`metrics of the ${name}`]: await program.metrics(),
    [`health of the ${name}`]: (await program.health('/readyz?verbose')).body,
    [`command line of the ${name}`]: await proc('cmdline'),
    [`environment of the ${name}`]: await proc('environ'),
  }
}

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string }
    readonly versions: readonly {
      readonly version: string
      readonly resources?: readonly {
        readonly resource: string
        readonly verbs: readonly string[]
      }[]
    }[]
  }[]
}

const DISCOVERY = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'

/** Everything that a reader of objects without access to credentials sees. */
export async function storedSinks({ raw }: Pick<TestControlPlane, 'raw'>): Promise<OutputSinks> {
  const read = async (path: string, accept = 'application/json'): Promise<string> => {
    const { code, body } = await raw('GET', path, undefined, { headers: { accept } })
    if (code !== 200) throw new Error(`GET ${path}: ${code}`)
    return JSON.stringify(body)
  }
  const metadata: string[] = []
  for (const root of ['/api', '/apis']) {
    const { items } = JSON.parse(await read(root, DISCOVERY)) as Discovery
    for (const path of items.flatMap((group) => listsOf(root, group)))
      metadata.push(await read(path, METADATA))
  }
  const ours = '/apis/management.platform.sh/v1'
  return {
    'metadata of all objects': metadata.join('\n'),
    events: await read('/apis/events.k8s.io/v1/events'),
    Leases: await read('/apis/coordination.k8s.io/v1/leases'),
    ConfigMaps: await read('/api/v1/configmaps'),
    'status of keys': withoutHidden(await read(`${ours}/ownedaccesskeys`)),
    'status of tokens': withoutHidden(await read(`${ours}/directclusterendpointtokens`)),
    'status of Configs': withoutHidden(await read(`${ours}/configs`)),
  }
}

function listsOf(root: string, { metadata, versions }: Discovery['items'][number]): string[] {
  const group = metadata.name ? `/${metadata.name}` : ''
  const { version = '', resources = [] } = versions[0] ?? {}
  return resources
    .filter(({ verbs }) => verbs.includes('list'))
    .map(({ resource }) => `${root}${group}/${version}/${resource}`)
}

/** Without spec, which users write themselves, and without tokens, which their readers are meant to see. */
const withoutHidden = (list: string): string =>
  JSON.stringify(JSON.parse(list), (name, value: unknown) =>
    name === 'spec' || name === 'token' ? undefined : value,
  )

/** Resources whose bodies the audit log has in full, with their secrets. */
const CREDENTIALS: ReadonlySet<unknown> = new Set([
  'ownedaccesskeys',
  'directclusterendpointtokens',
  'secrets',
  // A literal secret in a Config is a mistake, which its condition Invalid reports.
  'configs',
])

/**
 * The audit log of the gateway's requests, its own and its callers'. Bodies of credentials are separate, with the
 * reasons of refused patches, which docs/security.md warns of.
 */
export async function auditSinks(audit: Audit, mark: Mark): Promise<OutputSinks> {
  const lines = await audit.linesSince(mark, GATEWAY_USER)
  const bodies: string[] = []
  const rest = lines.map((line) => {
    const event = JSON.parse(line) as JsonMap & { readonly objectRef?: JsonMap }
    if (!CREDENTIALS.has(event.objectRef?.['resource'])) return line
    const { requestObject, responseObject, responseStatus, ...others } = event
    bodies.push(JSON.stringify({ requestObject, responseObject, responseStatus }))
    return JSON.stringify(others)
  })
  return {
    'audit log of the gateway': rest.join('\n'),
    'audit log, bodies of credentials': bodies.join('\n'),
  }
}
