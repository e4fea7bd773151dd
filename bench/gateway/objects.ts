// The objects at the API server on which the gateway is measured, and the rights of the only caller.
import { randomBytes } from 'node:crypto'
import { ACCESS_KEYS, API_VERSION, CONFIG_MAPS } from '../../src/api/names.ts'
import type { NewObject } from '../../src/kube/client/client.ts'
import type { OwnedAccessKeySpec } from '../../src/api/ownedaccesskey.gen.ts'
import type { Raw } from '../../test/support/raw-client.ts'

/** The user of the keys and of the client certificate, and the name of the key that most requests are made with. */
export const USER = 'bench'
/** A group that the gateway gives to the user; the certificate names it too. */
export const GROUP = `platform:user:${USER}`
/** The ServiceAccount whose token callers of the other proxies have. */
export const ACCOUNT = { namespace: 'bench-gateway', name: 'caller' } as const
/** The account of the delegating proxy, which acts as itself. */
export const DELEGATE = { namespace: ACCOUNT.namespace, name: 'delegate' } as const
/** The namespace of ConfigMaps `small`, `watched` and `patched-0` onwards. */
export const NAMESPACE = ACCOUNT.namespace
/** The namespace of the objects that are listed. */
export const LISTED = 'bench-list'
/** Connections of a load, and so ConfigMaps to patch: no two connections write the same. */
export const CONNECTIONS = 16
const LISTED_OBJECTS = 500
/** More concurrent creates would delay the gateway's heartbeats at the API server. */
const CREATES_AT_ONCE = 8
const RBAC = 'rbac.authorization.k8s.io'

/** A new key in clear. */
export const newSecret = (): string => `pak_${randomBytes(24).toString('hex')}`

/** A key of the user. */
export const keyOf = (name: string, key: string, spec: OwnedAccessKeySpec = {}): NewObject => ({
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  metadata: { name },
  spec: { user: USER, key, ...spec },
})

/** The path of a ConfigMap in NAMESPACE. */
export const configMapPath = (name: string): string =>
  `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`

/** The path of all access keys. */
export const KEYS_PATH = `/apis/${API_VERSION}/${ACCESS_KEYS.plural}`

/** Creates the ConfigMaps, and what lets the user and the ServiceAccount read and patch them. */
export async function createObjects(raw: Raw): Promise<void> {
  for (const name of [NAMESPACE, LISTED])
    await createAll(raw, '/api/v1/namespaces', [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    ])
  await createAll(
    raw,
    `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`,
    [ACCOUNT, DELEGATE].map(({ name }) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name },
    })),
  )
  await createAll(raw, `/apis/${RBAC}/v1/clusterroles`, [OWN_KEY_ROLE, CONFIG_MAPS_ROLE])
  await createAll(raw, `/apis/${RBAC}/v1/clusterrolebindings`, [
    bindingOf(OWN_KEY_ROLE),
    DELEGATOR_BINDING,
  ])
  for (const namespace of [NAMESPACE, LISTED])
    await createAll(raw, `/apis/${RBAC}/v1/namespaces/${namespace}/rolebindings`, [
      { ...bindingOf(CONFIG_MAPS_ROLE), kind: 'RoleBinding' },
    ])
  await createAll(raw, '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas', [FLOW_SCHEMA])
  const patched = Array.from({ length: CONNECTIONS }, (_, at) => `patched-${at}`)
  const own = ['small', 'watched', ...patched].map(configMapOf)
  await createAll(raw, `/api/v1/namespaces/${NAMESPACE}/configmaps`, own)
  const listed = Array.from({ length: LISTED_OBJECTS }, (_, at) => configMapOf(`listed-${at}`))
  await createAll(raw, `/api/v1/namespaces/${LISTED}/configmaps`, listed)
}

/** Creates objects, some at a time. @throws Error when one is refused */
export async function createAll(
  raw: Raw,
  path: string,
  objects: readonly NewObject[],
): Promise<void> {
  const left = [...objects]
  const creators = Array.from({ length: CREATES_AT_ONCE }, async () => {
    for (let object = left.pop(); object; object = left.pop()) {
      const { code, body } = await raw<{ readonly message?: string }>('POST', path, object)
      if (code !== 201) throw new Error(`POST ${path} is answered ${code}: ${body.message}`)
    }
  })
  await Promise.all(creators)
}

/** A key whose secret is known. */
export interface KnownKey {
  readonly name: string
  readonly secret: string
}

/** Creates keys of the user, named by a prefix, a hyphen and a number. */
export async function createKeys(
  raw: Raw,
  prefix: string,
  count: number,
  spec: OwnedAccessKeySpec = {},
): Promise<readonly KnownKey[]> {
  const keys = Array.from({ length: count }, (_, at) => ({
    name: `${prefix}-${at}`,
    secret: newSecret(),
  }))
  const objects = keys.map(({ name, secret }) => keyOf(name, secret, spec))
  await createAll(raw, KEYS_PATH, objects)
  return keys
}

/** A ConfigMap with a kilobyte of data. */
const configMapOf = (name: string): NewObject => ({
  apiVersion: 'v1',
  kind: CONFIG_MAPS.kind,
  metadata: { name },
  data: { text: 'x'.repeat(1000) },
})

const CONFIG_MAPS_ROLE: NewObject = {
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRole',
  metadata: { name: 'bench-gateway-configmaps' },
  rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'patch'] }],
}

/** The right to read the own key directly; through the gateway no rule is needed. */
const OWN_KEY_ROLE: NewObject = {
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRole',
  metadata: { name: 'bench-gateway-own-key' },
  rules: [
    {
      apiGroups: [ACCESS_KEYS.group],
      resources: [ACCESS_KEYS.plural],
      resourceNames: [USER],
      verbs: ['get'],
    },
  ],
}

const bindingOf = ({ metadata: { name } }: NewObject): NewObject => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: name ?? '' },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
  subjects: [
    { kind: 'Group', apiGroup: RBAC, name: GROUP },
    { kind: 'ServiceAccount', ...ACCOUNT },
    { kind: 'ServiceAccount', ...DELEGATE },
  ],
})

/** It may ask who callers are and what they may do. */
const DELEGATOR_BINDING: NewObject = {
  apiVersion: `${RBAC}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: { name: 'bench-gateway-delegator' },
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'system:auth-delegator' },
  subjects: [{ kind: 'ServiceAccount', ...DELEGATE }],
}

/** Gives all callers one queue: by default the API server has one for users, and a longer one for ServiceAccounts. */
const FLOW_SCHEMA: NewObject = {
  apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
  kind: 'FlowSchema',
  metadata: { name: 'bench-gateway' },
  spec: {
    priorityLevelConfiguration: { name: 'exempt' },
    matchingPrecedence: 100,
    rules: [
      {
        subjects: [
          { kind: 'User', user: { name: USER } },
          { kind: 'ServiceAccount', serviceAccount: ACCOUNT },
          { kind: 'ServiceAccount', serviceAccount: DELEGATE },
        ],
        resourceRules: [
          {
            verbs: ['*'],
            apiGroups: ['*'],
            resources: ['*'],
            namespaces: ['*'],
            clusterScope: true,
          },
        ],
      },
    ],
  },
}
