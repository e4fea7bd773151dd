// Warnings about manifests that are taken, and seldom do what their author means (contract 5.5).
import { describe, expect, test } from 'vitest'
import { ACCESS_KEYS, API_VERSION, CONFIGS, type Resource, TOKENS } from '../../../src/api/names.ts'
import type { OwnerReference } from '../../../src/api/objects.ts'
import { pathOf } from '../../../src/kube/client/client.ts'
import { sharedControlPlane } from '../../support/control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'

const plane = await sharedControlPlane()

const OWNER: OwnerReference = {
  apiVersion: API_VERSION,
  kind: ACCESS_KEYS.kind,
  name: 'other',
  uid: 'a1',
}

/** Creates it as a dry run. @returns the code, and the warnings in one text */
async function create({ kind, ...resource }: Resource, spec: object, metadata: object = {}) {
  const object = {
    apiVersion: API_VERSION,
    kind,
    metadata: { name: uniqueName('advice'), ...metadata },
    spec,
  }
  const path = `${pathOf({ kind, ...resource }, {})}?dryRun=All&fieldValidation=Strict`
  const { code, headers } = await plane.raw('POST', path, object)
  return { code, warnings: headers['warning'] ?? '' }
}

const withScope = (scope: object): object => ({ scope })

describe('a warning says what it means (5.5)', () => {
  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly resource: Resource; readonly spec: object; readonly metadata?: object; readonly says: string }>([
    { name: 'a role that does not exist', resource: ACCESS_KEYS, spec: withScope({ roles: [{ role: 'platformCLI' }, { role: 'deployer' }] }), says: 'spec.scope.roles: deployer grants nothing; the roles are agent, vcluster' },
    { name: 'a role of a token that does not exist', resource: TOKENS, spec: withScope({ roles: [{ role: 'Agent' }] }), says: 'spec.scope.roles: Agent grants nothing' },
    { name: 'rules', resource: ACCESS_KEYS, spec: withScope({ rules: [{ verbs: ['get'] }] }), says: 'spec.scope.rules is deprecated; use projects' },
    { name: 'rules of a token', resource: TOKENS, spec: withScope({ rules: [{ verbs: ['get'] }] }), says: 'spec.scope.rules is deprecated; use projects' },
    { name: 'allowPlatformCli', resource: ACCESS_KEYS, spec: withScope({ allowPlatformCli: true }), says: 'use roles: [{role: platformCLI}]' },
    { name: 'parent', resource: ACCESS_KEYS, spec: { parent: 'a' }, says: 'spec.parent is deprecated and has no effect' },
    { name: 'oidcLogin', resource: ACCESS_KEYS, spec: { oidcLogin: { accessToken: 'a' } }, says: 'spec.oidcLogin is deprecated and has no effect; use identity' },
    { name: 'an owner of a key that is not its controller', resource: ACCESS_KEYS, spec: {}, metadata: { ownerReferences: [OWNER] }, says: 'without controller: true access key other does not limit this key' },
    { name: 'a cap of a minute', resource: CONFIGS, spec: { auth: { accessKeyMaxTTLSeconds: 60 } }, says: 'spec.auth.accessKeyMaxTTLSeconds: 60 s ends every access key and token that is older' },
  ])('$name', async ({ resource, spec, metadata, says }) => {
    const { code, warnings } = await create(resource, spec, metadata)
    expect(code).toBe(201)
    expect(warnings).toContain(says)
  })

  // biome-ignore format: a table
  test.each<{ readonly name: string; readonly resource: Resource; readonly spec: object; readonly metadata?: object }>([
    { name: 'a key with every role', resource: ACCESS_KEYS, spec: withScope({ roles: ['agent', 'vcluster', 'network-peer', 'platformCLI', 'platform-cli', 'workspace', 'metrics-writer', 'metrics-reader'].map((role) => ({ role })) }) },
    { name: 'a key that its controller owns', resource: ACCESS_KEYS, spec: {}, metadata: { ownerReferences: [{ ...OWNER, controller: true }] } },
    { name: 'a cap of an hour', resource: CONFIGS, spec: { auth: { accessKeyMaxTTLSeconds: 3600 } } },
    { name: 'no cap', resource: CONFIGS, spec: { auth: { accessKeyMaxTTLSeconds: 0 } } },
    { name: 'an empty spec', resource: ACCESS_KEYS, spec: {} },
    { name: 'empty blocks', resource: ACCESS_KEYS, spec: { oidcLogin: {}, identity: {}, parent: '' } },
    { name: 'blocks of empty fields', resource: ACCESS_KEYS, spec: { oidcLogin: { idToken: '', accessToken: '', refreshToken: '', lastRefresh: '' } } },
    { name: 'empty blocks of a Config', resource: CONFIGS, spec: { auth: {}, oidc: {}, audit: {} } },
  ])('no warning: $name', async ({ resource, spec, metadata }) => {
    expect(await create(resource, spec, metadata)).toEqual({ code: 201, warnings: '' })
  })

  test('no warning about what a change leaves as it is', async () => {
    const name = uniqueName('advice')
    const key = {
      apiVersion: API_VERSION,
      kind: ACCESS_KEYS.kind,
      metadata: { name },
      spec: { parent: 'a' },
    }
    expect((await plane.raw('POST', pathOf(ACCESS_KEYS, {}), key)).code).toBe(201)
    const labelled = { metadata: { labels: { a: 'b' } } }
    const { code, headers } = await plane.raw('PATCH', pathOf(ACCESS_KEYS, { name }), labelled)
    expect({ code, warning: headers['warning'] ?? '' }).toEqual({ code: 200, warning: '' })
  })
})
