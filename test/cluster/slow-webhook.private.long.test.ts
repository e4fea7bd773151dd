// A foreign webhook without an answer delays every write of the manager by ten seconds. The Lease is renewed in time
// (contract 8.1), as leader election has its own connection.
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import {
  ACCESS_KEYS,
  API_VERSION,
  CONTROLLER_NAME,
  GROUP,
  LEASES,
  TOKENS,
} from '../../src/api/names.ts'
import type { Lease } from '../../src/kube/leader-election/rules.ts'
import { startOperator } from '../support/command-process.ts'
import { privateControlPlane } from '../support/control-plane.ts'
import { eventually, staysTrue } from '../support/eventually.ts'
import { OPERATOR_ACCOUNT, OPERATOR_USER } from '../support/installed-control-plane.ts'
import { metric } from '../support/metrics-page.ts'
import { newKey, uniqueName } from '../support/object-builder.ts'
import { createMany } from '../support/raw-client.ts'

const plane = await privateControlPlane()

const MANY = 40
const LEASE = { namespace: OPERATOR_ACCOUNT.namespace, name: CONTROLLER_NAME }
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
const IN_TIME = { withinMs: 120_000 }

/** A server that accepts connections and never responds. */
async function silentServer(): Promise<string> {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const newToken = () => ({
  apiVersion: API_VERSION,
  kind: TOKENS.kind,
  metadata: { name: uniqueName('token') },
  spec: { ttl: 3600 },
})

/** A webhook for all writes of the operator to keys and tokens. */
const webhookAt = (url: string) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'never-answers' },
  webhooks: [
    {
      name: 'never.answers.example.com',
      clientConfig: { url },
      rules: [
        {
          apiGroups: [GROUP],
          apiVersions: ['v1'],
          operations: ['CREATE', 'UPDATE'],
          resources: ['*/*'],
        },
      ],
      matchConditions: [
        { name: 'operator', expression: `request.userInfo.username == '${OPERATOR_USER}'` },
      ],
      failurePolicy: 'Ignore',
      timeoutSeconds: 10,
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  ],
})

test('the leader keeps its Lease while 40 keys and 40 tokens wait for a webhook (8.1)', async () => {
  await using operator = await startOperator({
    kubeconfig: await plane.operatorKubeconfig(),
    flags: ['--leader-elect'],
  })
  const leads = async () => (await metric(operator, 'leader_election_master_status')) === 1
  await eventually('the manager leads', async () => (await leads()) || undefined, IN_TIME)
  const before = await plane.admin.get<Lease>(LEASES, LEASE)
  expect((await plane.raw('POST', WEBHOOKS, webhookAt(await silentServer()))).code).toBe(201)
  onTestFinished(async () => void (await plane.raw('DELETE', `${WEBHOOKS}/never-answers`)))
  await createMany(
    plane,
    ACCESS_KEYS,
    Array.from({ length: MANY }, () => newKey({ ttl: 3600 })),
  )
  await createMany(plane, TOKENS, Array.from({ length: MANY }, newToken))
  // Three times the renew deadline.
  const keepsLeading = async () => expect(await leads()).toBe(true)
  await staysTrue('it leads', keepsLeading, { forMs: 30_000 })
  const after = await plane.admin.get<Lease>(LEASES, LEASE)
  const { holderIdentity = 'nobody', leaseTransitions } = before?.spec ?? {}
  expect(after?.spec).toMatchObject({ holderIdentity, leaseTransitions })

  await plane.raw('DELETE', `${WEBHOOKS}/never-answers`)
  const areReconciled = async () =>
    ((await metric(operator, 'workqueue_depth')) === 0 &&
      (await metric(operator, 'controller_runtime_active_workers')) === 0) ||
    undefined
  await eventually('all objects are reconciled', areReconciled, IN_TIME)
  const writes = await metric(operator, 'platform_api_writes_total', 'reason="status"')
  expect(writes).toBeGreaterThanOrEqual(2 * MANY)
})
