// Events that an agent sends to a gateway, for the gateway's metrics about agents.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { eventListOf } from '../../../src/domain/audit/event-list.ts'
import { formatMicroTime } from '../../../src/domain/time.ts'
import { auditLine } from '../../support/audit-event-builder.ts'
import { settingsOf } from '../../support/config-client.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { type OwnGateway, ask } from '../../support/gateway-process.ts'
import { keyClientOf } from '../keys/key-client.ts'

const AGENT = 'agent-of-east'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** Switches the audit log of the gateway on, and sends it an event of cluster east. @param ca the gateway's */
export async function sendAgentEvent(
  plane: TestControlPlane,
  gateway: OwnGateway,
  ca: string,
): Promise<void> {
  const path = mkdtempSync(join(tmpdir(), 'agent-series-'))
  afterAll(() => rmSync(path, { recursive: true }))
  await settingsOf(plane).declare({ audit: { enabled: true, path, level: 1 } })
  await plane.raw('POST', `${RBAC}/clusterroles`, {
    metadata: { name: AGENT },
    rules: [{ nonResourceURLs: ['/agents/east/auditevents'], verbs: ['post'] }],
  })
  await plane.raw('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name: AGENT },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: AGENT },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: AGENT }],
  })
  const keys = keyClientOf(plane)
  const { spec } = await keys.shown(await keys.create({ user: AGENT, ttl: 600 }), 'Active')
  const send = async (): Promise<true | undefined> => {
    const now = formatMicroTime(Date.now())
    const times = { requestReceivedTimestamp: now, stageTimestamp: now }
    const { code } = await ask(`${gateway.url()}/kubernetes/management/agents/east/auditevents`, {
      ca,
      method: 'POST',
      headers: { authorization: `Bearer ${spec.key}`, 'content-type': 'application/json' },
      body: eventListOf([auditLine(times)], null),
    })
    return code === 200 || undefined
  }
  await eventually('the gateway takes the event', send, { withinMs: 30_000 })
}
