// Namespaces of both clusters of endpoint sync, and the rights that multi-namespace mode needs beside the others.
import { afterAll } from 'vitest'
import { CONFIG_MAPS, ENDPOINTS, SECRETS, SERVICES } from '../../src/api/names.ts'
import type { KubeObject } from '../../src/api/objects.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import type { TestControlPlane } from './control-plane.ts'
import { eventually } from './eventually.ts'
import type { Raw } from './raw-client.ts'
import { type Pair, SYNCER_ACCOUNT, make } from './sync-planes.ts'
import { SOON } from './sync-side.ts'

/** A namespace as the API server sends it. */
export interface SeenNamespace extends KubeObject {
  readonly status: { readonly phase: string }
}

/** The namespaces of one cluster. All but `read` and `remove` throw when the API server refuses. */
export interface Namespaces {
  create(name: string): Promise<SeenNamespace>
  /** null when there is none. */
  read(name: string): Promise<SeenNamespace | null>
  /** Starts to delete it, where there is one. */
  remove(name: string): Promise<void>
  /** Waits until there is one for which the condition holds. */
  until(name: string, isSo: (seen: SeenNamespace) => boolean): Promise<SeenNamespace>
  /** Waits until there is none. */
  gone(name: string): Promise<void>
}

const ROOT = '/api/v1/namespaces'

/** The namespaces of a cluster; those that it creates are deleted at the end. */
export function namespacesOf({ raw }: TestControlPlane): Namespaces {
  const created: string[] = []
  const remove = async (name: string): Promise<void> =>
    void (await raw('DELETE', `${ROOT}/${name}`))
  const read = async (name: string): Promise<SeenNamespace | null> => {
    const { code, body } = await raw<SeenNamespace>('GET', `${ROOT}/${name}`)
    if (code === 404) return null
    if (code !== 200) throw new Error(`namespace ${name}: ${code}`)
    return body
  }
  afterAll(async () => {
    for (const name of created) await sweepNamespace(raw, name)
  })
  const until: Namespaces['until'] = (name, isSo) =>
    eventually(
      `namespace ${name} is as it is to be`,
      async () => {
        const seen = await read(name)
        if (seen && isSo(seen)) return seen
        throw new Error(JSON.stringify(seen?.metadata ?? null))
      },
      SOON,
    )
  return {
    create: async (name) => {
      await make(raw, ROOT, { metadata: { name } })
      created.push(name)
      return until(name, () => true)
    },
    read,
    remove,
    until,
    gone: async (name) => {
      const isGone = async () => (await read(name)) === null || undefined
      await eventually(`namespace ${name} is gone`, isGone, SOON)
    },
  }
}

const SWEPT = [SERVICES, ENDPOINTS, SECRETS, CONFIG_MAPS]

/**
 * Deletes a namespace, and what is in it at once: objects of a namespace that ends would keep the syncer of the next
 * file busy.
 */
export async function sweepNamespace(raw: Raw, namespace: string): Promise<void> {
  await Promise.all(SWEPT.map((resource) => raw('DELETE', pathOf(resource, { namespace }))))
  await raw('DELETE', `${ROOT}/${namespace}`)
}

/** The object of Events about a namespace: they stand in namespace `default`. */
export const inDefault = ({ metadata }: SeenNamespace) => ({
  metadata: { ...metadata, namespace: 'default' },
})

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const NAME = 'syncer-namespaces'
const OWN = { apiGroups: [''], resources: ['namespaces'] }
const READ = ['get', 'list', 'watch']

/** The rule without which the syncer never deletes a host namespace: it can't list what else is in it. */
const LIST_ALL = { apiGroups: ['*'], resources: ['*'], verbs: ['list'] }
const HOST_RULES = [
  { ...OWN, verbs: [...READ, 'create', 'patch', 'delete'] },
  {
    apiGroups: [''],
    resources: ['endpoints', 'services', 'secrets', 'configmaps'],
    verbs: [...READ, 'create', 'update', 'patch', 'delete'],
  },
]

/** Rights of multi-namespace mode that a test can narrow. */
export interface NamespaceRights {
  /** Whether the syncer may list objects of all kinds. */
  readonly mayListAll: (mayList: boolean) => Promise<void>
}

/** Gives the account of syncers the rights of multi-namespace mode, until the end of the test file. */
export async function grantNamespaces({
  virtual,
  host,
}: Pair<TestControlPlane>): Promise<NamespaceRights> {
  await grant(virtual.raw, [{ ...OWN, verbs: READ }])
  await grant(host.raw, [...HOST_RULES, LIST_ALL])
  afterAll(async () => {
    for (const { raw } of [virtual, host])
      for (const kind of ['clusterrolebindings', 'clusterroles'])
        await raw('DELETE', `${RBAC}/${kind}/${NAME}`)
  })
  return {
    mayListAll: async (mayList) => {
      const rules = mayList ? [...HOST_RULES, LIST_ALL] : HOST_RULES
      const path = `${RBAC}/clusterroles/${NAME}`
      const contentType = 'application/merge-patch+json'
      const { code } = await host.raw('PATCH', path, { rules }, { contentType })
      if (code !== 200) throw new Error(`${path}: ${code}`)
    },
  }
}

async function grant(raw: Raw, rules: readonly object[]): Promise<void> {
  const metadata = { name: NAME }
  await make(raw, `${RBAC}/clusterroles`, { metadata, rules })
  await make(raw, `${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: NAME },
    subjects: [{ kind: 'ServiceAccount', ...SYNCER_ACCOUNT }],
  })
}

/** Deletes the host namespaces that the syncer of a virtual cluster has made, as the page says. */
export async function deleteMarkedNamespaces(
  { raw }: TestControlPlane,
  {
    virtualCluster,
    hostNamespace,
  }: { readonly virtualCluster: string; readonly hostNamespace: string },
): Promise<void> {
  const selector = Object.entries({ 'managed-by': virtualCluster, 'made-by-syncer': hostNamespace })
    .map(([key, value]) => `vcluster.platform.sh/${key}=${value}`)
    .join(',')
  const path = `${ROOT}?labelSelector=${encodeURIComponent(selector)}`
  const { body } = await raw<{ readonly items: readonly KubeObject[] }>('GET', path)
  for (const { metadata } of body.items) await raw('DELETE', `${ROOT}/${metadata.name}`)
}
