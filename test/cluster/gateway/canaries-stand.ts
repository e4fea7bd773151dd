// A gateway and an operator at their highest log level, on an API server whose audit log holds everything, and
// keys with a secret wherever there is place for one (contract 3.5).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { LOG_LEVELS } from '../../../src/runtime/log.ts'
import { auditOf } from '../../support/audit.ts'
import { type Canary, canary } from '../../support/canary.ts'
import { settingsOf } from '../../support/config.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, type GatewayAnswer, gatewayCa, startGateway } from '../../support/gateway.ts'
import { GATEWAY_ACCOUNT } from '../../support/installed.ts'
import { ISSUER, startOperator } from '../../support/operator.ts'
import { startProxy } from '../../support/proxy.ts'
import { type Keys, keysOf, type StoredKey } from '../keys/keys.ts'
import { secretive } from '../keys/lives.ts'
import { bound } from '../policies/callers.ts'
import { tokensOf } from '../tokens/tokens.ts'
import { MANAGEMENT, SOON } from './front.ts'

/** What the API server logs: all of it. */
const EVERYTHING = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'RequestResponse' }],
}

/** The operator's environment has a secret for settings under this name. */
export const VARIABLE = 'PLATFORM_CONFIG_IDP'

/** Who may do everything by RBAC. */
export const ROOT = 'root-user'

/** A key in somebody's hand. */
export interface Held {
  readonly object: StoredKey
  readonly token: string
}

/** What a request may hold; the body is JSON unless it is text. */
export interface Sent {
  readonly body?: unknown
  /** Absent: merge patch for PATCH, JSON otherwise. */
  readonly type?: string
  readonly accept?: string
}

/** The stand of one test file. */
export type CanaryStand = Awaited<ReturnType<typeof startCanaryStand>>

/** Starts it; everything is stopped after the file's last test. */
export async function startCanaryStand() {
  const programs = await startPrograms()
  const { plane } = programs
  await bound(plane, ROOT, 'cluster-admin')
  const keys = keysOf(plane)
  return {
    ...programs,
    ...callersOf(programs, keys),
    keys,
    tokens: tokensOf(plane),
    settings: settingsOf(plane),
    audit: auditOf(plane),
  }
}

/** The gateway's way to the API server is `line`. */
async function startPrograms() {
  const folder = mkdtempSync(join(tmpdir(), 'canaries-'))
  const policy = join(folder, 'audit-policy.json')
  writeFileSync(policy, JSON.stringify(EVERYTHING))
  const plane = await ownControlPlane({ apiServerFlags: [`--audit-policy-file=${policy}`] })
  const line = await startProxy(plane)
  const flags = [`--log-level=${LOG_LEVELS[0]}`, `--issuer-url=${ISSUER}`]
  const inEnvironment = { operator: canary('environment'), gateway: canary('environment') }
  const operator = await startOperator({
    kubeconfig: await plane.operatorKubeconfig(),
    flags: [...flags, '--leader-elect'],
    env: { [VARIABLE]: inEnvironment.operator.secret },
  })
  const { namespace, name } = GATEWAY_ACCOUNT
  const own = await plane.serviceAccountKubeconfig(namespace, name)
  const gateway = await startGateway({
    kubeconfig: await line.kubeconfig(own),
    flags,
    // It looks at no such thing.
    env: { UNUSED: inEnvironment.gateway.secret },
  })
  afterAll(async () => {
    await Promise.all([gateway.stop(), operator.stop()])
    await line[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })
  const ca = await gatewayCa(plane.admin)
  return { plane, line, operator, gateway, inEnvironment, ca }
}

/** What is planted and by whom it is used. */
function callersOf({ gateway, ca }: Awaited<ReturnType<typeof startPrograms>>, keys: Keys) {
  const planted: Canary[] = []
  const told: string[] = []
  const shown: string[] = []
  /** A new secret that is to be found nowhere. */
  const plant = (label: string): string => {
    const made = canary(label)
    planted.push(made)
    return made.secret
  }
  /** One request by a key. */
  const by = async (
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
    const isToShow = answer.code === 201 && /(keys|tokens)$/.test(path)
    ;(isToShow ? shown : told).push(JSON.stringify(answer.headers), answer.body)
    return answer
  }
  /** A key with a secret in each of its fields, once the gateway takes it. */
  const holding = async (label: string, given: StoredKey['spec'] = {}): Promise<Held> => {
    const spec = secretive(plant, label, { user: 'ada', ...given })
    const { key: token = '' } = spec
    const object = await keys.create(spec)
    const isTaken = async () => (await by(token, 'GET', '/version')).code !== 401 || undefined
    await eventually('the gateway takes the key', isTaken, SOON)
    return { object, token }
  }
  return {
    planted,
    /** Everything that callers were told, but the answers that are to show a credential: those are `shown`. */
    told,
    shown,
    plant,
    by,
    holding,
  }
}

function framed(token: string, method: string, { body, type, accept }: Sent) {
  const usual = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const headers = { authorization: `Bearer ${token}`, accept: accept ?? 'application/json' }
  if (body === undefined) return { headers }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { headers: { ...headers, 'content-type': type ?? usual }, body: text }
}
