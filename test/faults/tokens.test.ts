// The operator is killed at each write for tokens, revocation records and signing keys.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFIG_MAPS } from '../../src/api/names.ts'
import { writeOidcSources } from '../cluster/gateway/oidc-config-maps.ts'
import { keyClientOf } from '../cluster/keys/key-client.ts'
import { platformStateOf } from '../cluster/tokens/platform-state.ts'
import { signingKeyClientOf } from '../cluster/tokens/signing-key-client.ts'
import { tokenClientOf } from '../cluster/tokens/token-client.ts'
import {
  ISSUER,
  type OwnOperator,
  type ProcessOptions,
  startOperator,
} from '../support/command-process.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { startProxy } from '../support/fault-proxy.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { rounds, sampled } from '../support/tier.ts'
import { recordTokens } from './object-history.ts'
import { tokenAuditFlags, writesAtRest } from './operator-observations.ts'
import {
  POSITIONS,
  crashOf,
  expectCleanExit,
  expectNoUncaughtErrors,
  expectHealthy,
} from './operator-crash.ts'
import {
  type StartupDeps,
  rotationPoints,
  startupPoints,
  tokenPoints,
} from './token-write-points.ts'

const plane = await ownControlPlane({ apiServerFlags: tokenAuditFlags() })
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
const clients = {
  keys: keyClientOf(plane),
  tokens: tokenClientOf(plane),
  platform: platformStateOf(plane),
}
const history = await recordTokens(plane)
const { namespace } = OPERATOR_ACCOUNT

let operator: OwnOperator
const startAs = async (how: Pick<ProcessOptions, 'env' | 'until'>): Promise<void> => {
  operator = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`], ...how })
}
const start = (): Promise<void> => startAs({})
const startup: StartupDeps = {
  platform: clients.platform,
  signingKeys: signingKeyClientOf(plane),
  oidcSources: writeOidcSources(plane.raw),
  hasConfigMap: async (name) => (await plane.admin.get(CONFIG_MAPS, { namespace, name })) !== null,
  restart: async (meanwhile, how = {}) => {
    await expectCleanExit(operator)
    await meanwhile()
    await startAs(how)
  },
}
const crash = crashOf({ proxy, operator: () => operator, start })
beforeAll(start)
afterAll(() => operator.stop())

describe.each(rounds)(
  'round %i: after a kill the next operator completes (5.1, 5.4, 7.3, 7.4, 8.6)',
  () => {
    describe.each(POSITIONS)('a write that is $name', (position) => {
      const points = [
        ...tokenPoints(clients),
        ...rotationPoints(clients),
        ...startupPoints(startup),
      ]
      test.each(sampled(points, 6, POSITIONS.indexOf(position)))('$name', async (point) => {
        await crash(point, position)
        expect(await history.faults()).toEqual([])
        expectNoUncaughtErrors(operator)
      })
    })
  },
)

test('after all faults only Leases are written', async () => {
  expect(await writesAtRest(plane, () => expectHealthy(operator))).toEqual([])
  expect(await history.faults()).toEqual([])
  await expectCleanExit(operator)
})
