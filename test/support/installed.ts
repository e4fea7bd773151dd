// A control plane as a user has it after the installation, seen from the process that starts it.
import { join } from 'node:path'
import { ACCESS_KEYS, API_VERSION } from '../../src/api/group.ts'
import type { Access } from '../../tools/control-plane/access.ts'
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../../tools/control-plane/control-plane.ts'

/** Where a running control plane is: enough to reach it from another process. */
export interface Coordinates {
  readonly url: string
  readonly caFile: string
  readonly dataDir: string
  readonly adminKubeconfig: string
  readonly auditLog: string
}

/** The operator's ServiceAccount in the shipped manifests. */
export const OPERATOR_ACCOUNT = { namespace: 'platform-system', name: 'manager' } as const

/** The operator's name in the audit log and in access reviews. */
export const OPERATOR_USER = `system:serviceaccount:${OPERATOR_ACCOUNT.namespace}:${OPERATOR_ACCOUNT.name}`

const ANY_KEY = {
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  metadata: { name: 'any' },
  spec: { user: 'any' },
}

const MANIFESTS = join(import.meta.dirname, '../../config/default')

/** Starts a control plane with an audit log and applies the product's manifests. */
export async function startInstalled(
  options: Pick<ControlPlaneOptions, 'apiServerFlags'>,
): Promise<ControlPlane> {
  const plane = await startControlPlane({ ...options, audit: true, log: console.log })
  try {
    await installProduct(plane)
    return plane
  } catch (error) {
    await plane.stop()
    throw error
  }
}

/** What another process needs to reach this control plane. */
export function coordinatesOf(plane: ControlPlane): Coordinates {
  const { url, caFile, dataDir, adminKubeconfig, auditLog } = plane
  if (auditLog === null) throw new Error('a control plane for tests keeps an audit log')
  return { url, caFile, dataDir, adminKubeconfig, auditLog }
}

/** Applies the product as a user would, and waits until its kinds are served. */
async function installProduct(access: Access): Promise<void> {
  const must = async (args: readonly string[], input = ''): Promise<void> => {
    const { code, stderr } = await access.kubectl(args, { input })
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr.trim()}`)
  }
  await must(['apply', '--server-side', '-k', MANIFESTS])
  await must(['wait', 'crd', '--all', '--for=condition=Established', '--timeout=30s'])
  // A create of a kind that was established less than 2 s ago waits in the server for the rest:
  // this one does, so that no create of a test does.
  await must(['create', '--dry-run=server', '-f', '-'], JSON.stringify(ANY_KEY))
}
