import { describe, expect, test } from 'vitest'
import {
  CREATED_ANNOTATION,
  EXPIRED_ANNOTATION,
  REVOKE_FINALIZER,
} from '../../../../src/api/names.ts'
import type { ManagedFieldsEntry, ObjectMeta } from '../../../../src/api/objects.ts'
import type { OwnedAccessKeySpec } from '../../../../src/api/ownedaccesskey.gen.ts'
import { keyIdOf } from '../../../../src/domain/accesskey/access-key.ts'
import { accessKey, after, textAfter, viewOf } from '../../../support/key-builder.ts'

describe('the identity of a key, where an empty string equals absent (contract 1.2, 1.5)', () => {
  const NO_IDENTITY = { user: '', team: '', subject: '' }
  // biome-ignore format: a table
  const cases: readonly {
    readonly name: string
    readonly spec: OwnedAccessKeySpec
    readonly identity: string | null
  }[] = [
    { name: 'a user', spec: { user: 'ada' }, identity: 'user:ada' },
    { name: 'a team', spec: { ...NO_IDENTITY, team: 'core' }, identity: 'team:core' },
    { name: 'a subject', spec: { ...NO_IDENTITY, subject: 'ci/build' }, identity: 'subject:ci/build' },
    { name: 'a name with colons', spec: { user: 'a:b' }, identity: 'user:a:b' },
    { name: 'no identity', spec: NO_IDENTITY, identity: null },
    { name: 'a user and a team', spec: { user: 'ada', team: 'core' }, identity: null },
    { name: 'all three', spec: { user: 'ada', team: 'core', subject: 'ci' }, identity: null },
  ]
  test.each(cases)('$name', ({ spec, identity }) => {
    expect(viewOf({ spec }).identity).toBe(identity)
  })
})

describe('a spec: empty and false equal absent (contract 1.2)', () => {
  const bare = viewOf({ spec: { key: '' } })
  test('can be empty', () => {
    expect(bare).toMatchObject({ digest: null, isDisabled: false, ttl: 0, type: '', slides: false })
  })
  test('can have the zero values that generated clients send', () => {
    const zero = {
      key: '',
      disabled: false,
      ttl: 0,
      type: '',
      ttlAfterLastActivity: false,
      team: '',
      subject: '',
    } as const
    expect(viewOf({ spec: zero })).toEqual(bare)
  })
  test('can have an empty scope, which grants nothing (11.1)', () => {
    expect(bare.scope).toBeNull()
    expect(viewOf({ spec: { scope: {} } }).scope).toEqual({})
  })
  test('can have every field', () => {
    const spec = { disabled: true, ttl: 60, type: 'Login', ttlAfterLastActivity: true } as const
    expect(viewOf({ spec })).toMatchObject({
      isDisabled: true,
      ttl: 60,
      type: 'Login',
      slides: true,
    })
  })
})

describe('the view of a key', () => {
  const clear = 'k'.repeat(32)
  test('has the digest of the secret and never the secret', () => {
    const view = viewOf({ spec: { key: clear } })
    expect(JSON.stringify(view)).not.toContain(clear)
    expect(view.digest).toMatch(/^[0-9a-f]{64}$/)
  })
  test('has the same digest and keyID for both forms of spec.key (contract 3.6)', () => {
    const view = viewOf({ spec: { key: clear } })
    const declared = viewOf({ spec: { key: `sha256:${view.digest}` } })
    expect(declared.digest).toBe(view.digest)
    expect(keyIdOf(declared)).toBe(view.digest?.slice(0, 16))
  })
  test('has no keyID without a secret', () => {
    expect(keyIdOf(accessKey({ digest: null }))).toBe('')
  })
})

describe('the timestamps of a key', () => {
  test('come from its creation, its annotation and lastActivity', () => {
    const metadata = {
      creationTimestamp: textAfter(1),
      annotations: { [CREATED_ANNOTATION]: textAfter(-5) },
    }
    const view = viewOf({ metadata, status: { lastActivity: textAfter(9) } })
    expect(view).toMatchObject({
      creationMs: after(1),
      firstSeenMs: after(-5),
      lastActivityMs: after(9),
    })
  })
  // biome-ignore format: a table
  test.each([
    { name: 'absent', annotations: {} },
    { name: 'empty', annotations: { [CREATED_ANNOTATION]: '' } },
    { name: 'malformed', annotations: { [CREATED_ANNOTATION]: '21.11.2026' } },
  ])('ignore an annotation that is $name', ({ annotations }) => {
    expect(viewOf({ metadata: { annotations } }).firstSeenMs).toBeNull()
  })
  test('have no lastActivity for an unused key', () => {
    expect(viewOf({}).lastActivityMs).toBeNull()
  })
})

test('the view has the deletion state and the finalizers of the object', () => {
  expect(viewOf({})).toMatchObject({ isDeleting: false, finalizers: [REVOKE_FINALIZER] })
  expect(
    viewOf({ metadata: { deletionTimestamp: textAfter(5), finalizers: ['a/b'] } }),
  ).toMatchObject({
    isDeleting: true,
    finalizers: ['a/b'],
  })
})

// biome-ignore format: a table
test.each([
  { value: 'Keep', means: 'Keep' },
  { value: 'Delete', means: 'Delete' },
  { value: 'keep', means: null },
  { value: 'DELETE', means: null },
  { value: '', means: null },
  { value: 'Forever', means: null },
])('the annotation expired with value "$value" means $means (contract 5.2)', ({ value, means }) => {
  expect(viewOf({ metadata: { annotations: { [EXPIRED_ANNOTATION]: value } } }).onExpiry).toBe(
    means,
  )
})

describe('marks of GitOps tools (contract 5.2)', () => {
  // biome-ignore format: a table
  const argocd: readonly ManagedFieldsEntry[] = [
    { manager: 'kubectl' },
    { manager: 'argocd-controller' },
  ]
  const instance = { 'app.kubernetes.io/instance': 'shop' }
  // biome-ignore format: a table
  const cases: readonly {
    readonly name: string
    readonly metadata: Partial<ObjectMeta>
    readonly tracked: boolean
  }[] = [
    { name: 'Argo CD: tracking-id', metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:x/y' } }, tracked: true },
    { name: 'Helm: managed-by', metadata: { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }, tracked: true },
    { name: 'Flux: Kustomization', metadata: { labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } }, tracked: true },
    { name: 'Flux: HelmRelease', metadata: { labels: { 'helm.toolkit.fluxcd.io/name': 'shop' } }, tracked: true },
    { name: 'Argo CD: instance label and manager', metadata: { labels: instance, managedFields: argocd }, tracked: true },
    { name: 'no mark', metadata: {}, tracked: false },
    { name: 'only the instance label', metadata: { labels: instance, managedFields: [{ manager: 'kubectl' }] }, tracked: false },
    { name: 'only the manager', metadata: { managedFields: argocd }, tracked: false },
    { name: 'a manager with argocd inside', metadata: { labels: instance, managedFields: [{ manager: 'my-argocd' }] }, tracked: false },
    { name: 'a field set without manager', metadata: { labels: instance, managedFields: [{}] }, tracked: false },
    { name: 'managed-by kustomize', metadata: { labels: { 'app.kubernetes.io/managed-by': 'kustomize' } }, tracked: false },
    { name: 'managed-by helm in lower case', metadata: { labels: { 'app.kubernetes.io/managed-by': 'helm' } }, tracked: false },
    { name: 'tracking-id as a label', metadata: { labels: { 'argocd.argoproj.io/tracking-id': 'x' } }, tracked: false },
    { name: 'Flux label as an annotation', metadata: { annotations: { 'helm.toolkit.fluxcd.io/name': 'x' } }, tracked: false },
    { name: 'only the Flux namespace label', metadata: { labels: { 'kustomize.toolkit.fluxcd.io/namespace': 'x' } }, tracked: false },
    { name: 'another Argo CD annotation', metadata: { annotations: { 'argocd.argoproj.io/sync-wave': '1' } }, tracked: false },
    { name: 'kubectl apply', metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' } }, tracked: false },
  ]
  test.each(cases)('$name: $tracked', ({ metadata, tracked }) => {
    expect(viewOf({ metadata }).isTracked).toBe(tracked)
  })
})

describe('isKeyOurs, the ownership of spec.key (contract 3.1)', () => {
  const ours: ManagedFieldsEntry = {
    manager: 'management-operator',
    operation: 'Apply',
    fieldsV1: { 'f:metadata': {}, 'f:spec': { 'f:key': {} } },
  }
  // biome-ignore format: a table
  test.each([
    { name: 'generated: owned by our apply', entry: ours, isOurs: true },
    { name: 'our apply without spec.key', entry: { ...ours, fieldsV1: { 'f:metadata': {} } }, isOurs: false },
    { name: 'our apply of another spec field', entry: { ...ours, fieldsV1: { 'f:spec': { 'f:user': {} } } }, isOurs: false },
    { name: "another tool's apply", entry: { ...ours, manager: 'kubectl' }, isOurs: false },
    { name: 'our update, which an apply does not remove', entry: { ...ours, operation: 'Update' as const }, isOurs: false },
    { name: 'our apply of status', entry: { ...ours, subresource: 'status' }, isOurs: false },
    { name: 'an empty subresource is the object itself', entry: { ...ours, subresource: '' }, isOurs: true },
    { name: 'a field set without fields', entry: { manager: 'management-operator', operation: 'Apply' as const }, isOurs: false },
  ])('is $isOurs for $name', ({ entry, isOurs }) => {
    expect(viewOf({ metadata: { managedFields: [{ manager: 'argocd' }, entry] } }).isKeyOurs).toBe(
      isOurs,
    )
  })
})

describe('isOfClaim, a key that was made for an AccessKeyClaim (28.3)', () => {
  // biome-ignore format: a table
  test.each([
    { name: 'the label', metadata: { labels: { 'management.platform.sh/claim': 'uid' } }, isOfClaim: true },
    { name: 'an empty label', metadata: { labels: { 'management.platform.sh/claim': '' } }, isOfClaim: true },
    { name: 'no label', metadata: {}, isOfClaim: false },
    { name: 'another label', metadata: { labels: { 'management.platform.sh/made-with': 'uid' } }, isOfClaim: false },
    { name: 'the annotation alone', metadata: { annotations: { 'management.platform.sh/claim': 'shop/deploy' } }, isOfClaim: false },
  ])('is $isOfClaim: $name', ({ metadata, isOfClaim }) => {
    expect(viewOf({ metadata }).isOfClaim).toBe(isOfClaim)
  })
})

describe('isUnclaimed, a key that the platform has not written yet', () => {
  const kubectl: ManagedFieldsEntry = { manager: 'kubectl', operation: 'Update' }
  const by = (manager: string): ManagedFieldsEntry => ({ manager, operation: 'Apply' })
  // biome-ignore format: a table
  test.each([
    { name: 'only another manager', managedFields: [kubectl], isUnclaimed: true },
    { name: 'the gateway has claimed its fields', managedFields: [kubectl, by('management-operator-gateway')], isUnclaimed: false },
    { name: 'the operator has written it', managedFields: [by('management-operator'), kubectl], isUnclaimed: false },
    { name: 'made for a claim (28.3)', managedFields: [by('management-operator-delivery')], isUnclaimed: false },
    { name: 'nobody is known', managedFields: [], isUnclaimed: false },
  ])('is $isUnclaimed: $name', ({ managedFields, isUnclaimed }) => {
    expect(viewOf({ metadata: { managedFields } }).isUnclaimed).toBe(isUnclaimed)
  })
})

test('the view has the published status except lastActivity', () => {
  const status = {
    lastActivity: textAfter(3),
    expirationTimestamp: textAfter(60),
    removalTimestamp: textAfter(120),
    effectiveTTLSeconds: 60,
    keyID: '0123456789abcdef',
    identity: 'user:ada',
    observedGeneration: 4,
    conditions: [],
  }
  const { lastActivity: _, ...ours } = status
  expect(viewOf({ status }).published).toEqual(ours)
  expect(viewOf({}).published).toEqual({ conditions: [] })
})
