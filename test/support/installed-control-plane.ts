// A control plane as a user has it after the installation, seen from the process that starts it.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { ACCESS_KEYS, API_VERSION } from '../../src/api/names.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Access } from '../../tools/control-plane/access.ts'
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../../tools/control-plane/control-plane.ts'
import { noteRights } from '../../tools/test/rights.ts'
import { eventually } from './eventually.ts'
import { mustKubectl } from './kubectl.ts'
import { createRaw } from './raw-client.ts'

/** A running control plane, as another process can reach it. */
export interface Coordinates {
  readonly url: string
  readonly caFile: string
  readonly dataDir: string
  readonly adminKubeconfig: string
  readonly auditLog: string
}

/** The operator's ServiceAccount in the shipped manifests. */
export const OPERATOR_ACCOUNT = { namespace: 'platform-system', name: 'manager' } as const

/** The gateway's ServiceAccount in the shipped manifests. */
export const GATEWAY_ACCOUNT = { namespace: 'platform-system', name: 'gateway' } as const

/** The gateway's name in the audit log and in access reviews. */
export const GATEWAY_USER = `system:serviceaccount:${GATEWAY_ACCOUNT.namespace}:${GATEWAY_ACCOUNT.name}`

/** The operator's name in the audit log and in access reviews. */
export const OPERATOR_USER = `system:serviceaccount:${OPERATOR_ACCOUNT.namespace}:${OPERATOR_ACCOUNT.name}`

const ANY_KEY = {
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  metadata: { name: 'any' },
  spec: { user: 'any' },
}

/** The annotation in which client-side kubectl apply keeps the manifest. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'
const CLEAR = 'k'.repeat(32)

/** An object that the last policy rejects for every user. */
const KEY_IN_ANNOTATION = {
  ...ANY_KEY,
  metadata: { name: 'any', annotations: { [LAST_APPLIED]: CLEAR } },
  spec: { key: CLEAR },
}

const DRY_RUN = ['create', '--dry-run=server', '-f', '-'] as const

const MANIFESTS = ['base', 'target-namespace', 'sign-in-namespace'].map((part) =>
  join(import.meta.dirname, '../../config', part),
)

/** The output folder of a test run; absent when a file is run by itself. */
const OUTPUT = process.env['TEST_OUTPUT']

/**
 * Starts a control plane with an audit log from a copy that has the product's manifests (template.ts). When it
 * is stopped, the rights that the program used on it are recorded for tools/test.ts.
 */
export async function startInstalled(
  options: Required<Pick<ControlPlaneOptions, 'copyOf'>> &
    Pick<ControlPlaneOptions, 'apiServerFlags'>,
): Promise<ControlPlane> {
  const plane = await startControlPlane({ ...options, audit: true, log: console.log })
  try {
    // A server that has just started rejects what policies cover until it has read them.
    await policiesBind(plane)
    const { auditLog } = coordinatesOf(plane)
    const stop = async (): Promise<void> => {
      try {
        if (OUTPUT !== undefined) await noteRights(auditLog, OUTPUT, randomUUID())
      } finally {
        await plane.stop()
      }
    }
    return { ...plane, stop }
  } catch (error) {
    await plane.stop()
    throw error
  }
}

/** The coordinates by which another process reaches this control plane. */
export function coordinatesOf(plane: ControlPlane): Coordinates {
  const { url, caFile, dataDir, adminKubeconfig, auditLog } = plane
  if (auditLog === null) throw new Error('a control plane for tests keeps an audit log')
  return { url, caFile, dataDir, adminKubeconfig, auditLog }
}

/** Applies the product as a user would, and waits until its kinds are served and its policies bind. */
export async function installProduct(
  access: Access & Pick<Coordinates, 'adminKubeconfig'>,
): Promise<void> {
  const must = (args: readonly string[], input = '') => mustKubectl(access, args, { input })
  for (const part of MANIFESTS) await must(['apply', '--server-side', '-k', part])
  await must(['wait', 'crd', '--all', '--for=condition=Established', '--timeout=30s'])
  // A create of a kind that was established less than 2 s ago waits in the server for the rest:
  // this one does, so that no create of a test does.
  await must(DRY_RUN, JSON.stringify(ANY_KEY))
  await policiesBind(access)
}

/**
 * Waits until the policies are in force. The server reads them once a second. kubectl applies them by
 * name and the server gets them in that order: when the last one rejects, all do.
 */
export async function policiesBind({
  adminKubeconfig,
}: Pick<Coordinates, 'adminKubeconfig'>): Promise<void> {
  // Not kubectl: polling with it would take the CPU that the server needs.
  const raw = createRaw(adminKubeconfig, systemClock())
  const path = `/apis/${API_VERSION}/${ACCESS_KEYS.plural}?dryRun=All`
  try {
    await eventually(
      'the policies are in force',
      async () => {
        const { code, body } = await raw.call<{ readonly message?: string }>(
          'POST',
          path,
          KEY_IN_ANNOTATION,
        )
        return (code >= 400 && body.message?.includes('secret-in-annotation')) || undefined
      },
      { withinMs: 20_000 },
    )
  } finally {
    await raw.close()
  }
}
