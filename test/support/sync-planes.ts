// The two control planes of endpoint sync, a virtual cluster and its host, with the account of syncers.
import { systemClock } from '../../src/runtime/clock.ts'
import { type ControlPlane, startControlPlane } from '../../tools/control-plane/control-plane.ts'
import { type Coordinates, coordinatesOf } from './installed-control-plane.ts'
import { createRaw, type Raw } from './raw-client.ts'

/** A cluster of endpoint sync, as another process can reach it. */
export interface SyncCoordinates extends Coordinates {
  /** The kubeconfig of syncers. */
  readonly syncerKubeconfig: string
}

/** Both clusters of endpoint sync. */
export interface Pair<One> {
  readonly virtual: One
  readonly host: One
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly syncPlanes: Pair<SyncCoordinates>
  }
}

/** The account of syncers in both clusters. On the host it has rights in namespaces that `bindSyncer` names. */
export const SYNCER_ACCOUNT = { namespace: 'syncer-system', name: 'syncer' } as const

/** The syncer's name in the audit logs. */
export const SYNCER_USER = `system:serviceaccount:${SYNCER_ACCOUNT.namespace}:${SYNCER_ACCOUNT.name}`

/**
 * Starts both, at the same time: each waits for its own daemons.
 *
 * @param flags more flags of their API servers
 */
export async function startSyncPlanes(
  flags: Partial<Pair<readonly string[]>> = {},
): Promise<Pair<ControlPlane>> {
  const start = (apiServerFlags: readonly string[]): Promise<ControlPlane> =>
    startControlPlane({ audit: true, apiServerFlags, log: console.log })
  const started = await Promise.allSettled([start(flags.virtual ?? []), start(flags.host ?? [])])
  const planes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const failed = started.find((one) => one.status === 'rejected')
  const [virtual, host] = planes
  if (virtual === undefined || host === undefined) {
    await Promise.all(planes.map((plane) => plane.stop()))
    throw failed?.reason
  }
  return { virtual, host }
}

/** Makes the account of syncers in both, with its rights. */
export const withSyncers = async ({
  virtual,
  host,
}: Pair<ControlPlane>): Promise<Pair<SyncCoordinates>> => ({
  virtual: await withAccount(virtual, virtualRights()),
  host: await withAccount(host, hostRights()),
})

async function withAccount(
  plane: ControlPlane,
  rights: readonly Manifest[],
): Promise<SyncCoordinates> {
  const { namespace, name } = SYNCER_ACCOUNT
  const raw = createRaw(plane.adminKubeconfig, systemClock())
  try {
    await make(raw.call, '/api/v1/namespaces', { metadata: { name: namespace } })
    await make(raw.call, `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
    for (const { path, object } of rights) await make(raw.call, path, object)
    const syncerKubeconfig = await plane.serviceAccountKubeconfig(namespace, name)
    return { ...coordinatesOf(plane), syncerKubeconfig }
  } finally {
    await raw.close()
  }
}

interface Manifest {
  readonly path: string
  readonly object: object
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1'

const ROLE_NAME = 'syncer'
const SUBJECTS = [{ kind: 'ServiceAccount', ...SYNCER_ACCOUNT }]
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ROLE_NAME }
const metadata = { name: ROLE_NAME }

const SYNCED = ['endpoints', 'services', 'secrets', 'configmaps']
const EVENTS = { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] }

const role = (...rules: readonly object[]): Manifest => ({
  path: `${RBAC}/clusterroles`,
  object: { metadata, rules },
})

/** In the virtual cluster a syncer creates and deletes imports, and nothing else. */
const virtualRights = (): readonly Manifest[] => [
  role(
    {
      apiGroups: [''],
      resources: SYNCED,
      verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
    },
    { apiGroups: [''], resources: ['services/status'], verbs: ['patch'] },
    EVENTS,
  ),
  {
    path: `${RBAC}/clusterrolebindings`,
    object: { metadata, roleRef, subjects: SUBJECTS },
  },
]

const hostRights = (): readonly Manifest[] => [
  role(
    {
      apiGroups: [''],
      resources: SYNCED,
      verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
    },
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['get', 'create', 'update'],
    },
    EVENTS,
  ),
]

/** Gives the account its rights in a namespace of the host. */
export const bindSyncer = (raw: Raw, namespace: string): Promise<void> =>
  make(raw, `${RBAC}/namespaces/${namespace}/rolebindings`, {
    metadata,
    roleRef,
    subjects: SUBJECTS,
  })

/** Creates an object. @throws Error when it is refused */
export async function make(raw: Raw, path: string, object: object): Promise<void> {
  const { code, body } = await raw('POST', path, object)
  if (code !== 201) throw new Error(`${path} was answered ${code}: ${JSON.stringify(body)}`)
}
