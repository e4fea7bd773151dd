// ConfigMaps with the records of revoked tokens (contract 7.4): their hour ends, another client writes first, or a
// policy rejects them.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { CONFIG_MAPS, REVOKED_TOKENS_PREFIX } from '../../../src/api/names.ts'
import type { ConfigMap } from '../../../src/api/objects.ts'
import { findCondition } from '../../../src/domain/conditions.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/command-process.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { type FaultProxy, first, startProxy } from '../../support/fault-proxy.ts'
import { OPERATOR_ACCOUNT } from '../../support/installed-control-plane.ts'
import { keyClientOf } from '../keys/key-client.ts'
import { platformStateOf } from './platform-state.ts'
import { type StoredToken, tokenClientOf, under } from './token-client.ts'

const HOUR_S = 3600
const SOON = { withinMs: 20_000 }
const { namespace } = OPERATOR_ACCOUNT
const PAST_RECORD = { namespace, name: `${REVOKED_TOKENS_PREFIX}2026010100` }

const plane = await privateControlPlane()
const tokens = tokenClientOf(plane)
const keys = keyClientOf(plane)
const platform = platformStateOf(plane)
let proxy: FaultProxy
let operator: OwnOperator

beforeAll(async () => {
  const over = {
    apiVersion: 'v1',
    kind: CONFIG_MAPS.kind,
    metadata: PAST_RECORD,
    data: { 'some-token': '2026-01-01T00:30:00Z' },
  }
  await plane.admin.create<ConfigMap>(CONFIG_MAPS, over, 'test')
  proxy = await startProxy(plane)
  const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
  operator = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`] })
})
afterAll(async () => {
  await operator?.stop()
  await proxy?.[Symbol.asyncDispose]()
})

test('a record is deleted when its hour is over (7.4)', async () => {
  const isGone = async () =>
    (await plane.admin.get<ConfigMap>(CONFIG_MAPS, PAST_RECORD)) === null || undefined
  await eventually('the record is gone', isGone, SOON)
})

test('a record changed by another client is read again and keeps its entries (7.4)', async () => {
  const spec = { ttl: ttlIntoOneHour() }
  const [one, other] = [await tokens.issue(spec), await tokens.issue(spec)]
  await tokens.remove(one)
  await tokens.gone(one)
  const conflict = proxy.on(
    first(1, ({ method, path }) => method === 'PUT' && path.includes(REVOKED_TOKENS_PREFIX)),
    { kind: 'answer', status: 409, body: CONFLICT },
  )
  await tokens.remove(other)
  await tokens.gone(other)
  expect(conflict.hits).toHaveLength(1)
  const expected = [one, other].map(({ metadata }) => metadata.uid)
  expect(Object.keys(await platform.revoked()).toSorted()).toEqual(expected.toSorted())
})

describe('with a policy that rejects records (4.2, 7.4)', () => {
  const REFUSING = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
  const messageOf = (token: StoredToken): string =>
    findCondition(token.status.conditions ?? [], 'Ready')?.message ?? ''

  test('status has the reason, keys are not reconciled again, and the token is revoked once its record is stored', async () => {
    const owner = await keys.shown(await keys.create(), 'Active')
    const spec = { ttl: ttlIntoOneHour() }
    const issued = [await tokens.issue(spec, under(owner)), await tokens.issue(spec, under(owner))]
    for (const [path, object] of refusal()) {
      onTestFinished(async () => void (await plane.raw('DELETE', `${path}/no-records`)))
      const { code, body } = await plane.raw('POST', path, object)
      expect([code, body]).toEqual([201, expect.anything()])
    }
    await eventually('the policy rejects records', isRefused, SOON)

    await keys.patch(owner, { spec: { disabled: true } })
    for (const token of issued) {
      const stuck = await tokens.until(token, 'has the reason', (now) =>
        messageOf(now).includes('Clusters take it until its revocation is recorded, which failed'),
      )
      expect(findCondition(stuck.status.conditions ?? [], 'Ready')).toMatchObject({
        status: 'False',
        reason: 'Revoked',
      })
      expect(stuck.status).not.toHaveProperty('token')
    }
    const reads = () =>
      proxy.requests.filter(
        ({ method, path }) => method === 'GET' && path.endsWith(`/${owner.metadata.name}`),
      ).length
    const before = reads()
    await staysTrue(
      'the operator does not read the key',
      async () => expect(reads()).toBe(before),
      {
        forMs: 2500,
      },
    )

    expect((await plane.raw('DELETE', `${REFUSING}/no-records`)).code).toBe(200)
    for (const token of issued) {
      const stored = await tokens.until(token, 'is recorded', (now) =>
        messageOf(now).endsWith('make a new object for another token.'),
      )
      expect(await platform.revoked()).toHaveProperty(stored.metadata.uid)
    }
  })

  /** Creates a policy and its binding. */
  function refusal(): readonly (readonly [path: string, object: object])[] {
    const metadata = { name: 'no-records' }
    const resourceRules = [
      {
        apiGroups: [''],
        apiVersions: ['v1'],
        operations: ['CREATE', 'UPDATE'],
        resources: ['configmaps'],
      },
    ]
    const expression = `!object.metadata.name.startsWith('${REVOKED_TOKENS_PREFIX}')`
    const policy = {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules },
      validations: [{ expression }],
    }
    const binding = { policyName: 'no-records', validationActions: ['Deny'] }
    return [
      [REFUSING, { metadata, spec: policy }],
      [REFUSING.replace('policies', 'policybindings'), { metadata, spec: binding }],
    ]
  }

  /** Whether the policy is in effect, by a dry run. */
  async function isRefused(): Promise<true | undefined> {
    const metadata = { name: `${REVOKED_TOKENS_PREFIX}2026010101`, namespace }
    const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`
    const { code } = await plane.raw('POST', path, { metadata })
    return code === 422 || undefined
  }
})

const CONFLICT = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Conflict',
  code: 409,
  message: 'the object has been modified',
}

/** A ttl that ends in the middle of an hour, so that two tokens share a record. */
function ttlIntoOneHour(): number {
  const intoHourS = Math.floor(Date.now() / 1000) % HOUR_S
  return 2 * HOUR_S + HOUR_S / 2 - intoHourS
}
