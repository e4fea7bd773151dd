import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { KubeObject } from '../../../src/api/objects.ts'
import { createRoleReader } from '../../../src/authn/role-rules.ts'
import { SCOPE_ROLES } from '../../../src/domain/scope/roles.ts'
import { type Line, memoryApi } from '../../support/fake-kube-client.ts'

const RULES = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]
const ROLES = { group: '', version: 'v1', plural: 'clusterroles', kind: 'ClusterRole' }
const { signal } = new AbortController()

function stage() {
  const api = memoryApi()
  const line: Line = {}
  let changes = 0
  const roles = createRoleReader(api.client(line), () => (changes += 1))
  const put = async (name: string, rules: unknown): Promise<void> => {
    api.objects.delete(name)
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', rules }
    await api.client().create<KubeObject>(ROLES, { ...role, metadata: { name } }, 'test')
  }
  return { api, line, roles, put, changes: () => changes }
}

test('a role grants the rules of the ClusterRole of its name, and nothing where there is none (11.4)', async () => {
  const { roles, put } = stage()
  expect(roles.roleRules('agent')).toEqual([])
  await put('platform:scope:agent', RULES)
  await put('platform:scope:vcluster', null)
  await put('platform:scope:own', RULES)
  await put('agent', RULES)
  await roles.read(signal)
  expect(roles.roleRules('agent')).toEqual(RULES)
  for (const role of ['vcluster', 'workspace', 'own', 'constructor', ''])
    expect(roles.roleRules(role)).toEqual([])
})

test('the rules follow each read, and a change reaches the listener', async () => {
  const { api, roles, put, changes } = stage()
  await put('platform:scope:agent', RULES)
  await roles.read(signal)
  await roles.read(signal)
  expect(changes()).toBe(1)
  await put('platform:scope:agent', [])
  await roles.read(signal)
  expect([roles.roleRules('agent'), changes()]).toEqual([[], 2])
  api.objects.delete('platform:scope:agent')
  await roles.read(signal)
  expect([roles.roleRules('agent'), changes()]).toEqual([[], 3])
})

test('the reader keeps all rules when one ClusterRole cannot be read', async () => {
  const { line, roles, put, changes } = stage()
  await put('platform:scope:agent', RULES)
  await roles.read(signal)
  await put('platform:scope:agent', [])
  let left = 3
  line.there = async () => {
    left -= 1
    if (left === 0) throw new Error('no connection')
  }
  await expect(roles.read(signal)).rejects.toThrow('no connection')
  expect([roles.roleRules('agent'), changes()]).toEqual([RULES, 1])
})

test('the roles of scopes are the shipped ClusterRoles', () => {
  const shipped = readdirSync(join(import.meta.dirname, '../../../config/scope-roles'))
    .filter((file) => file !== 'kustomization.yaml')
    .map((file) => file.replace('.yaml', '').replace('platform-cli', 'platformCLI'))
  expect([...SCOPE_ROLES].toSorted()).toEqual(shipped.toSorted())
})
