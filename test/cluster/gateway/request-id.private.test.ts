// The request ID of an answer is also in the gateway's log or the API server's audit log, with the reason (13.1, 8.5).
import { expect, test } from 'vitest'
import { auditOf } from '../../support/audit-log.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { startTestGateway } from './test-gateway.ts'

const KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'
const FOREIGN = { 'audit-id': 'foreign', 'x-request-id': 'foreign' }

const setup = await startTestGateway(await privateControlPlane())
const audit = auditOf(setup.plane)
const [gateway] = setup.gateways

/** The audit events with this ID since the mark. */
const eventsWith = async (id: unknown, mark: Awaited<ReturnType<typeof audit.mark>>) =>
  (await audit.linesSince(mark))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter(({ auditID }) => auditID === id)

const logLinesWith = (id: unknown) =>
  gateway?.logs().filter(({ requestId }) => requestId === id) ?? []

test('a 403 by RBAC has its ID in the audit log, and not in the log of the gateway', async () => {
  const { token } = await setup.key()
  const mark = await audit.mark()
  const { code, headers } = await setup.ask(token, '/api/v1/secrets', { headers: FOREIGN })
  expect(code).toBe(403)
  const id = headers['x-request-id']
  expect(headers['audit-id']).toBe(id)
  const events = await eventsWith(id, mark)
  expect(events.at(-1)).toMatchObject({
    stage: 'ResponseComplete',
    impersonatedUser: { username: 'ada' },
    objectRef: { resource: 'secrets' },
    responseStatus: { code: 403 },
    annotations: { 'authorization.k8s.io/decision': 'forbid' },
  })
  expect(logLinesWith(id)).toEqual([])
})

test('a 403 by the scope has its ID in the log of the gateway, and not in the audit log', async () => {
  const rules = [{ verbs: ['get'], resources: [{ resources: ['pods'] }] }]
  const { token, object } = await setup.key({ user: 'ada', type: 'User', scope: { rules } })
  const mark = await audit.mark()
  const { code, headers } = await setup.ask(token, '/api/v1/secrets', { headers: FOREIGN })
  expect(code).toBe(403)
  const id = headers['x-request-id']
  expect(logLinesWith(id)).toMatchObject([
    {
      msg: 'request refused',
      level: 'info',
      refusal: 'scopeDenied',
      keyName: object.metadata.name,
      verb: 'list',
      resource: 'secrets',
      status: 403,
    },
  ])
  expect(await eventsWith(id, mark)).toEqual([])
})

test('a write by self-service has the same ID in both logs', async () => {
  const { token } = await setup.key({ user: 'ada', type: 'Login' })
  const mark = await audit.mark()
  const body = JSON.stringify({
    apiVersion: 'management.platform.sh/v1',
    kind: 'OwnedAccessKey',
    metadata: {},
    spec: { type: 'User' },
  })
  const headers = { 'content-type': 'application/json' }
  const answer = await setup.ask(token, KEYS, { method: 'POST', headers, body })
  expect(answer.code).toBe(201)
  const id = answer.headers['audit-id']
  expect(logLinesWith(id)).toMatchObject([{ msg: 'self-service write', status: 201 }])
  const verbs = (await eventsWith(id, mark)).map(({ verb }) => verb)
  expect(verbs).toContain('create')
})
