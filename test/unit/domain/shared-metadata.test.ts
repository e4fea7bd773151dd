import { describe, expect, test } from 'vitest'
import { EXPIRED_ANNOTATION, REVOKE_FINALIZER } from '../../../src/api/names.ts'
import type { ObjectMeta } from '../../../src/api/objects.ts'
import { finalizersOf, isAppliedByGitOps, onExpiryOf } from '../../../src/domain/shared-metadata.ts'

const meta = (differing: Partial<ObjectMeta>): ObjectMeta => ({
  name: 'deploy',
  uid: 'uid-deploy',
  resourceVersion: '1',
  creationTimestamp: '2026-11-21T10:00:00Z',
  ...differing,
})

describe('the finalizers of an object', () => {
  test.each([
    { finalizers: undefined, are: [] },
    { finalizers: [], are: [] },
    { finalizers: [REVOKE_FINALIZER], are: [REVOKE_FINALIZER] },
    { finalizers: ['example.com/other'], are: ['example.com/other'] },
    {
      finalizers: [REVOKE_FINALIZER, 'example.com/other'],
      are: [REVOKE_FINALIZER, 'example.com/other'],
    },
  ])('$finalizers are $are', ({ finalizers, are }) => {
    expect(finalizersOf(meta(finalizers ? { finalizers } : {}))).toEqual(are)
  })

  test('are one list for all objects that have ours alone', () => {
    const list = () => finalizersOf(meta({ finalizers: [REVOKE_FINALIZER] }))
    expect(list()).toBe(list())
  })
})

describe('the annotation for expired objects (5.2)', () => {
  test.each([
    { value: 'Keep', says: 'Keep' },
    { value: 'Delete', says: 'Delete' },
    { value: 'keep', says: null },
    { value: 'DELETE', says: null },
    { value: ' Keep', says: null },
    { value: '', says: null },
    { value: 'constructor', says: null },
  ])('"$value" means $says', ({ value, says }) => {
    expect(onExpiryOf(meta({ annotations: { [EXPIRED_ANNOTATION]: value } }))).toBe(says)
  })

  test.each([
    { name: 'no annotations', metadata: {} },
    { name: 'only other annotations', metadata: { annotations: { expired: 'Keep' } } },
    { name: 'a label of that name', metadata: { labels: { [EXPIRED_ANNOTATION]: 'Keep' } } },
  ])('means nothing: $name', ({ metadata }) => {
    expect(onExpiryOf(meta(metadata))).toBeNull()
  })
})

describe('isAppliedByGitOps recognises objects of GitOps tools (5.2)', () => {
  const instance = { 'app.kubernetes.io/instance': 'web' }
  const managed = (manager: string) => [{ manager, operation: 'Apply' as const }]
  // biome-ignore format: a table
  const rows: readonly { readonly name: string; readonly metadata: Partial<ObjectMeta>; readonly tracked: boolean }[] = [
    { name: 'no mark', metadata: {}, tracked: false },
    { name: 'Argo CD by annotation', metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'web:x' } }, tracked: true },
    { name: 'Argo CD by an empty annotation', metadata: { annotations: { 'argocd.argoproj.io/tracking-id': '' } }, tracked: true },
    { name: 'the Argo CD annotation as a label', metadata: { labels: { 'argocd.argoproj.io/tracking-id': 'web:x' } }, tracked: false },
    { name: 'Helm', metadata: { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }, tracked: true },
    { name: 'managed by another tool', metadata: { labels: { 'app.kubernetes.io/managed-by': 'helm' } }, tracked: false },
    { name: 'Flux by Kustomize', metadata: { labels: { 'kustomize.toolkit.fluxcd.io/name': 'web' } }, tracked: true },
    { name: 'Flux by Helm', metadata: { labels: { 'helm.toolkit.fluxcd.io/name': '' } }, tracked: true },
    { name: 'a Flux label as an annotation', metadata: { annotations: { 'kustomize.toolkit.fluxcd.io/name': 'web' } }, tracked: false },
    { name: 'only the instance label', metadata: { labels: instance }, tracked: false },
    { name: 'the instance label, applied by kubectl', metadata: { labels: instance, managedFields: managed('kubectl') }, tracked: false },
    { name: 'the instance label, applied by Argo CD', metadata: { labels: instance, managedFields: managed('argocd-controller') }, tracked: true },
    { name: 'the instance label, applied by a manager of another name', metadata: { labels: instance, managedFields: managed('my-argocd') }, tracked: false },
    { name: 'the instance label, a manager without a name', metadata: { labels: instance, managedFields: [{}] }, tracked: false },
    { name: 'applied by Argo CD without the instance label', metadata: { managedFields: managed('argocd-controller') }, tracked: false },
  ]
  test.each(rows)('$name: $tracked', ({ metadata, tracked }) => {
    expect(isAppliedByGitOps(meta(metadata))).toBe(tracked)
  })
})
