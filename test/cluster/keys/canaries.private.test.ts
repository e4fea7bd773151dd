/** @module-tag no-retry */
// Canary secrets in every secret field of keys in every state: no output of the operator (requests, logs, metrics,
// events) contains a part of them (contract 3.5).
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { auditOf } from '../../support/audit-log.ts'
import { type Canary, plantCanary, findCanaries } from '../../support/canary.ts'
import { type OwnOperator, startOperator } from '../../support/command-process.ts'
import { IN_FORCE_PATH, RECORD_PATH, isReadyBy, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import {
  type Act,
  type FaultProxy,
  type SeenRequest,
  first,
  startProxy,
} from '../../support/fault-proxy.ts'
import { OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { newKey, uniqueName } from '../../support/object-builder.ts'
import { EVENT_WITHIN, SOON, type StoredKey, keyClientOf } from './key-client.ts'
import { SECRET_FIELDS, keyLifecyclesOf, withPlantedSecrets } from './key-lifecycles.ts'

const COLLECTION = pathOf(ACCESS_KEYS, {})
const EVENTS_PATH = '/apis/events.k8s.io/v1/events'

const plane = await privateControlPlane()
const keys = keyClientOf(plane)
const audit = auditOf(plane)
const settings = settingsOf(plane)
const planted: Canary[] = []
const generated: Canary[] = []
let proxy: FaultProxy
let operator: OwnOperator

beforeAll(async () => {
  proxy = await startProxy(plane)
  const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
  const flags = ['--log-level=debug', '--expired-retention=1s']
  operator = await startOperator({ kubeconfig, flags })
  await settings.settled('defaults are in force', isReadyBy('Applied'))
})
afterAll(async () => {
  await operator?.stop()
  await proxy?.[Symbol.asyncDispose]()
})

/** A new canary secret. */
function plant(label: string): string {
  const made = plantCanary(label)
  planted.push(made)
  return made.secret
}

/** A response that quotes a secret, as the API server does with a value that it rejects. */
const quoting = (status: number, secret: string): Act => ({
  kind: 'answer',
  status,
  body: {
    kind: 'Status',
    status: 'Failure',
    reason: 'Invalid',
    code: status,
    message: `OwnedAccessKey "x" is invalid: spec.key: Invalid value: "${secret}"`,
    details: {
      causes: [{ reason: 'FieldValueInvalid', field: 'spec.key', message: `not "${secret}"` }],
    },
  },
})

/** Matches the operator's first request with a method to an object, or to its status. */
function firstTo(name: string, method: string, subresource?: 'status') {
  const path = pathOf(ACCESS_KEYS, { name }, subresource)
  return first(1, (request) => request.method === method && request.path === path)
}

/** Answers that quote, to each request of a key's life from creation to deletion. */
async function provokeFailedWrites(status: number): Promise<void> {
  const label = `answered ${status}`
  const name = uniqueName('quoted')
  const spec = withPlantedSecrets(plant, label, { ttl: 2, type: 'Login' })
  const rules = [
    proxy.on(firstTo(name, 'PATCH'), quoting(status, spec.key ?? '')),
    proxy.on(firstTo(name, 'PATCH', 'status'), quoting(status, spec.oidcLogin.idToken)),
    proxy.on(firstTo(name, 'DELETE'), quoting(status, spec.identity.connectorData)),
  ]
  await keys.create(spec, { name })
  await keys.gone(name)
  for (const rule of rules) expect(rule.hits).toHaveLength(1)
}

/** Triggers a rejected write and a failed watch whose responses quote a secret. */
async function provokeRejections(): Promise<void> {
  const bad = withPlantedSecrets(plant, 'invalid', { key: `${plant('invalid: key')} !` })
  expect((await plane.raw('POST', COLLECTION, newKey(bad))).code).toBe(422)
  const isWatch = ({ path, query }: SeenRequest) => path === COLLECTION && query.has('watch')
  const rule = proxy.on(first(1, isWatch), quoting(400, plant('watch answered 400')))
  proxy.cut(isWatch)
  await rule.reached(SOON)
}

const isApply = ({ method, path, query }: SeenRequest): boolean =>
  method === 'PATCH' && query.has('fieldManager') && !path.endsWith('/status')

const textOf = (requests: readonly SeenRequest[]): string =>
  requests.map(({ method, path, query, body }) => [method, path, query, body].join(' ')).join('\n')

/** All outputs of the operator. */
async function sinks(mark: Awaited<ReturnType<typeof audit.mark>>) {
  const read = async (path: string) => (await plane.raw<object>('GET', path)).body
  const { items } = (await read(COLLECTION)) as { readonly items: readonly StoredKey[] }
  const { stdout, stderr } = operator.output()
  return {
    log: stdout + stderr,
    metrics: await operator.metrics(),
    health: (await operator.health('/readyz?verbose')).body,
    events: JSON.stringify(await read(EVENTS_PATH)),
    'all but spec': JSON.stringify(items.map(({ metadata, status }) => ({ metadata, status }))),
    settings: JSON.stringify([await read(IN_FORCE_PATH), await read(RECORD_PATH)]),
    'audit log': (await audit.linesSince(mark, OPERATOR_USER)).join('\n'),
    requests: textOf(proxy.requests.filter((request) => !isApply(request))),
    applies: textOf(proxy.requests.filter(isApply)),
  }
}

async function expectAllEvents(): Promise<void> {
  const events = JSON.stringify((await plane.raw('GET', EVENTS_PATH)).body)
  for (const reason of ['Expired', 'KeyConflict', 'KeyGenerated', 'ActivityIgnored'])
    expect(events).toContain(`"reason":"${reason}"`)
}

describe('a canary secret', () => {
  test('is in no output of the operator, and a generated key only in the apply that sets it (3.5, 4.5)', async () => {
    const mark = await audit.mark()
    await settings.declare({ auth: { accessKeyMaxTTLSeconds: 365 * 86_400 } })
    const reported = (label: string, secret: string) => void generated.push({ label, secret })
    await Promise.all(keyLifecyclesOf(keys, plant, reported).map((live) => live()))
    await Promise.all([400, 409, 422, 500].map(provokeFailedWrites))
    await provokeRejections()
    const last = await keys.create(withPlantedSecrets(plant, 'after the watch broke'))
    await keys.shown(last, 'Active')

    // Events are sent ten a second: the last ones may still be queued.
    await eventuallyPasses('all events are sent', expectAllEvents, EVENT_WITHIN)
    const written = await sinks(mark)
    for (const sentence of [
      'reconcile failed',
      'access key expired',
      'changed under us',
      'released',
    ])
      expect(written.log).toContain(sentence)
    expect(findCanaries(written, planted)).toEqual([])
    expect(new Set(findCanaries(written, generated).map(({ sink }) => sink))).toEqual(
      new Set(['applies']),
    )

    const spec = JSON.stringify(last.spec)
    expect(findCanaries({ spec }, planted)).toHaveLength(SECRET_FIELDS)
  })
})
