// The Secrets with the private signing keys: of all shipped accounts and roles only the operator's ServiceAccount may
// read them (contract 7.3).
import { describe, expect, test } from 'vitest'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { eventually } from '../../support/eventually.ts'
import { OPERATOR_ACCOUNT, OPERATOR_USER } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { type Person, type ReviewedAccess, may } from '../../support/raw-client.ts'
import { SOON } from '../keys/key-client.ts'
import { platformStateOf } from './platform-state.ts'

const { raw } = await sharedControlPlane()
const { namespace } = OPERATOR_ACCOUNT
const platform = platformStateOf({ raw })

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const OURS = 'labelSelector=app.kubernetes.io%2Fpart-of%3Dmanagement-operator'

/** The role by which the delivery process writes Secrets of claims. */
const SECRET_DELIVERY = 'platform-secret-delivery'

interface Rule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
}

interface Item {
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Rule[]
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[]
  readonly roleRef?: { readonly name: string }
}

async function shipped(path: string): Promise<readonly Item[]> {
  const { code, body } = await raw<{ readonly items: readonly Item[] }>('GET', `${path}?${OURS}`)
  expect(code).toBe(200)
  return body.items
}

/** Whether a user has a right; on Secrets, in the operator's namespace. */
const isAllowed = (who: Person, request: ReviewedAccess): Promise<boolean> =>
  may(raw, who, request.resource === 'secrets' ? { ...request, namespace } : request)

const account = (name: string) => ({
  user: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
})

/** The verbs by which a user may read a private key. */
async function readVerbsOf(who: {
  user: string
  groups: readonly string[]
}): Promise<readonly string[]> {
  const [secret] = await platform.secrets()
  const name = secret?.metadata.name ?? ''
  expect(name).toMatch(/^platform-signing-key-\d+$/)
  const requests: readonly ReviewedAccess[] = [
    { verb: 'get', resource: 'secrets', name },
    { verb: 'list', resource: 'secrets' },
    { verb: 'watch', resource: 'secrets' },
  ]
  const answers = await Promise.all(requests.map((request) => isAllowed(who, request)))
  return requests.flatMap(({ verb }, at) => (answers[at] ? [verb] : []))
}

describe('the private signing keys', () => {
  test('are readable by the ServiceAccount of the operator and by no other shipped one (7.3)', async () => {
    const accounts = await shipped(`/api/v1/namespaces/${namespace}/serviceaccounts`)
    const names = accounts.map(({ metadata }) => metadata.name)
    expect(names).toEqual(expect.arrayContaining(['gateway', 'manager']))
    const ways = await Promise.all(
      names.map(async (name) => [name, await readVerbsOf(account(name))]),
    )
    expect(Object.fromEntries(ways)).toEqual({
      ...Object.fromEntries(names.map((name) => [name, []])),
      manager: ['get', 'list', 'watch'],
    })
    expect(account('manager').user).toBe(OPERATOR_USER)
  })

  test('are not readable with the shipped roles for users (7.3)', async () => {
    const roles = (await shipped(`${RBAC}/clusterroles`)).map(({ metadata }) => metadata.name)
    const bound = (await shipped(`${RBAC}/clusterrolebindings`)).map(({ roleRef }) => roleRef?.name)
    // An owner of a namespace binds it there, to the delivery process (28.4).
    const forUsers = roles.filter((name) => !bound.includes(name) && name !== SECRET_DELIVERY)
    expect(forUsers).toEqual(
      expect.arrayContaining(['platform-config-viewer', 'platform-key-admin']),
    )
    const name = uniqueName('person')
    const user = { user: name, groups: ['system:authenticated'] }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }]
    for (const role of [...forUsers, 'view']) {
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role }
      const binding = { metadata: { name: `${name}-${role}` }, roleRef, subjects }
      expect((await raw('POST', `${RBAC}/clusterrolebindings`, binding)).code).toBe(201)
    }
    const isBound = async () => {
      const ours = { group: 'management.platform.sh' }
      const requests = [
        { verb: 'list', resource: 'configs', ...ours },
        { verb: 'list', resource: 'ownedaccesskeys', ...ours },
        { verb: 'list', resource: 'configmaps' },
      ]
      const answers = await Promise.all(requests.map((request) => isAllowed(user, request)))
      return answers.every(Boolean) || undefined
    }
    await eventually('the roles are bound', isBound, SOON)
    expect(await readVerbsOf(user)).toEqual([])
  })

  test('are in no shipped role but that of the operator (7.3)', async () => {
    const roles = [...(await shipped(`${RBAC}/roles`)), ...(await shipped(`${RBAC}/clusterroles`))]
    const readsSecrets = ({ rules = [] }: Item): boolean =>
      rules.some(
        ({ verbs, apiGroups = [], resources = [], resourceNames = [] }) =>
          // impersonate-on:* verbs alone grant no access to resources.
          !verbs.every((verb) => verb.startsWith('impersonate-on:')) &&
          (apiGroups.includes('') || apiGroups.includes('*')) &&
          (resources.includes('secrets') || resources.includes('*')) &&
          resourceNames.length === 0,
      )
    const found = roles
      .filter(readsSecrets)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    expect(found.toSorted()).toEqual(
      [
        // The Secrets of targets and of signing in, which stand in namespaces of their own.
        `${namespace}-sign-in/management-operator-manager-sign-in`,
        `${namespace}-sign-in/management-operator-sign-in`,
        `${namespace}-targets/management-operator-gateway`,
        `${namespace}/management-operator-manager`,
        // Of no namespace: it grants nothing until an owner of a namespace binds it there (28.4).
        `undefined/${SECRET_DELIVERY}`,
      ].toSorted(),
    )
    const bound = [
      ...(await shipped(`${RBAC}/clusterrolebindings`)),
      ...(await shipped(`${RBAC}/rolebindings`)),
    ]
    expect(bound.filter(({ roleRef }) => roleRef?.name === SECRET_DELIVERY)).toEqual([])
    const bindings = await shipped(`${RBAC}/rolebindings`)
    const binding = bindings.filter(
      ({ metadata, roleRef }) =>
        roleRef?.name === 'management-operator-manager' && metadata.namespace === namespace,
    )
    expect(binding.flatMap(({ subjects = [] }) => subjects)).toEqual([
      expect.objectContaining({ kind: 'ServiceAccount', name: 'manager' }),
    ])
  })
})
