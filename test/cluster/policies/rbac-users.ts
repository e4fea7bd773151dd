// People with rights of their own on a control plane, so that a policy has a user to ask about.
import { GROUP } from '../../../src/api/names.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'

/** What a role grants, as RBAC has it. */
export interface Grant {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

const RBAC = 'rbac.authorization.k8s.io'

/** Verbs on resources of our group, on those objects only when some are named. */
export const onPlatformKinds = (
  verbs: readonly string[],
  resources: readonly string[],
  resourceNames?: readonly string[],
): Grant => ({ apiGroups: [GROUP], resources, verbs, ...(resourceNames && { resourceNames }) })

/** The right to act as users or groups, as those only when some are named. */
export const mayImpersonate = (
  resource: 'users' | 'groups',
  resourceNames?: readonly string[],
): Grant => ({
  apiGroups: [''],
  resources: [resource],
  verbs: ['impersonate'],
  ...(resourceNames && { resourceNames }),
})

/** Everything on our kinds that is no matter of a policy: no delete, and no subresource. */
export const WRITES = onPlatformKinds(
  ['get', 'list', 'create', 'update', 'patch'],
  ['ownedaccesskeys', 'directclusterendpointtokens', 'configs'],
)

/** Makes a user with one role of these grants; returns the kubeconfig of that user once they count. */
export async function rbacUser(
  plane: TestControlPlane,
  user: string,
  grants: readonly Grant[],
): Promise<string> {
  const role = { kind: 'ClusterRole', metadata: { name: user }, rules: grants }
  await post(plane, 'clusterroles', role)
  return bindRole(plane, user, user)
}

/** Makes a user for each of these grants, under its name; returns who has which kubeconfig. */
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
    if (kubeconfig === undefined) throw new Error(`${user} is no caller`)
    return kubeconfig
  }
}

/** Makes a user with a ClusterRole that is there; returns the kubeconfig of that user once the binding counts. */
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
  // All rules of a role count from the same moment.
  await eventually(
    `${user} may list configs or keys`,
    async () => {
      const verbs = ['configs', 'ownedaccesskeys'].map((kind) =>
        may(plane, kubeconfig, 'list', kind),
      )
      return (await Promise.all(verbs)).includes(true) || undefined
    },
    { withinMs: 20_000 },
  )
  return kubeconfig
}

/** Whether the API server lets a caller do that with every object of a resource of ours. */
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
