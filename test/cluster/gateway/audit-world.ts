// A gateway whose audit log tests switch on, with a folder for its files and a key of an administrator.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { type Settings, settingsOf } from '../../support/config-client.ts'
import { privateControlPlane } from '../../support/control-plane.ts'
import { type TestGateway, type UsableKey, startTestGateway } from './test-gateway.ts'

/** The subdirectory of the first gateway. */
export const SUBDIRECTORY = 'g0'

/** What tests of the audit log under load share. */
export interface AuditWorld {
  readonly setup: TestGateway
  readonly settings: Settings
  /** A folder that is removed after the tests. */
  readonly root: string
  /** Of a cluster-admin; made while the first gateway is there to accept it. */
  readonly key: UsableKey
}

/** Starts a control plane and a gateway, and makes namespace `shop`. */
export async function auditWorld(): Promise<AuditWorld> {
  const setup = await startTestGateway(await privateControlPlane(), 1, [
    `--audit-subdirectory=${SUBDIRECTORY}`,
  ])
  const { plane } = setup
  const root = mkdtempSync(join(tmpdir(), 'audit-world-'))
  afterAll(() => rmSync(root, { recursive: true }))
  await plane.raw('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'audit-root' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'root' }],
  })
  await plane.raw('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })
  return { setup, settings: settingsOf(plane), root, key: await setup.key({ user: 'root' }) }
}
