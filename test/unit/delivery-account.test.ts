// The account of the delivery process, by the roles that are shipped: it makes keys for anybody, so it signs nothing and has no
// Secret that no owner gives it (contract 28.3, 28.4).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { grantedRights } from '../../tools/test/rights.ts'

const CONFIG = join(import.meta.dirname, '../../config')
const SHIPPED = ['rbac', 'target-namespace', 'sign-in-namespace']
const shipped = grantedRights(SHIPPED)
const own = shipped.filter(({ account }) => account === 'delivery')

const verbsOf = (account: string, resource: string): readonly string[] =>
  shipped
    .filter((right) => right.account === account && right.resource === resource)
    .map(({ verb }) => verb)
    .toSorted()

test('the account of the delivery process has no right on Secrets by itself, but to read its settings (28.3, 28.4, 6.8, K5)', () => {
  const secrets = own.filter(({ resource }) => resource === 'secrets')
  expect(secrets.map(({ verb, namespace, name }) => `${verb} ${namespace} ${name}`)).toEqual([
    'list platform-system platform-settings-delivery',
    'watch platform-system platform-settings-delivery',
  ])
})

test('the account of the delivery process writes one ConfigMap, and learns the names of namespaces (6.8, K5)', () => {
  const written = own.filter(
    ({ resource, verb }) => resource === 'configmaps' && !['list', 'watch'].includes(verb),
  )
  expect(written.map(({ verb, name }) => `${verb} ${name}`).toSorted()).toEqual([
    'create platform-secret-store-status',
    'get platform-secret-store-status',
    'patch platform-secret-store-status',
    'update platform-secret-store-status',
  ])
  expect(verbsOf('delivery', 'namespaces')).toEqual(['list', 'watch'])
})

// biome-ignore format: a table
test.each([
  'users', 'teams', 'pods', 'serviceaccounts', 'serviceaccounts/token', 'clusterroles', 'rolebindings',
  'ownedaccesskeys/status', 'ownedaccesskeys/finalizers', 'directclusterendpointtokens/status', 'configs/status',
])('the account of the delivery process has no right on %s (28.3)', (resource) =>
  expect(verbsOf('delivery', resource)).toEqual([]),
)

test('the account of the delivery process may do this to claims and to their keys and tokens (28.3)', () => {
  expect(verbsOf('delivery', 'accesskeyclaims')).toEqual(['list', 'patch', 'watch'])
  expect(verbsOf('delivery', 'accesskeyclaims/status')).toEqual(['patch'])
  expect(verbsOf('delivery', 'ownedaccesskeys')).toEqual([
    'create',
    'delegate',
    'delete',
    'list',
    'patch',
    'use',
    'watch',
  ])
})

test('the account of the delivery process reads and writes objects by their names, and holds its own Lease (28.3)', () => {
  const here = own.filter(({ namespace }) => namespace === 'platform-system')
  expect(new Set(here.map(({ resource, name }) => `${resource} ${name}`))).toEqual(
    new Set([
      'configmaps platform-config-in-force',
      'configmaps platform-gateway-ca',
      'configmaps platform-secret-store-status',
      'secrets platform-settings-delivery',
      'leases management-operator-delivery',
      'leases ',
    ]),
  )
  expect(new Set(own.map(({ namespace }) => namespace))).toEqual(new Set(['', 'platform-system']))
})

test('the account of the delivery process acts as no other, grants no rights, generates no key and records no identity (28.3)', () => {
  expect(own.length).toBeGreaterThan(20)
  const verbs = own.map(({ verb }) => verb)
  for (const verb of [
    'impersonate',
    'escalate',
    'bind',
    'generate',
    'sign-in',
    'record-identity',
    '*',
  ])
    expect(verbs).not.toContain(verb)
})

test('the manager, which signs, makes no key for anybody and names none as an owner (28.3)', () => {
  for (const verb of ['delegate', 'use', 'create'])
    expect(verbsOf('manager', 'ownedaccesskeys')).not.toContain(verb)
  expect(verbsOf('manager', 'accesskeyclaims')).toEqual([])
})

test('the role that an owner binds is less than admin, and one component alone binds it (28.4)', () => {
  const texts = readdirSync(join(CONFIG, 'rbac')).map((file) =>
    readFileSync(join(CONFIG, 'rbac', file), 'utf8'),
  )
  const objects = texts
    .flatMap((text) => parseAllDocuments(text))
    .map(
      (document) =>
        document.toJS() as {
          readonly metadata?: { readonly name: string }
          readonly rules?: object
        },
    )
  const role = objects.find(({ metadata }) => metadata?.name === 'platform-secret-delivery')
  expect(role?.rules).toEqual([
    { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'create', 'patch'] },
  ])
  const everywhere = grantedRights([...SHIPPED, 'components/delivery-everywhere']).filter(
    ({ account, resource, namespace }) =>
      account === 'delivery' && resource === 'secrets' && namespace === '',
  )
  expect(everywhere.map(({ verb }) => verb).toSorted()).toEqual(['create', 'get', 'list', 'patch'])
})
