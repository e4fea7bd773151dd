// Faults while tokens are issued and revoked and keys rotate: the operator is killed at each write.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFIG_MAPS } from '../../src/api/names.ts'
import { handWritten } from '../cluster/gateway/world.ts'
import { keysOf } from '../cluster/keys/keys.ts'
import { platformOf } from '../cluster/tokens/platform.ts'
import { signingKeysOf } from '../cluster/tokens/signing-keys.ts'
import { tokensOf } from '../cluster/tokens/tokens.ts'
import { ownControlPlane } from '../support/control-plane.ts'
import { OPERATOR_ACCOUNT } from '../support/installed.ts'
import { ISSUER, type OwnOperator, startOperator } from '../support/operator.ts'
import { startProxy } from '../support/proxy.ts'
import { rounds } from '../support/rounds.ts'
import type { ProcessOptions } from '../support/started.ts'
import { sampled } from '../support/tier.ts'
import { auditedIssues } from './audited-issues.ts'
import { POSITIONS, crashOf } from './crash.ts'
import { type LifeWorld, lifePoints } from './life-points.ts'
import { writesInAMinute } from './quiet.ts'
import { expectGoodEnd, expectSound, isAlive } from './sound.ts'
import { recordTokens } from './token-history.ts'
import { rotationPoints, tokenPoints } from './token-points.ts'

const plane = await ownControlPlane({ apiServerFlags: auditedIssues() })
const proxy = await startProxy(plane)
afterAll(() => proxy[Symbol.asyncDispose]())
const kubeconfig = await proxy.kubeconfig(await plane.operatorKubeconfig())
const world = { keys: keysOf(plane), tokens: tokensOf(plane), platform: platformOf(plane) }
const history = await recordTokens(plane)
const { namespace } = OPERATOR_ACCOUNT

let operator: OwnOperator
const startAs = async (how: Pick<ProcessOptions, 'env' | 'until'>): Promise<void> => {
  operator = await startOperator({ kubeconfig, flags: [`--issuer-url=${ISSUER}`], ...how })
}
const start = (): Promise<void> => startAs({})
const life: LifeWorld = {
  platform: world.platform,
  signingKeys: signingKeysOf(plane),
  written: handWritten(plane.raw),
  isThere: async (name) => (await plane.admin.get(CONFIG_MAPS, { namespace, name })) !== null,
  restart: async (meanwhile, how = {}) => {
    await expectGoodEnd(operator)
    await meanwhile()
    await startAs(how)
  },
}
const crash = crashOf({ proxy, operator: () => operator, start })
beforeAll(start)
afterAll(() => operator.stop())

describe.each(rounds)('round %i: an operator is killed (5.1, 5.4, 7.3, 7.4, 8.6)', () => {
  describe.each(POSITIONS)('while a write is $name', (position) => {
    const points = [...tokenPoints(world), ...rotationPoints(world), ...lifePoints(life)]
    test.each(sampled(points, 6, POSITIONS.indexOf(position)))('$name', async (point) => {
      await crash(point, position)
      expect(await history.faults()).toEqual([])
      expectSound(operator)
    })
  })
})

test('in the end nobody writes but to Leases', async () => {
  expect(await writesInAMinute(plane, () => isAlive(operator))).toEqual([])
  expect(await history.faults()).toEqual([])
  await expectGoodEnd(operator)
})
