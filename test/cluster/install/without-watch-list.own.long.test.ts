// An API server without streaming lists (WatchList), as older and some managed ones: the informers fall back to
// paginated lists.
import { expect, test } from 'vitest'
import { ACCESS_KEYS } from '../../../src/api/names.ts'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { auditOf } from '../../support/audit-log.ts'
import { ISSUER, startCommand, startOperator } from '../../support/command-process.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventuallyPasses } from '../../support/eventually.ts'
import { startGateway } from '../../support/gateway-process.ts'
import {
  GATEWAY_ACCOUNT,
  GATEWAY_USER,
  OPERATOR_USER,
} from '../../support/installed-control-plane.ts'
import { newKey } from '../../support/object-builder.ts'

const plane = await ownControlPlane({ apiServerFlags: ['--feature-gates=WatchList=false'] })
const audit = auditOf(plane)
const flags = [`--issuer-url=${ISSUER}`]

test('manager, gateway and delivery process work without streaming lists (8.1, 8.2, 28.3)', async () => {
  const beginning = await audit.mark()
  await using operator = await startOperator({
    kubeconfig: await plane.operatorKubeconfig(),
    flags,
  })
  const { namespace, name } = GATEWAY_ACCOUNT
  const kubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
  await using gateway = await startGateway({ kubeconfig, flags })
  await using delivery = await startCommand('delivery', {
    kubeconfig: await plane.serviceAccountKubeconfig(namespace, 'delivery'),
  })
  const { metadata } = await plane.admin.create<OwnedAccessKey>(ACCESS_KEYS, newKey(), 'test')
  await eventuallyPasses(
    'a key is adopted',
    async () => {
      const key = await plane.admin.get<OwnedAccessKey>(ACCESS_KEYS, metadata)
      expect(key?.status?.conditions).toEqual([
        expect.objectContaining({ type: 'Ready', reason: 'Active' }),
      ])
    },
    { withinMs: 20_000 },
  )
  for (const program of [operator, gateway, delivery])
    expect((await program.health('/readyz')).code).toBe(200)
  const deliveryUser = `system:serviceaccount:${namespace}:delivery`
  for (const user of [OPERATOR_USER, GATEWAY_USER, deliveryUser]) {
    const lines = await audit.linesSince(beginning, user)
    expect(lines.filter((line) => line.includes('"verb":"list"')).length).toBeGreaterThan(1)
  }
})
