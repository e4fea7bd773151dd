// ConfigMaps of revoked tokens as they meet what happens to them (contract 7.4): their hour ends, and
// somebody else has written at the same moment.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConfigMap } from '../../../src/api/core.ts'
import { CONFIG_MAPS, REVOKED_TOKENS_PREFIX } from '../../../src/api/group.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../../support/installed.ts'
import { ISSUER, type OwnOperator, startOperator } from '../../support/operator.ts'
import { type FaultProxy, startProxy } from '../../support/proxy.ts'
import { first } from '../../support/proxy-rules.ts'
import { platformOf } from './platform.ts'
import { tokensOf } from './tokens.ts'

const HOUR_S = 3600
const SOON = { withinMs: 20_000 }
const { namespace } = OPERATOR_ACCOUNT
const OVER = { namespace, name: `${REVOKED_TOKENS_PREFIX}2026010100` }

const plane = await privateControlPlane()
const tokens = tokensOf(plane)
const platform = platformOf(plane)
let proxy: FaultProxy
let operator: OwnOperator

beforeAll(async () => {
  const over = {
    apiVersion: 'v1',
    kind: CONFIG_MAPS.kind,
    metadata: OVER,
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

test('a record whose hour is over is dropped (7.4)', async () => {
  const isGone = async () =>
    (await plane.admin.get<ConfigMap>(CONFIG_MAPS, OVER)) === null || undefined
  await eventually('the record is gone', isGone, SOON)
})

test('a record that changed meanwhile is read again, and loses nothing (7.4)', async () => {
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

const CONFLICT = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Conflict',
  code: 409,
  message: 'the object has been modified',
}

/** A lifetime whose end is in the middle of an hour, so that two tokens share a record. */
function ttlIntoOneHour(): number {
  const intoHourS = Math.floor(Date.now() / 1000) % HOUR_S
  return 2 * HOUR_S + HOUR_S / 2 - intoHourS
}
