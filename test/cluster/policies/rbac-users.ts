// Users with RBAC grants, as the callers of requests that admission policies check.
import { GROUP } from '../../../src/api/names.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'

/** A rule of a ClusterRole. */
export interface Grant {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

const RBAC = 'rbac.authorization.k8s.io'

/** Verbs on resources of our group; `resourceNames` absent = on all objects. */
export const onPlatformKinds = (
  verbs: readonly string[],
  resources: readonly string[],
  resourceNames?: readonly string[],
): Grant => ({ apiGroups: [GROUP], resources, verbs, ...(resourceNames && { resourceNames }) })

/** The verb impersonate on users or groups; `resourceNames` absent = on all. */
export const mayImpersonate = (
  resource: 'users' | 'groups',
  resourceNames?: readonly string[],
): Grant => ({
  apiGroups: [''],
  resources: [resource],
  verbs: ['impersonate'],
  ...(resourceNames && { resourceNames }),
})

/** Reads and writes of our kinds, without delete and without subresources. */
export const WRITES = onPlatformKinds(
  ['get', 'list', 'create', 'update', 'patch'],
  [
    'ownedaccesskeys',
    'directclusterendpointtokens',
    'configs',
    'users',
    'teams',
    'accesskeyclaims',
  ],
)

/** Creates a user with these grants; returns its kubeconfig once they are in effect. */
export async function rbacUser(
  plane: TestControlPlane,
  user: string,
  grants: readonly Grant[],
): Promise<string> {
  const role = { kind: 'ClusterRole', metadata: { name: user }, rules: grants }
  await post(plane, 'clusterroles', role)
  return bindRole(plane, user, user)
}

/** Creates a user per name; the returned function gives the kubeconfig of one. */
export async function rbacUsers<Name extends string>(
  plane: TestControlPlane,
  grants: Readonly<Record<Name, readonly Grant[]>>,
): Promise<(user: Name) => string> {
  const users = Object.entries<readonly Grant[]>(grants)
  const made = users.map(
    async ([user, rights]) => [user, await rbacUser(plane, user, rights)] as const,
  )
  const kubeconfigs: ReadonlyMap<string, string> = new Map(await Promise.all(made))
  return (user) => {
    const kubeconfig = kubeconfigs.get(user)
    if (kubeconfig === undefined) throw new Error(`no user ${user} was created`)
    return kubeconfig
  }
}

/** Binds a new user to an existing ClusterRole; returns its kubeconfig once the binding is in effect. */
export async function bindRole(
  plane: TestControlPlane,
  user: string,
  role: string,
): Promise<string> {
  await post(plane, 'clusterrolebindings', {
    kind: 'ClusterRoleBinding',
    metadata: { name: user },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: user }],
  })
  const kubeconfig = await plane.clientKubeconfig({ name: user, user, groups: [] })
  // All rules of a role take effect together.
  await eventually(
    `${user} may list configs, keys, people or claims`,
    async () => {
      const verbs = ['configs', 'ownedaccesskeys', 'users', 'accesskeyclaims'].map((kind) =>
        may(plane, kubeconfig, 'list', kind),
      )
      return (await Promise.all(verbs)).includes(true) || undefined
    },
    { withinMs: 20_000 },
  )
  return kubeconfig
}

/** Whether RBAC allows a verb on all objects of a resource of our group, such as `configs/status`. */
export async function may(
  { raw }: TestControlPlane,
  kubeconfig: string,
  verb: string,
  resource: string,
): Promise<boolean> {
  const [plural, subresource = ''] = resource.split('/')
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group: GROUP, resource: plural, subresource, verb } },
  }
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const { body } = await raw<{ readonly status: { readonly allowed: boolean } }>(
    'POST',
    path,
    review,
    { kubeconfig },
  )
  return body.status.allowed
}

async function post({ raw }: TestControlPlane, plural: string, object: object): Promise<void> {
  const { code, body } = await raw('POST', `/apis/${RBAC}/v1/${plural}`, {
    apiVersion: `${RBAC}/v1`,
    ...object,
  })
  if (code !== 201) throw new Error(`${plural}: ${JSON.stringify(body)}`)
}
